/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_CMD_H
#define CLI_CMD_H
/**
 * The actions. One more is a function in a file of its own, a row of the table
 * in cmd.c and a name here; help, man page and completion follow.
 */
#include <stddef.h>

struct options;

enum {
	ACTION_KEYS,
	ACTION_PUT,
	ACTION_SHUFFLE,
	ACTION_GET,
	ACTION_DELETE,
	ACTION_LOAD,
	ACTION_RUN,
	ACTION_REPLAY,
	ACTION_WORKLOADS,
	ACTION_ENGINES,
	ACTION_CHECK,
	ACTION_CRASH,
	ACTION_NEW_ENGINE,
	ACTION_CONVERT,
	ACTION_REPORT,
	ACTION_MERGE,
	ACTION_RERUN,
	ACTION_EXPLAIN,
	ACTION_COMPARE,
	ACTION_VS,
	ACTION_GATE,
	ACTION_COUNT
};
#define ACTION_BIT(action) (1u << (action))

/* Those that look at a workload, and so take keys of jobs for options. */
#define JOB_ACTIONS \
	(ACTION_BIT(ACTION_LOAD) | ACTION_BIT(ACTION_RUN) | ACTION_BIT(ACTION_REPLAY) | \
		ACTION_BIT(ACTION_WORKLOADS) | ACTION_BIT(ACTION_CONVERT) | \
		ACTION_BIT(ACTION_VS))

struct action {
	const char *name;
	/** Do it, say what went wrong, return the exit status. */
	int (*run)(const struct options *options);
	/**
	 * What stands behind its name: "NAME" must be there, "[NAME]" may, "FILE..." is one or
	 * more, "BASE NEW" are two; NULL: nothing.
	 */
	const char *operand;
	const char *help;   /* one line */
	const char *detail; /* for the man page: what the line leaves out */
};

extern const struct action actions[ACTION_COUNT];

/** ACTION_COUNT if there is none of that name. */
size_t
action_find(const char *name);

/** The nearest name, or NULL. */
const char *
action_nearest(const char *name);

int
cmd_put(const struct options *options);
int
cmd_get(const struct options *options);
int
cmd_delete(const struct options *options);
int
cmd_load(const struct options *options);
int
cmd_run(const struct options *options);
int
cmd_replay(const struct options *options);
int
cmd_workloads(const struct options *options);
int
cmd_keys(const struct options *options);
int
cmd_shuffle(const struct options *options);
int
cmd_engines(const struct options *options);
int
cmd_check(const struct options *options);
int
cmd_crash(const struct options *options);
int
cmd_new_engine(const struct options *options);
int
cmd_convert(const struct options *options);
int
cmd_report(const struct options *options);
int
cmd_merge(const struct options *options);
int
cmd_rerun(const struct options *options);
int
cmd_explain(const struct options *options);
int
cmd_compare(const struct options *options);
int
cmd_vs(const struct options *options);
int
cmd_gate(const struct options *options);

#endif /* CLI_CMD_H */
