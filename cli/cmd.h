/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_CMD_H
#define CLI_CMD_H
/**
 * The actions. Each file cmd_NAME.c exports a row, cmd_NAME, with its options. To add an
 * action, write its file and add a line to `actions` in meson.build: parsing, help, manual
 * page and completion are made from the rows.
 */
#include <stdbool.h>
#include <stddef.h>

struct option_row;
struct options;

enum { OWN_TABLES = 3 };

struct cmd {
	const char *name;
	/** Executes the action, reports failures, returns the exit status. */
	int (*run)(const struct options *options);
	/**
	 * The words after the name: "NAME" is required, "[NAME]" is optional, "FILE..." is one
	 * or more, "BASE NEW" are two; NULL: none.
	 */
	const char *operand;
	const char *help;   /* one line */
	const char *detail; /* for the manual page: details that are not in `help` */
	/** Its own options: tables, each ended by a NULL name. */
	const struct option_row *own[OWN_TABLES];
	const char *shares;  /* names of common options that it uses (options_table.c) */
	const char *rejects; /* common options that are an error; others are ignored */
	/*
	 * The common option that names a file which this action writes and other actions read.
	 */
	const char *writes;
	bool has_workload;  /* keys of workloads are options */
	bool measures;      /* it rejects unused options that have `decides` */
	bool is_repeatable; /* its results contain the command, which rerun repeats */
};

/* Common options of several actions, for `shares`. */
#define SHARES_RESULT "output hlog csv notebook "
#define SHARES_FILE "keys count klen report-interval quiet "
#define SHARES_WORKLOAD "keys count klen vlen value-ratio seed set threads depth batch-bytes "
#define SHARES_ENGINE \
	"driver path servers option durability cache memory sample hardware pin pinirq clock latency verify-rate " \
	"op-timeout " \
	"hang-after cold strict allow quiet " SHARES_RESULT
#define SHARES_REPETITIONS \
	SHARES_WORKLOAD SHARES_ENGINE \
		"workload load trace speed key-bytes skip-bad procs until-steady settle shuffle allow-missing format"

/** All actions, in the order of meson.build, which suits a new user; ends with NULL. */
extern const struct cmd *const cmds[];

/* Actions that other files use by name. */
extern const struct cmd cmd_keys, cmd_shuffle, cmd_put, cmd_get, cmd_load, cmd_matrix,
	cmd_merge, cmd_run, cmd_replay, cmd_rerun, cmd_vs, cmd_workloads;

/** NULL: no action has that name. */
const struct cmd *
cmd_find(const char *name);

#endif /* CLI_CMD_H */
