/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd.h"

#include <string.h>

#include <mininb/mininb.h>

/* In the order in which a new user needs them. */
const struct action actions[ACTION_COUNT] = {
	[ACTION_KEYS] =
		{
			.name = "keys",
			.run = cmd_keys,
			.help = "write the key file",
			.detail = "Writes COUNT different keys of LEN random bytes. They "
				  "depend only on seed, length and count. Any other file of "
				  "COUNT x LEN bytes works as well, for example from "
				  "/dev/urandom.",
		},
	[ACTION_PUT] =
		{
			.name = "put",
			.run = cmd_put,
			.help = "store a value under each key, in the order of the file",
			.detail = "Makes the database if it does not exist. At the end the "
				  "engine completes its postponed work (--settle), and "
				  "mininb times that too.",
		},
	[ACTION_SHUFFLE] =
		{
			.name = "shuffle",
			.run = cmd_shuffle,
			.help = "put the keys of the file into a random order",
			.detail = "Moves only the first COUNT keys. Any program may have "
				  "written the file. mininb writes a new file and renames "
				  "it, so the key file is complete at every moment.",
		},
	[ACTION_GET] =
		{
			.name = "get",
			.run = cmd_get,
			.help = "look up each key, in the order of the file",
			.detail = "Reads every value and verifies a share of them: a value "
				  "contains its key and a checksum. --klen and --vlen must "
				  "be the same as for put.",
		},
	[ACTION_DELETE] =
		{
			.name = "delete",
			.run = cmd_delete,
			.help = "remove each key, in the order of the file",
			.detail = "At the end the engine completes its postponed work "
				  "(--settle), and mininb times that too.",
		},
	[ACTION_LOAD] =
		{
			.name = "load",
			.run = cmd_load,
			.help = "insert the records of a workload",
			.detail = "Makes the database if it does not exist. The action run "
				  "then works on these records.",
		},
	[ACTION_RUN] =
		{
			.name = "run",
			.run = cmd_run,
			.help = "run a workload: mixes of operations, side by side or in turn",
			.detail = "The operations use the records that load inserted. See "
				  "WORKLOADS.",
		},
	[ACTION_REPLAY] =
		{
			.name = "replay",
			.run = cmd_replay,
			.help = "replay a trace, at full speed or at its own times",
			.detail = "Replays first the trace of --load, which makes the "
				  "database, then the trace of --trace; each is optional. "
				  "The operations of a key keep their order for any number "
				  "of threads. See TRACES.",
		},
	[ACTION_WORKLOADS] =
		{
			.name = "workloads",
			.run = cmd_workloads,
			.operand = "[NAME]",
			.help = "list the workloads; with a name, print that one as a file",
			.detail = "Edit the printed file and give it to --workload. Options "
				  "set keys in it.",
		},
	[ACTION_ENGINES] =
		{
			.name = "engines",
			.run = cmd_engines,
			.help = "list the engines; with --driver, one and its options",
			.detail = "Prints version, licence, capabilities and durability "
				  "levels of each engine, then the plugins that mininb "
				  "refused, and why.",
		},
	[ACTION_CHECK] =
		{
			.name = "check",
			.run = cmd_check,
			.help = "test an engine on each promise of the plugin interface",
			.detail = "The contract suite: a promise is kept, broken or not "
				  "applicable. For a broken one mininb prints what "
				  "happened, if possible with the shortest sequence of "
				  "operations that shows it. Each promise is tested in its "
				  "own process, on new databases in a new directory below "
				  "--path, $TMPDIR or /tmp. The exit status is 4 if a "
				  "promise is broken.",
		},
	[ACTION_CRASH] =
		{
			.name = "crash",
			.run = cmd_crash,
			.help = "kill an engine during writes, and verify what remains",
			.detail = "Kills a writing process at random moments: during "
				  "writes, while it makes the database, in flush and close, "
				  "or in the recovery from an earlier crash. Another "
				  "process opens the database and compares it with "
				  "everything that was written. The exit status is 3 if a "
				  "level breaks its promise; mininb then keeps the "
				  "database. Databases are made in --path, else in $TMPDIR "
				  "or /tmp, with --power in /dev/shm. See CRASHES.",
		},
	[ACTION_NEW_ENGINE] =
		{
			.name = "new-engine",
			.run = cmd_new_engine,
			.operand = "NAME",
			.help = "begin a plugin of your own in the new directory NAME",
			.detail = "Writes NAME.c, meson.build and README.md: a small "
				  "working engine that you replace piece by piece. It needs "
				  "only the installed header of mininb.",
		},
	[ACTION_CONVERT] =
		{
			.name = "convert",
			.run = cmd_convert,
			.help = "convert a trace of operations into another format",
			.detail = "Reads ycsb-text (lines \"INSERT 6284781860667377211\"), "
				  "ycsb-log (the output of YCSB with its binding basic), "
				  "u64 (bare little-endian 64-bit keys), keys (bare keys of "
				  "LEN bytes), rocksdb (the output of RocksDB's "
				  "trace_analyzer), cache-csv (traces of Twitter and Meta) "
				  "and mininb (compact, with checksums). Writes all of "
				  "these except rocksdb. '-' is standard input or output. "
				  "The counts go to standard error. A damaged line ends the "
				  "conversion without output, unless you give --skip-bad.",
		},
	[ACTION_REPORT] =
		{
			.name = "report",
			.run = cmd_report,
			.operand = "FILE...",
			.help = "print results again, or as a page, a table or a plot",
			.detail = "text: exactly what was printed after the run; md: a page "
				  "of Markdown; csv: a table; json: the results of all "
				  "files together; hgrm and hlog: percentiles and a log for "
				  "the tools of HdrHistogram; gnuplot and candlestick: "
				  "scripts with their data, candlestick also from a "
				  "notebook; html: a page with charts that needs no other "
				  "file. Several files appear side by side. For a file of "
				  "vs, text, md, csv and html show the comparison with one "
				  "row for each engine and phase; md and html also show the "
				  "run with the median throughput of each engine.",
		},
	[ACTION_MERGE] =
		{
			.name = "merge",
			.run = cmd_merge,
			.operand = "FILE...",
			.help = "combine the results of runs that ran side by side",
			.detail = "Merges histograms and counts of threads, processes or "
				  "machines, and computes percentiles from the merged "
				  "histograms. Refuses results that differ in engine, "
				  "action, durability or size of records.",
		},
	[ACTION_RERUN] =
		{
			.name = "rerun",
			.run = cmd_rerun,
			.operand = "FILE",
			.help = "repeat the run that made a result",
			.detail = "Uses the command, the directory and the workload that "
				  "are stored in the file; options that you add come last. "
				  "Does not write the run's other result files again. "
				  "Reports if the stream of operations differs.",
		},
	[ACTION_EXPLAIN] =
		{
			.name = "explain",
			.run = cmd_explain,
			.operand = "[FIGURE]",
			.help = "explain a figure of the reports",
			.detail = "Prints what it means, how it was measured, and what "
				  "would make it wrong. Without a name, lists all figures.",
		},
	[ACTION_COMPARE] =
		{
			.name = "compare",
			.run = cmd_compare,
			.operand = "FILE...",
			.help = "compare results: how much they differ, and how certainly",
			.detail = "Compares each file with the first, or the engines of one "
				  "file with its first engine. Each run counts as one value "
				  "of each figure. Prints the ratio with its confidence "
				  "interval, and tests whether the difference may be "
				  "chance. Does not rank runs that differ in stream of "
				  "operations, durability, size, rate or number of threads, "
				  "or that did not end well, unless you give --force. vs "
				  "makes the repetitions.",
		},
	[ACTION_VS] =
		{
			.name = "vs",
			.run = cmd_vs,
			.help = "run engines in turn until their difference is known",
			.detail = "Each repetition runs in its own process on new data: "
				  "load and run of the workload, or put and get of keys if "
				  "there is none. With --load=TRACE it replays that trace "
				  "on a new database; with --trace=TRACE it replays that "
				  "trace after the load of the --workload that it was "
				  "recorded with. Each round runs every engine once, in "
				  "random order. From five rounds on, vs stops when each "
				  "ratio of throughputs is known to --precision. It also "
				  "stops after --budget or --runs (256 repetitions in all, "
				  "if you give neither). Then it prints the same as "
				  "compare. The base of the comparison is the engine named "
				  "first. You can name an engine twice, with other options "
				  "(-o leveldb#2.block_size=64KiB) or with none, which "
				  "shows how much two equal runs differ. vs leaves out an "
				  "engine that fails, and exits with status 1.",
		},
	[ACTION_GATE] =
		{
			.name = "gate",
			.run = cmd_gate,
			.operand = "BASE NEW",
			.help = "fail if a result got worse (if the load changes: vs)",
			.detail = "For scripts. The exit status is 4 if a figure of NEW is "
				  "worse than in BASE by more than its limit, and its "
				  "confidence interval shows that it is worse at all. With "
				  "one run in a file the figure alone decides, and gate "
				  "says so. The exit status is 2 if the files are not "
				  "comparable: they did different work, or the machine was "
				  "not equally busy. That is so if the shares of CPU time "
				  "of other processes and the hypervisor differ by more "
				  "than 10 points, or, with one run in a file, if the share "
				  "is more than 10 %. In that case, and if the load "
				  "changes, run both sides in turn with vs. --force judges "
				  "anyway.",
		},
};

size_t
action_find(const char *name)
{
	size_t i = 0;
	while (i < ACTION_COUNT && strcmp(actions[i].name, name) != 0)
		i++;
	return i;
}

const char *
action_nearest(const char *name)
{
	const char *names[ACTION_COUNT], *begins = NULL;
	size_t begin_count = 0, length = strlen(name);
	for (size_t i = 0; i < ACTION_COUNT; i++) {
		names[i] = actions[i].name;
		if (length > 0 && strncmp(names[i], name, length) == 0) {
			begins = names[i];
			begin_count++;
		}
	}
	return begin_count == 1 ? begins : nb_nearest(name, names, ACTION_COUNT);
}
