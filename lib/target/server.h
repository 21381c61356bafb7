/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TARGET_SERVER_H
#define TARGET_SERVER_H
/** One private server, and the command lines that prepare it. */
#include <sys/types.h>

#include "target/guard.h"
#include "target/spec.h"
#include "target/target.h"

enum { SERVER_NAME = 96, SERVER_SOCKET = 100 /* limit for {socket} in bytes */ };

/** Settings that all servers of a target share. */
struct server_common {
	const struct target_spec *spec;
	const struct target_place *place;
	char *directory; /* absolute, "<database>/server" */
	size_t count;
	struct guard_user user, *as; /* as: NULL: our user */
	char user_name[64];
	cpu_set_t cpus, *on; /* on: NULL: any CPU */
	char cache[24], cache_mib[24], sessions[16], connections[16];
	char *addresses; /* "A B C", of all servers; owned; NULL: unknown until they start */
};

struct server {
	const struct server_common *common;
	struct guard guard;
	int lock;               /* -1: none */
	char name[SERVER_NAME]; /* for messages: "redis server 2" */
	char number[8], port[8];
	char *directory, *log; /* owned */
	char socket_dir[SERVER_SOCKET], socket[SERVER_SOCKET + 4];
	char *address;  /* owned */
	off_t log_size; /* when the server was started */
};

/** The name of a durability level. */
const char *
target_level(uint32_t durability);

/** Create server `number`, from 1 up. Destroy it also after a failure. */
NB_MUST_CHECK int
server_create(struct server *server, const struct server_common *common, size_t number);

/** Destroy the server; stop it if it runs. */
void
server_destroy(struct server *server);

/** Expand a command into words, or into one text if `text` is not NULL; destroy or free it. */
NB_MUST_CHECK int
server_expand(
	struct words *words, char **text, const struct server *server, enum target_key key);

/** Expand a command and find its program; destroy the words and free the program. */
NB_MUST_CHECK int
server_find_command(
	struct words *words, char **program, const struct server *server, enum target_key key);

/** Check that all of its command lines can be expanded. */
NB_MUST_CHECK int
server_check(const struct server *server);

/** Wait until no server of another run uses its directory, which need not exist. */
NB_MUST_CHECK int
server_wait(struct server *server);

/** Lock its directory; if the directory is new, prepare it. */
NB_MUST_CHECK int
server_prepare(struct server *server);

/** Start it, with a new socket and port. */
NB_MUST_CHECK int
server_start(struct server *server);

/** Wait until it is ready. */
NB_MUST_CHECK int
server_await(struct server *server);

/** Run the command line `key` in its directory, and wait for its end. */
NB_MUST_CHECK int
server_do(struct server *server, enum target_key key);

/** NB_FAIL if it has ended; the text has its exit status and the last lines of its output. */
NB_MUST_CHECK int
server_look(struct server *server);

/**
 * Stop the server in an orderly way. Call server_order_stop() first: it does not wait.
 * NB_FAIL if the server had to be killed.
 */
void
server_order_stop(struct server *server);
NB_MUST_CHECK int
server_stop(struct server *server);

#endif /* TARGET_SERVER_H */
