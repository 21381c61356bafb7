/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TARGET_SPEC_H
#define TARGET_SPEC_H
/**
 * How a private server is started: the keys of a section [target], of a job or as an engine has
 * them in nb_engine.server.
 */
#include <stdbool.h>
#include <stdint.h>

#include <mininb/mininb.h>

enum target_key {
	TARGET_ADDRESS,    /* what the engine connects to: "unix:{socket}" */
	TARGET_BUS,        /* yes: {port} + 10000 is free, too */
	TARGET_CACHE,      /* {cache} where none is asked for */
	TARGET_COMMAND,    /* runs in the foreground */
	TARGET_COUNT,      /* of servers */
	TARGET_CPUS,       /* that they run on */
	TARGET_DURABILITY, /* {durability}, and of the levels after none */
	TARGET_FIXED = TARGET_DURABILITY + NB_DUR_COMMIT +
		1,      /* yes: the level stays as it was made */
	TARGET_JOIN,    /* runs once, when all are ready */
	TARGET_PACKAGE, /* of Debian, that has the program */
	TARGET_PATH,    /* more directories of programs, patterns */
	TARGET_PREPARE, /* runs when {dir} is new */
	TARGET_READY,   /* connect, or output:TEXT */
	TARGET_START_TIMEOUT,
	TARGET_STOP, /* a signal, or a command line */
	TARGET_STOP_TIMEOUT,
	TARGET_USER,
	TARGET_KEYS
};

struct target_spec {
	char *texts[TARGET_KEYS]; /* owned; NULL: not set */
};

/** Set a key to a text, in place of what it was. NB_ERR_USAGE "KEY: ...". */
NB_MUST_CHECK int
target_spec_set(struct target_spec *spec, const char *key, const char *text);

/** Set the keys of lines "key = value"; a failure begins with "ORIGIN:LINE: ". */
NB_MUST_CHECK int
target_spec_read(struct target_spec *spec, const char *text, const char *origin);

/** Whether it names servers that run: it has an address and no command. */
bool
target_spec_is_address(const struct target_spec *spec);

/** Whether that key is set. */
bool
target_spec_has(const struct target_spec *spec, const char *key);

/** What is left is empty. */
void
target_spec_destroy(struct target_spec *spec);

/** A key as it was set, or its default; "" if it has none. */
const char *
target_spec_text(const struct target_spec *spec, enum target_key key);

/** Of a key that is a number, size (in bytes), time (in ns) or yes (1) and no (0). */
uint64_t
target_spec_number(const struct target_spec *spec, enum target_key key);

#endif /* TARGET_SPEC_H */
