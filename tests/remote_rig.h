/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REMOTE_RIG_H
#define REMOTE_RIG_H
/**
 * A scripted server for the tests of plugins/remote. It accepts connections on its own address
 * and runs a function on each, in one thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pthread.h>

#include <mininb/engine.h>

/** A host that stores the text of the last failure in rig_text. */
extern const struct nb_host rig_host;
extern _Thread_local char rig_text[1024];

/** The function that serves a connection. It returns when the connection is over. */
typedef void (*peer_script)(int fd, void *of);

struct peer {
	peer_script script;
	void *of;
	int listener;
	pthread_t thread;
	char address[160];
};

enum peer_kind { PEER_UNIX, PEER_IPV4, PEER_IPV6, PEER_KINDS };

/**
 * Start a server that handles one connection after another. False: this machine lacks such
 * addresses.
 */
bool
peer_start(struct peer *peer, enum peer_kind kind, peer_script script, void *of);

/** Shut the listener down, so that accept() fails, then join the thread. */
void
peer_stop(struct peer *peer);

/** Read exactly `size` bytes; false: the client has closed. */
bool
peer_read(int fd, void *to, size_t size);

/** Write all bytes; false: the client has closed. */
bool
peer_write(int fd, const void *bytes, size_t size);

/** Write in pieces of 1 to `piece` bytes. */
bool
peer_dribble(int fd, const void *bytes, size_t size, size_t piece, uint64_t *random);

#endif /* REMOTE_RIG_H */
