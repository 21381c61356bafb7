/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The options that several actions use, and the list of all options: these rows and the tables
 * of the actions, joined when the list is first used.
 */
#include <assert.h>
#include <string.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "options.h"

#define FIELD(name) .offset = offsetof(struct options, name)

const char *const option_groups[GROUP_COUNT] = {
	[GROUP_DATA] = "What to do",
	[GROUP_WORKLOAD] = "The workload",
	[GROUP_TRACE] = "Traces",
	[GROUP_ENGINE] = "The engine",
	[GROUP_MEASURE] = "How to measure",
	[GROUP_COMPARE] = "How to compare",
	[GROUP_CRASH] = "How to crash",
	[GROUP_OUTPUT] = "What to print",
};

/* clang-format off */
static const struct option_row common_options[] = {
	{.name = "action", .letter = 'a', .arg = "ACTION", .type = OPTION_ACTION,
		.group = GROUP_DATA, .is_for_all = true, FIELD(action),
		.help = "what to do; may also be the first word"},
	{.name = "keys", .letter = 'i', .arg = "FILE", .type = OPTION_TEXT, .def = "keys.bin",
		.group = GROUP_DATA, .words = WORDS_FILE, .job_key = "keys", FIELD(keys),
		.help = "key file: keys of LEN bytes each, without separators"},
	{.name = "count", .letter = 'c', .arg = "COUNT", .type = OPTION_COUNT, .def = "100000",
		.min = 1, .max = INT64_MAX, .group = GROUP_DATA, .job_key = "count",
		FIELD(count),
		.help = "number of operations; each takes the next key of the file",
		.detail = "With a workload: the operations of each group. It overrides the "
			"workload's count."},
	{.name = "klen", .letter = 'k', .arg = "LEN", .type = OPTION_BYTES, .def = "16",
		.min = 1, .max = NB_KEY_SIZE_MAX, .group = GROUP_DATA, .job_key = "key-size",
		FIELD(key_size),
		.help = "bytes of a key"},
	{.name = "vlen", .letter = 'v', .arg = "LEN", .type = OPTION_BYTES, .def = "100",
		.max = NB_VALUE_SIZE_MAX, .group = GROUP_DATA, .job_key = "value-size",
		FIELD(value_size),
		.help = "bytes of a value"},
	{.name = "value-ratio", .arg = "RATIO", .type = OPTION_REAL, .def = "0.5", .max = 1,
		.group = GROUP_DATA, .job_key = "value-ratio", FIELD(value_ratio),
		.help = "size of a value after ideal compression, over its size; 1: incompressible"},
	{.name = "seed", .arg = "NUMBER", .type = OPTION_COUNT, .def = "1", .max = UINT64_MAX,
		.group = GROUP_DATA, .job_key = "seed", FIELD(seed),
		.help = "seed of all random choices; the same seed gives the same data"},
	{.name = "force", .type = OPTION_FLAG, .group = GROUP_DATA, FIELD(is_forced),
		.help = "also write or replace files that mininb did not make",
		.detail = "Without it, mininb neither removes nor writes an existing database "
			"or file that it did not make, and does not use a database whose load "
			"is unfinished."},
	{.name = "workload", .letter = 'w', .arg = "NAME", .type = OPTION_TEXT,
		.group = GROUP_WORKLOAD, .words = WORDS_WORKLOAD, .decides = true,
		FIELD(workload),
		.help = "name of the workload; with a '/' or .ini at its end, a file",
		.detail = "Without it the run has one group, and options must set its mix."},
	{.name = "set", .arg = "KEY=VALUE", .type = OPTION_SET, .group = GROUP_WORKLOAD,
		.decides = true,
		.help = "set a key, or GROUP.KEY for one group; repeatable",
		.detail = "The same as the option of that name."},
	{.name = "load", .arg = "FILE", .type = OPTION_TEXT, .group = GROUP_TRACE,
		.words = WORDS_FILE, .decides = true, FIELD(load),
		.help = "trace that loads the database, before --trace"},
	{.name = "trace", .arg = "FILE", .type = OPTION_TEXT, .group = GROUP_TRACE,
		.words = WORDS_FILE, .decides = true, FIELD(trace),
		.help = "trace to replay"},
	{.name = "speed", .arg = "FACTOR", .type = OPTION_SPEED, .group = GROUP_TRACE,
		.decides = true, FIELD(speed),
		.help = "replay at the recorded times, FACTOR times as fast: 1x, 2x, 0.5x",
		.detail = "Without it and without --rate, the replay runs at full speed."},
	{.name = "key-bytes", .arg = "ORDER", .type = OPTION_CHOICE, .def = "big",
		.choices = "big|little|text", .group = GROUP_TRACE, .decides = true,
		FIELD(key_bytes),
		.help = "how the numbers of u64, ycsb-text and ycsb-log become keys",
		.detail = "big: 8 bytes, which sort like the numbers; little: the same bytes "
			"in reverse; text: in ycsb-log, the key as it is written there."},
	{.name = "array", .type = OPTION_FLAG, .group = GROUP_TRACE, .decides = true,
		FIELD(is_array),
		.help = "map the u64 files and use their keys again at their end, until the time is up",
		.detail = "Without it one thread reads the trace for all others. The threads then "
			"take the keys themselves, and the operations of a key do not keep their order."},
	{.name = "skip-bad", .type = OPTION_FLAG, .group = GROUP_TRACE, .decides = true,
		FIELD(skips_bad),
		.help = "count damaged lines and continue"},
	{.name = "driver", .letter = 'd', .arg = "NAME", .type = OPTION_TEXT, .def = "leveldb",
		.group = GROUP_ENGINE, .words = WORDS_DRIVER, FIELD(driver),
		.help = "engine; with a '/', the file of its plugin; a,b,c: several engines",
		.detail = "Several engines run one after the other, each in its own process. "
			"If one crashes or hangs, only its own run is lost. A table at the end "
			"shows all of them. put then needs empty databases, or --fresh. vs "
			"also accepts the same engine twice and labels it leveldb#1 and "
			"leveldb#2. Two builds of one engine, ./old/x.so,./new/x.so, share a "
			"database: vs compares them; of the other actions, only get accepts "
			"them."},
	{.name = "path", .letter = 'p', .arg = "DIR", .type = OPTION_TEXT, .def = "./nb",
		.group = GROUP_ENGINE, .words = WORDS_DIRECTORY, FIELD(path),
		.help = "directory of the databases; that of an engine is DIR/NAME"},
	{.name = "servers", .arg = "LIST", .type = OPTION_TEXT, .group = GROUP_ENGINE,
		.decides = true, FIELD(servers),
		.help = "servers of an engine that is a client: host:port,[v6]:port,unix:PATH",
		.detail = "mininb divides the keys evenly among several servers. It writes only to "
			"a server that is empty or holds data of mininb."},
	{.name = "fresh", .type = OPTION_FLAG, .group = GROUP_ENGINE, FIELD(is_fresh),
		.help = "first remove the engine's database, if mininb made it"},
	{.name = "option", .letter = 'o', .arg = "NAME=VALUE", .type = OPTION_LIST,
		.group = GROUP_ENGINE,
		.help = "set an option of the engine; repeatable",
		.detail = "With several engines, ENGINE.NAME=VALUE sets an option of one of "
			"them. If vs compares an engine with itself, leveldb.NAME=VALUE is for "
			"both, and leveldb#2.NAME=VALUE for the second."},
	{.name = "durability", .arg = "LEVEL", .type = OPTION_CHOICE, .def = "auto",
		.choices = "auto" NB_DURABILITY_LIST(NB_CHOICE), .group = GROUP_ENGINE,
		FIELD(durability),
		.help = "which writes must survive a crash",
		.detail = "See DURABILITY. crash tests this level; without it, each level that "
			"an engine offers."},
	{.name = "cache", .arg = "SIZE", .type = OPTION_BYTES, .min = 1, .max = INT64_MAX,
		.group = GROUP_ENGINE, FIELD(cache_bytes),
		.help = "size of the engine's cache, instead of its own default"},
	{.name = "memory", .arg = "SIZE", .type = OPTION_BYTES, .min = 1 << 20, .max = INT64_MAX,
		.group = GROUP_ENGINE, .decides = true, FIELD(memory_bytes),
		.help = "limit the memory of the engine, its page cache and its servers; no swap",
		.detail = "See MEMORY. The run is a process in a control group with this limit. "
			"mininb measures what it needs itself on the null engine, and adds it."},
	{.name = "threads", .letter = 't', .arg = "COUNT|all", .type = OPTION_COUNT, .def = "1",
		.min = 1, .max = 1024, .group = GROUP_MEASURE, .job_key = "threads",
		FIELD(threads),
		.help = "worker threads that share the operations; all: as many as CPUs that "
			"mininb may use"},
	{.name = "depth", .arg = "COUNT", .type = OPTION_COUNT, .def = "1", .min = 1,
		.max = NB_DEPTH_MAX, .group = GROUP_MEASURE, .job_key = "depth",
		.decides = true, FIELD(depth),
		.help = "requests that each thread keeps in flight; 1: one call after the other",
		.detail = "For engines with submit and reap. The service time of an operation "
			"then includes the time that it waits for those before it."},
	{.name = "batch-bytes", .arg = "LEN", .type = OPTION_BYTES, .max = INT64_MAX,
		.group = GROUP_MEASURE, .job_key = "batch-bytes", .decides = true,
		FIELD(batch_bytes),
		.help = "with --depth: hand over requests when LEN of keys and values is gathered",
		.detail = "They are also handed over when they are half of the depth, so that "
			"two batches can be in flight. "
			"Without it each thread hands requests over as soon as there is room."},
	{.name = "procs", .arg = "COUNT", .type = OPTION_COUNT, .def = "1", .min = 1,
		.max = 256, .group = GROUP_MEASURE, .decides = true, FIELD(procs),
		.help = "processes that open the database together; each runs --threads threads"},
	{.name = "record", .arg = "FILE", .type = OPTION_TEXT, .group = GROUP_TRACE,
		.words = WORDS_FILE, .is_output = true, FIELD(record),
		.help = "record the operations as a trace, with their due times"},
	{.name = "interval", .arg = "TIME", .type = OPTION_TIME, .group = GROUP_MEASURE,
		FIELD(interval_ns),
		.help = "print a status line every TIME"},
	{.name = "sample", .arg = "TIME", .type = OPTION_TIME, .group = GROUP_MEASURE,
		FIELD(sample_ns),
		.help = "sample latencies and the system every TIME; 0s: never",
		.detail = "The result file contains the samples. The default is one sample a "
			"second, and five a second in the first ten seconds."},
	{.name = "checkpoint-every", .arg = "TIME", .type = OPTION_TIME, .group = GROUP_MEASURE,
		.decides = true, FIELD(checkpoint_every_ns),
		.help = "let the engine write a checkpoint every TIME during the operations"},
	{.name = "hardware", .type = OPTION_FLAG, .group = GROUP_MEASURE, FIELD(has_hardware),
		.help = "count cycles, instructions and cache misses also in a virtual machine",
		.detail = "On real hardware mininb always counts them. Under a hypervisor, "
			"counting makes each switch between threads slower and costs some "
			"percent of speed."},
	{.name = "start-at", .arg = "MOMENT", .type = OPTION_TEXT, .group = GROUP_MEASURE,
		.decides = true, FIELD(start_at),
		.help = "begin the operations at a moment, such as $(date -d '+1min' +%s)",
		.detail = "Seconds since 1970 with up to nine decimals, or 2026-09-21T14:13:20Z. "
			"For shards of one run on several machines, whose clocks must agree. It is a "
			"failure if the database is not open by then."},
	{.name = "until-steady", .arg = "WINDOW", .type = OPTION_TEXT, .group = GROUP_MEASURE,
		.decides = true, FIELD(steady),
		.help = "end when the throughput is steady: 10s, or 10s,slope:5%,band:10%",
		.detail = "The throughput is steady if, over the window, the line of least "
			"squares changes by at most the slope, and each tenth of the window is "
			"within the band around the mean. The run ends at the workload's own "
			"bound at the latest."},
	{.name = "pin", .type = OPTION_FLAG, .group = GROUP_MEASURE, FIELD(is_pinned),
		.help = "pin each worker to its own CPU"},
	{.name = "pinirq", .arg = "NAMES", .type = OPTION_TEXT, .group = GROUP_MEASURE,
		.decides = true, FIELD(pinirq),
		.help = "move the interrupts of network interfaces away from pinned threads",
		.detail = "NAMES is all, or a list such as eth0,eth1. Needs root, and --pin or "
			"groups with cpus. mininb prints what it moved, and puts it back at the "
			"end, also on SIGINT and SIGTERM, but not if it is killed. Stop irqbalance, "
			"which may move them again."},
	{.name = "clock", .arg = "CLOCK", .type = OPTION_CHOICE, .def = "auto",
		.choices = &NB_CLOCK_LIST(NB_CHOICE)[1], .group = GROUP_MEASURE, FIELD(clock),
		.help = "clock source for timestamps",
		.detail = "auto uses the time stamp counter (tsc) if it is reliable. mininb "
			"refuses tsc if it is not."},
	{.name = "latency", .arg = "HOW", .type = OPTION_TEXT,
		.group = GROUP_MEASURE, .decides = true, .job_key = "latency", FIELD(latency),
		.help = "time each operation, one in N (sampled:N), or only blocks of them (block)",
		.detail = "A time stamp waits until all memory accesses before it are done, which "
			"slows down an engine that takes less than a microsecond. With "
			"sampled:64, one operation in 64 has time stamps, and the percentiles "
			"rest on these; the others run without. With block, mininb reports only "
			"the throughput. Both are only for runs without a rate. The default is "
			"each."},
	{.name = "settle", .arg = "HOW", .type = OPTION_CHOICE, .def = "compact",
		.choices = &NB_SETTLE_LIST(NB_CHOICE)[1], .group = GROUP_MEASURE, FIELD(settle),
		.help = "what the engine completes after the last write",
		.detail = "flush: it writes its memory out; compact: it also does the work "
			"that it has postponed. mininb times this apart from the operations."},
	{.name = "verify-rate", .arg = "SHARE", .type = OPTION_REAL, .def = "0.01", .max = 1,
		.group = GROUP_MEASURE, FIELD(verify_rate),
		.help = "share of the operations whose data mininb verifies"},
	{.name = "op-timeout", .arg = "TIME", .type = OPTION_TIME, .def = "10m",
		.group = GROUP_MEASURE, FIELD(op_timeout_ns),
		.help = "end the run if a call of the engine takes longer than this; 0s: never",
		.detail = "mininb reports what it measured as partial. It leaves the engine "
			"where it is and does not close the database. The limit is for each "
			"operation, and for opening, settling and closing; without the option, "
			"these three may take 10 hours. Waiting for an operation to be due "
			"does not count."},
	{.name = "hang-after", .arg = "TIME", .type = OPTION_TIME, .def = "15m",
		.group = GROUP_MEASURE, FIELD(hang_after_ns),
		.help =
			"kill an engine that makes no progress for TIME, if several run "
			"(check, crash: any engine, default 1m); 0s: never",
		.detail = "For engines that --op-timeout cannot end: mininb kills the whole "
			"process of the engine, and its figures are lost. Opening, settling "
			"and closing may take six times as long, because their progress is not "
			"visible. With a single engine this applies only if you give the "
			"option. check applies it to each promise, and crash to each "
			"recovery."},
	{.name = "cold", .type = OPTION_FLAG, .group = GROUP_MEASURE, FIELD(is_cold),
		.help = "remove the database from the page cache before opening it",
		.detail = "As root, mininb drops all caches of the kernel; otherwise it evicts "
			"the files of the database. The result contains how much of the "
			"database was in memory when the first operation began."},
	{.name = "shuffle", .type = OPTION_FLAG, .group = GROUP_MEASURE, .decides = true,
		FIELD(is_shuffled),
		.help = "get the keys in another random order than put stored them"},
	{.name = "allow-missing", .type = OPTION_FLAG, .group = GROUP_MEASURE,
		FIELD(allows_missing),
		.help = "do not fail if a key is missing"},
	{.name = "report-interval", .letter = 'r', .arg = "COUNT", .type = OPTION_COUNT,
		.def = "10000", .max = INT64_MAX, .group = GROUP_OUTPUT, FIELD(report_interval),
		.help = "operations between two updates of the progress line; 0: none"},
	{.name = "output", .letter = 'o', .arg = "FILE", .type = OPTION_TEXT,
		.group = GROUP_OUTPUT, .words = WORDS_FILE, .is_output = true, FIELD(output),
		.help = "write the whole result to FILE as JSON; '-': to stdout, not the report",
		.detail = "report, compare, merge, gate and rerun read this file. Its schema "
			"is installed beside the workloads. With report, and only there, -o is "
			"short for it and names the file of the report."},
	{.name = "hlog", .arg = "FILE", .type = OPTION_TEXT, .group = GROUP_OUTPUT,
		.words = WORDS_FILE, .is_output = true, FIELD(hlog),
		.help = "write an HdrHistogram log, with a tag for each kind of operation"},
	{.name = "csv", .arg = "PREFIX", .type = OPTION_TEXT, .group = GROUP_OUTPUT,
		.words = WORDS_FILE, .is_output = true, FIELD(csv),
		.help = "write tables PREFIX-operations.csv, -series, -latency and -counters"},
	{.name = "notebook", .arg = "FILE", .type = OPTION_TEXT, .group = GROUP_OUTPUT,
		.words = WORDS_FILE, .is_output = true, FIELD(notebook),
		.help = "append the run to a notebook of experiments, in Masstree's format"},
	{.name = "strict", .type = OPTION_FLAG, .group = GROUP_OUTPUT, FIELD(is_strict),
		.help = "exit with status 4 if the result has notes"},
	{.name = "allow", .arg = "NOTES", .type = OPTION_TEXT, .group = GROUP_OUTPUT,
		FIELD(allowed),
		.help = "names of notes that --strict ignores: closed-loop,one-run"},
	{.name = "fold", .type = OPTION_FLAG, .group = GROUP_OUTPUT, FIELD(is_folded),
		.help = "print one histogram row for all times below a microsecond"},
	{.name = "format", .arg = "FORMAT", .type = OPTION_CHOICE, .def = "text",
		.choices = "text|tap|auto" NB_TRACE_LIST(NB_CHOICE, NB_CHOICE),
		.group = GROUP_OUTPUT, FIELD(format),
		.help = "format of the list of promises, or of the trace",
		.detail = "check: text, or tap, the Test Anything Protocol for test harnesses. "
			"replay and vs: the format of the traces; the default is to recognise "
			"it."},
	{.name = "quiet", .type = OPTION_FLAG, .group = GROUP_OUTPUT, FIELD(is_quiet),
		.help = "print no progress and no remarks, only warnings and errors"},
	{.name = "version", .type = OPTION_FLAG, .group = GROUP_OUTPUT, .is_for_all = true,
		FIELD(wants_version),
		.help = "print the version"},
	{.name = "help", .letter = 'h', .type = OPTION_HELP,
		.choices = "scdoc|scdoc-workload|bash|zsh", .group = GROUP_OUTPUT,
		.is_for_all = true, FIELD(help),
		.help = "print this text, a manual page for scdoc, or completion for a shell"},
	{.name = NULL},
};
/* clang-format on */

