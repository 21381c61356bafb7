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
			.help = "make the file of keys",
			.detail = "Writes COUNT keys of LEN random bytes, all different, to "
				  "the file of "
				  "keys. It depends on nothing but seed, length and count. Any "
				  "other "
				  "file will do as well, say COUNT times LEN bytes of "
				  "/dev/urandom.",
		},
	[ACTION_PUT] =
		{
			.name = "put",
			.run = cmd_put,
			.help = "store a value under each key, in the order of the file",
			.detail = "Makes the database if there is none. At the end the engine "
				  "is asked to "
				  "settle, which is timed as well.",
		},
	[ACTION_SHUFFLE] =
		{
			.name = "shuffle",
			.run = cmd_shuffle,
			.help = "put the keys of the file into a random order",
			.detail = "Only the first COUNT keys are moved. Any program may have "
				  "made the file. It is written aside and renamed, so that it "
				  "is whole at every moment.",
		},
	[ACTION_GET] =
		{
			.name = "get",
			.run = cmd_get,
			.help = "look each key up, in the order of the file",
			.detail = "Every value is read, and a share of them checked: a value "
				  "tells its "
				  "key and carries a checksum. --klen and --vlen must be those "
				  "of put.",
		},
	[ACTION_DELETE] =
		{
			.name = "delete",
			.run = cmd_delete,
			.help = "remove each key, in the order of the file",
			.detail = "At the end the engine is asked to settle, which is timed as "
				  "well.",
		},
	[ACTION_LOAD] =
		{
			.name = "load",
			.run = cmd_load,
			.help = "insert the records of a workload",
			.detail = "Makes the database if there is none. The records are those "
				  "that the same workload works on in run.",
		},
	[ACTION_RUN] =
		{
			.name = "run",
			.run = cmd_run,
			.help = "run a workload: mixes of operations, side by side or in turn",
			.detail = "Operations go to the records that load has inserted. See "
				  "WORKLOADS.",
		},
	[ACTION_REPLAY] =
		{
			.name = "replay",
			.run = cmd_replay,
			.help = "do the operations of a trace, flat out or at its times",
			.detail = "--load is a trace that makes the database, --trace one that "
				  "is "
				  "done then; either may be left out. The operations of a key "
				  "stay "
				  "in their order, whatever the number of threads. See TRACES.",
		},
	[ACTION_WORKLOADS] =
		{
			.name = "workloads",
			.run = cmd_workloads,
			.operand = "[NAME]",
			.help = "list the workloads; with a name, print that one as a file",
			.detail = "What is printed can be changed and given to --workload. "
				  "Keys that are given as options are set in it.",
		},
	[ACTION_ENGINES] =
		{
			.name = "engines",
			.run = cmd_engines,
			.help = "list the engines; with --driver, one and its options",
			.detail = "Version, licence, capabilities and durability levels of "
				  "each engine; "
				  "then the plugins that were found and refused, and why.",
		},
	[ACTION_CHECK] =
		{
			.name = "check",
			.run = cmd_check,
			.help = "try an engine on each promise of the plugin interface",
			.detail =
				"The contract suite: each promise is kept, broken or not "
				"applicable, "
				"and for a broken one what happened is told, where possible by "
				"the "
				"shortest sequence of operations that shows it. Each is "
				"tried in a "
				"process of its own on fresh databases in a directory of "
				"their own under --path or, without it, $TMPDIR or /tmp. The "
				"exit "
				"status is 4 if a promise is broken.",
		},
	[ACTION_CRASH] =
		{
			.name = "crash",
			.run = cmd_crash,
			.help = "end an engine in the midst of writes, see what is left",
			.detail = "A process writes and is killed at a random moment: in the "
				  "midst, while the database is made, in flush and close, in "
				  "the recovery from the crash before. Another one opens what "
				  "is left and holds all of it against what was written. The "
				  "exit status is 3 if a level does not keep what it promises; "
				  "what shows it is kept. Databases are made in --path, else "
				  "in $TMPDIR or /tmp, with --power /dev/shm. See CRASHES.",
		},
	[ACTION_NEW_ENGINE] =
		{
			.name = "new-engine",
			.run = cmd_new_engine,
			.operand = "NAME",
			.help = "begin a plugin of your own in the new directory NAME",
			.detail = "Writes NAME.c, meson.build and README.md there: a small "
				  "engine "
				  "that works, to be replaced piece by piece. It needs the "
				  "installed header and nothing else of mininb.",
		},
	[ACTION_CONVERT] =
		{
			.name = "convert",
			.run = cmd_convert,
			.help = "turn a trace of operations into another format",
			.detail =
				"Reads ycsb-text (lines \"INSERT 6284781860667377211\"), "
				"ycsb-log (what YCSB prints with its binding basic), u64 (bare "
				"little-endian 64-bit keys), keys (bare keys of LEN bytes), "
				"rocksdb (what trace_analyzer of RocksDB makes), cache-csv "
				"(traces of Twitter and Meta) and mininb (our own, compact, "
				"with checksums); writes all of them but rocksdb. '-' is "
				"standard input or output. The counts go to standard error. A "
				"line that is damaged ends it, with nothing written, unless "
				"--skip-bad is given.",
		},
	[ACTION_REPORT] =
		{
			.name = "report",
			.run = cmd_report,
			.operand = "FILE...",
			.help = "print results again, or as a page, a table, a plot",
			.detail =
				"text is what was printed after the run, exactly; md a page of "
				"Markdown; csv a table; json the results of all files "
				"together; hgrm percentiles and hlog a log for the tools of "
				"HdrHistogram; gnuplot and candlestick scripts with their "
				"data, candlestick also of a notebook; html a page with charts "
				"that needs nothing else. "
				"Several files are shown side by side. Of vs text, md, csv and "
				"html have the comparison, with one row for each engine and "
				"phase, and md and html the run with the median throughput of "
				"each.",
		},
	[ACTION_MERGE] =
		{
			.name = "merge",
			.run = cmd_merge,
			.operand = "FILE...",
			.help = "make one result of runs that went on side by side",
			.detail = "Histograms and counts are merged, of threads, processes or "
				  "machines; percentiles follow from the merged histograms. "
				  "What is no part of one run is refused: another engine, "
				  "action, durability or size of records.",
		},
	[ACTION_RERUN] =
		{
			.name = "rerun",
			.run = cmd_rerun,
			.operand = "FILE",
			.help = "run what made a result once more",
			.detail =
				"With the words, the directory and the workload that are kept "
				"in the file; options that are given here come after those. "
				"Files of results that it had are not written again. It is "
				"said if the stream of operations was another one.",
		},
	[ACTION_EXPLAIN] =
		{
			.name = "explain",
			.run = cmd_explain,
			.operand = "[FIGURE]",
			.help = "say what a figure of the reports means",
			.detail = "What it says, how it was measured, and what would make it "
				  "wrong. Without a name it lists all that can be explained.",
		},
	[ACTION_COMPARE] =
		{
			.name = "compare",
			.run = cmd_compare,
			.operand = "FILE...",
			.help = "say how runs differ, by how much, and how sure that is",
			.detail =
				"Each file against the first, or the engines of a file against "
				"its first one. A run counts for one value of each figure; "
				"their ratio has an interval, and a test says whether it may "
				"be chance. Runs of another stream of operations, durability, "
				"size, rate or number of threads, and such that did not end "
				"well, are not ranked unless --force is given. Repetitions "
				"come from vs.",
		},
	[ACTION_VS] =
		{
			.name = "vs",
			.run = cmd_vs,
			.help = "run engines in turn until their difference is known",
			.detail =
				"Each repetition is a process of its own on fresh data: load "
				"and run of the workload, or without one put and get of keys. "
				"--load=TRACE is replayed on a new database instead, and "
				"--trace=TRACE after the load of the --workload that it was "
				"recorded with. "
				"Each engine has one in each round, in random order. It ends "
				"when, from five rounds on, each ratio of throughputs is "
				"known to --precision, or when --budget or --runs is used up "
				"(256 repetitions in all, if neither says more); "
				"then it prints what compare does. The base of the comparison "
				"is the engine named first. One engine may be named twice, "
				"with "
				"other options (-o leveldb#2.block_size=64KiB) or with none: "
				"that shows how much two equal runs differ. An engine that "
				"fails is left out, and the exit status is 1.",
		},
	[ACTION_GATE] =
		{
			.name = "gate",
			.run = cmd_gate,
			.operand = "BASE NEW",
			.help = "fail if a result got worse (where the load changes: vs)",
			.detail = "For scripts: the exit status is 4 if a figure of the file "
				  "NEW is worse than that of BASE by more than its limit and "
				  "its interval says that it is worse at all. With one run in "
				  "a file the figure alone decides, which is said. The exit "
				  "status is 2 if the files are not comparable: other work, or "
				  "a machine that was not equally busy. That is so if other "
				  "processes and the hypervisor had shares of the CPU time "
				  "that are more than 10 points apart, or, with one run in a "
				  "file, more than 10 %. Then, and wherever the load changes, "
				  "run both in turn with vs. --force judges all the same.",
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
