/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TARGET_SPEC_H
#define TARGET_SPEC_H
/**
 * The settings of a private server: the keys of a section [target] of a job, or of
 * nb_engine.server.
 */
#include <stdbool.h>
#include <stdint.h>

#include <mininb/mininb.h>

enum target_key {
	TARGET_ADDRESS, /* the address that the engine connects to: "unix:{socket}" */
	TARGET_BUS,     /* yes: {port} + 10000 must be free, too */
	TARGET_CACHE,   /* {cache} if the user gives no size */
	TARGET_COMMAND, /* the server; runs in the foreground */
	TARGET_COUNT,   /* number of servers */
	TARGET_CPUS,    /* CPUs on which the servers run */
	/* {durability} for level none; the next keys: for the other levels */
	TARGET_DURABILITY,
	/* yes: the level cannot change after the database was created */
	TARGET_FIXED = TARGET_DURABILITY + NB_DUR_COMMIT + 1,
	TARGET_JOIN,    /* runs once, when all servers are ready */
	TARGET_PACKAGE, /* Debian package that contains the program */
	TARGET_PATH,    /* additional program directories; patterns are allowed */
	TARGET_PREPARE, /* runs if {dir} is new */
	TARGET_READY,   /* how to detect that it is ready: connect, or output:TEXT */
	TARGET_START_TIMEOUT,
	TARGET_STOP, /* a signal, or a command line */
	TARGET_STOP_TIMEOUT,
	TARGET_USER,
	TARGET_KEYS
};

struct target_spec {
	char *texts[TARGET_KEYS]; /* owned; NULL: not set */
};

/** Set a key, and replace its previous text. NB_ERR_USAGE "KEY: ...". */
NB_MUST_CHECK int
target_spec_set(struct target_spec *spec, const char *key, const char *text);

/** Set the keys from lines "key = value"; the text of a failure begins with "ORIGIN:LINE: ". */
NB_MUST_CHECK int
target_spec_read(struct target_spec *spec, const char *text, const char *origin);

/** Whether it names running servers: it has an address and no command. */
bool
target_spec_is_address(const struct target_spec *spec);

/** Whether the key is set. */
bool
target_spec_has(const struct target_spec *spec, const char *key);

/** Free the texts and make it empty. */
void
target_spec_destroy(struct target_spec *spec);

/** The text of a key, or its default; "" if it has none. */
const char *
target_spec_text(const struct target_spec *spec, enum target_key key);

/** The value of a key that is a number, a size (bytes), a time (ns), or yes (1) and no (0). */
uint64_t
target_spec_number(const struct target_spec *spec, enum target_key key);

#endif /* TARGET_SPEC_H */