/* ---- the list of all ---- */

static struct option_row all[OPTIONS_MAX + 1]; /* ends with a NULL name */
static size_t all_count;

bool
options_has_word(const char *list, const char *word)
{
	size_t length = strlen(word);
	const char *at = list != NULL && length > 0 ? strstr(list, word) : NULL;
	for (; at != NULL; at = strstr(at + length, word)) {
		if ((at == list || strchr(" ,", at[-1]) != NULL) &&
			strchr(" ,", at[length]) != NULL)
			return true; /* strchr() finds the end as well */
	}
	return false;
}

/** The first row of that name. */
static size_t
index_of(const char *name)
{
	size_t i = 0;
	while (i < all_count && strcmp(all[i].name, name) != 0)
		i++;
	return i;
}

static void
insert(size_t at, const struct option_row *row)
{
	assert(all_count < OPTIONS_MAX);
	for (size_t i = all_count; i > at; i--)
		all[i] = all[i - 1];
	all[at] = *row;
	all[at].source = row;
	all_count++;
}

/** Several actions may have the same table. */
static void
take_own(const struct option_row *row, uint32_t taker)
{
	for (size_t at = 0; row->name != NULL; row++) {
		size_t i = 0;
		while (i < all_count && all[i].source != row)
			i++;
		if (i == all_count) {
			i = row->before != NULL ? index_of(row->before) : at;
			insert(i, row);
		}
		all[i].takers |= taker;
		at = i + 1;
	}
}

