/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REMOTE_RIG_H
#define REMOTE_RIG_H
/**
 * A scripted server for the tests of plugins/remote: it accepts connections on an address of
 * its own and runs a function on each, in a thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pthread.h>

#include <mininb/engine.h>

/** Keeps the text of the last failure in rig_text. */
extern const struct nb_host rig_host;
extern _Thread_local char rig_text[1024];

/** What a server does with a connection; returns when it is over. */
typedef void (*peer_script)(int fd, void *of);

struct peer {
	peer_script script;
	void *of;
	int listener;
	pthread_t thread;
	char address[160];
};

enum peer_kind { PEER_UNIX, PEER_IPV4, PEER_IPV6, PEER_KINDS };

/** False: this machine has no such addresses. Serves one connection after the other. */
bool
peer_start(struct peer *peer, enum peer_kind kind, peer_script script, void *of);

/** Connects once, so that accept() returns, and joins. */
void
peer_stop(struct peer *peer);

/** Read exactly `size` bytes; false: the client has closed. */
bool
peer_read(int fd, void *to, size_t size);

/** Write all; false: the client has closed. */
bool
peer_write(int fd, const void *bytes, size_t size);

/** Write in pieces of 1 to `piece` bytes. */
bool
peer_dribble(int fd, const void *bytes, size_t size, size_t piece, uint64_t *random);

#endif /* REMOTE_RIG_H */
