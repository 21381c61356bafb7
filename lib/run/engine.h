/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_ENGINE_H
#define RUN_ENGINE_H
/** Engines: where they are found, how their tables are taken over. */
#include <stdbool.h>
#include <stddef.h>

#include <mininb/mininb.h>

#include "target/addresses.h"
#include "target/spec.h"
#include "target/words.h"

struct nb_engine_ref {
	struct nb_engine table; /* the host's copy */
	const char *path;       /* owned; "built in" */
};

/** A place where an engine may be. */
struct engine_site {
	char *name;
	char *path; /* NULL: linked in */
};

/** All engines that can be found, in the order of the search; a name stands once. */
struct engine_sites {
	struct engine_site *items;
	size_t count;
	char *hidden; /* a line for each that another one of its name hides; NULL: none */
};

NB_MUST_CHECK int
engine_sites_create(struct engine_sites *sites);

void
engine_sites_destroy(struct engine_sites *sites);

/** An engine that this build has not, and why. */
struct engine_missing {
	char name[32], reason[128];
};

/**
 * The next of a list "name=reason;name=reason;" that begins at `at`. Returns where the
 * one after it begins, or NULL if there is none, and then *out is not set.
 */
const char *
engine_missing_next(const char *at, struct engine_missing *out);

/** The list of this build. */
extern const char engines_missing[];

/**
 * Whether this user may load the plugin: root loads none that everyone could have put there, and
 * a setuid program only those that are installed.
 */
NB_MUST_CHECK int
engine_check_trust(const char *path);

/** The table of a linked-in engine; NULL if there is none of that name. */
const struct nb_engine *
engine_builtin(const char *name);

/**
 * Check a plugin's table and copy what this host knows of it. `origin` is the
 * file's name, for the text of a refusal, which names the field and what is
 * wrong with it.
 */
NB_MUST_CHECK int
engine_import(struct nb_engine *out, const struct nb_engine *table, const char *origin);

/** The steps of loading are told there, as literals: "while it was loaded". */
void
engine_set_step(const char **step);

/** Put what is wanted of an engine into memory of a given size. */
typedef int (*engine_show_fn)(void *shown, const struct nb_engine_ref *ref);

/**
 * Load the engine `driver` in a child process and call `show` there; its `size` bytes come
 * back. `path` names the plugin in a failure, also of one that crashes, hangs or ends its
 * process.
 */
NB_MUST_CHECK int
engine_look(
	const char *driver, const char *path, engine_show_fn show, void *shown, size_t size);

/** What `auto` means for a database below the directory `path`. */
uint32_t
engine_auto_durability(const struct nb_engine *engine, const char *path);

/** NB_UNSUPPORTED, with the levels that there are, if the engine does not offer that one. */
NB_MUST_CHECK int
engine_check_durability(const struct nb_engine *engine, uint32_t level);

/**
 * The servers that an engine connects to. *out: the running ones that the user named, in `list` (as
 * in struct nb_run_options) or else in `job`, which may be NULL. If none are named *out is empty,
 * and *spec says how private servers are started. NB_ERR_USAGE: servers are named for an engine
 * that is not a client, or no server is named for one that has no private servers.
 */
NB_MUST_CHECK int
engine_servers(struct addresses *out, struct target_spec *spec, const struct nb_engine *engine,
	const char *list, const struct nb_job *job);

/** {option:NAME} of each option, "" if it is not set; a list that ends with a NULL name. */
NB_MUST_CHECK int
engine_placeholders(struct placeholder **out, const struct nb_engine *engine,
	const struct nb_option_value *values);

/** NULL is fine. */
void
engine_forget_placeholders(struct placeholder *placeholders);

/** The failure of an engine whose `call` lent more bytes than any object has. */
NB_MUST_CHECK int
engine_refuse_size(const char *call, size_t size);

/** What engines have warned of through nb_host.log(), for the results that it concerns. */
enum { ENGINE_WARNINGS_MAX = 4, ENGINE_WARNING_SIZE = 512 };

struct engine_warnings {
	char texts[ENGINE_WARNINGS_MAX][ENGINE_WARNING_SIZE];
	size_t count;
};

/**
 * What the engine has logged of these servers since then: their versions and settings, each text
 * once, without the address.
 */
NB_MUST_CHECK int
engine_told_of_servers(struct addresses *out, const struct addresses *servers);

/** Those since engine_forget_messages(), each once, the first few. Any thread. */
void
engine_warnings(struct engine_warnings *out);

/** From here on each text is new again. */
void
engine_forget_messages(void);

/** Tell the user how often texts came again, and how many were left out. */
void
engine_count_messages(void);

/** The rule for the names of engines: a format of ENGINE_NAME_MAX, and whether it is kept. */
enum { ENGINE_NAME_MAX = 64 };
#define ENGINE_NAME_RULE "use a letter a-z, then a-z, 0-9, _ and -, %d characters at most"
bool
engine_is_name(const char *name);

#endif /* RUN_ENGINE_H */