/** A word that names no common option would be ignored. */
static bool
are_names(const char *list)
{
	for (; list != NULL && *list != '\0'; list += strspn(list, " ")) {
		size_t length = strcspn(list, " ");
		const struct option_row *row = common_options;
		while (row->name != NULL &&
			(strlen(row->name) != length || memcmp(row->name, list, length) != 0))
			row++;
		if (row->name == NULL)
			return false;
		list += length;
	}
	return true;
}

static uint32_t
takers_of(const struct option_row *row)
{
	uint32_t takers = 0;
	for (size_t i = 0; cmds[i] != NULL; i++) {
		if (row->is_for_all || options_has_word(cmds[i]->shares, row->name))
			takers |= UINT32_C(1) << i;
	}
	return takers;
}

const struct option_row *
option_table(void)
{
	if (all_count > 0)
		return all;
	for (const struct option_row *row = common_options; row->name != NULL; row++) {
		insert(all_count, row);
		all[all_count - 1].takers = takers_of(row);
	}
	for (size_t i = 0; cmds[i] != NULL; i++) {
		assert(are_names(cmds[i]->shares) && are_names(cmds[i]->rejects) &&
			are_names(cmds[i]->writes));
		for (size_t k = 0; k < OWN_TABLES && cmds[i]->own[k] != NULL; k++)
			take_own(cmds[i]->own[k], UINT32_C(1) << i);
	}
	return all;
}

bool
option_is_of(const struct option_row *row, const struct cmd *cmd)
{
	size_t i = 0;
	while (cmd != NULL && cmds[i] != cmd)
		i++;
	return cmd == NULL || (row->takers >> i & 1) != 0;
}

const char *
option_takers(char text[TAKERS_SIZE], const struct option_row *row)
{
	text[0] = '\0';
	for (size_t i = 0; cmds[i] != NULL; i++) {
		if (row != NULL ? option_is_of(row, cmds[i]) : cmds[i]->has_workload)
			options_add_word(text, TAKERS_SIZE, "", cmds[i]->name);
	}
	return text;
}

bool
option_is_written(const struct option_row *row, const struct cmd *cmd)
{
	return option_is_of(row, cmd) &&
		(row->is_output || options_has_word(cmd->writes, row->name));
}

bool
option_is_rejected(const struct option_row *row, const struct cmd *cmd)
{
	return (row->decides && cmd->measures) || options_has_word(cmd->rejects, row->name);
}

void *
option_field(const struct options *options, const struct option_row *row)
{
	return row->into != NULL ? row->into : (char *)options + row->offset;
}
