/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_ENGINE_H
#define RUN_ENGINE_H
/** Engines: where mininb finds them, and how it copies their tables. */
#include <stdbool.h>
#include <stddef.h>

#include <mininb/mininb.h>

#include "target/addresses.h"
#include "target/spec.h"
#include "target/words.h"

struct nb_engine_ref {
	struct nb_engine table; /* the host's copy */
	const char *path;       /* owned; "built in" for linked-in engines */
};

/** Whether it scans in the order of the keys. */
static inline bool
engine_has_scan(const struct nb_engine *engine)
{
	return engine->scan_open != NULL && (engine->caps & NB_CAP_ORDERED) != 0;
}

/** A possible location of an engine. */
struct engine_site {
	char *name;
	char *path; /* NULL: linked in */
};

/** All engines that were found, in search order. Each name occurs once. */
struct engine_sites {
	struct engine_site *items;
	size_t count;
	/* one line for each engine that another one of the same name hides; NULL: none */
	char *hidden;
};

NB_MUST_CHECK int
engine_sites_create(struct engine_sites *sites);

void
engine_sites_destroy(struct engine_sites *sites);

/** An engine that is not in this build, and the reason. */
struct engine_missing {
	char name[32], reason[128];
};

/**
 * Parse the next element of a list "name=reason;name=reason;" at `at`. Returns the start of the
 * following one. Returns NULL at the end of the list, without setting *out.
 */
const char *
engine_missing_next(const char *at, struct engine_missing *out);

/** The list of this build. */
extern const char engines_missing[];

/**
 * Check that this user may load the plugin. Root loads none that everyone could have put there.
 * A setuid program loads only installed ones.
 */
NB_MUST_CHECK int
engine_check_trust(const char *path);

/** The table of a linked-in engine; NULL: none of that name. */
const struct nb_engine *
engine_builtin(const char *name);

/**
 * Check a plugin's table and copy the part that this host knows. `origin` is the file name, for
 * the text of a refusal. The text names the field and the reason.
 */
NB_MUST_CHECK int
engine_import(struct nb_engine *out, const struct nb_engine *table, const char *origin);

/** Where to store the current step of loading, as a literal: "while it was loaded". */
void
engine_set_step(const char **step);

/** Store the requested data of an engine in memory of a fixed size. */
typedef int (*engine_show_fn)(void *shown, const struct nb_engine_ref *ref);

/**
 * Load the engine `driver` in a child process and call `show` there. Its `size` bytes are
 * returned. `path` names the plugin in a failure. Failures include a crash, a hang, and an exit
 * of the process.
 */
NB_MUST_CHECK int
engine_look(
	const char *driver, const char *path, engine_show_fn show, void *shown, size_t size);

/** The level of `auto` for a database below the directory `path`. */
uint32_t
engine_auto_durability(const struct nb_engine *engine, const char *path);

/**
 * NB_UNSUPPORTED if the engine does not offer that level. The text lists the offered levels.
 */
NB_MUST_CHECK int
engine_check_durability(const struct nb_engine *engine, uint32_t level);

/**
 * Find the servers that an engine connects to. *out: the running servers that the user named,
 * in `list` (as in struct nb_run_options) or else in `job`, which may be NULL. If none are
 * named, *out is empty and *spec describes how to start private servers. NB_ERR_USAGE: servers
 * are named for an engine that is not a client, or none is named for a client that has no
 * private servers.
 */
NB_MUST_CHECK int
engine_servers(struct addresses *out, struct target_spec *spec, const struct nb_engine *engine,
	const char *list, const struct nb_job *job);

/** Make {option:NAME} for each option, "" if it is not set. The list ends with a NULL name. */
NB_MUST_CHECK int
engine_placeholders(struct placeholder **out, const struct nb_engine *engine,
	const struct nb_option_value *values);

/** Accepts NULL. */
void
engine_forget_placeholders(struct placeholder *placeholders);

/** Set the failure of an engine whose `call` lent more bytes than any object has. */
NB_MUST_CHECK int
engine_refuse_size(const char *call, size_t size);

/** The warnings of engines through nb_host.log(), for the results that they concern. */
enum { ENGINE_WARNINGS_MAX = 4, ENGINE_WARNING_SIZE = 512 };

struct engine_warnings {
	char texts[ENGINE_WARNINGS_MAX][ENGINE_WARNING_SIZE];
	size_t count;
};

/**
 * The messages about these servers in the engine's log: their versions and settings, each text
 * once, without the address. Since the last engine_forget_messages().
 */
NB_MUST_CHECK int
engine_told_of_servers(struct addresses *out, const struct addresses *servers);

/** The first few warnings since engine_forget_messages(), each once. Any thread. */
void
engine_warnings(struct engine_warnings *out);

/** Forget all messages, so that each text is new again. */
void
engine_forget_messages(void);

/** Report how often texts were repeated, and how many were omitted. */
void
engine_count_messages(void);

/** The rule for the names of engines: a format for ENGINE_NAME_MAX, and a check. */
enum { ENGINE_NAME_MAX = 64 };
#define ENGINE_NAME_RULE "use a letter a-z, then a-z, 0-9, _ and -, %d characters at most"
bool
engine_is_name(const char *name);

#endif /* RUN_ENGINE_H */
