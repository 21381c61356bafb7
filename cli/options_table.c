/* SPDX-License-Identifier: BSD-2-Clause */
#include "options.h"

#include <mininb/mininb.h>

#include "cmd.h"

#define FIELD(name) .offset = offsetof(struct options, name)
#define RUNS (ACTION_BIT(ACTION_PUT) | ACTION_BIT(ACTION_GET) | ACTION_BIT(ACTION_DELETE))
#define WRITES (ACTION_BIT(ACTION_PUT) | ACTION_BIT(ACTION_DELETE))
#define VALUES (ACTION_BIT(ACTION_PUT) | ACTION_BIT(ACTION_GET))
#define REPLAYS ACTION_BIT(ACTION_REPLAY)
#define CONVERTS ACTION_BIT(ACTION_CONVERT)
#define RUN ACTION_BIT(ACTION_RUN)
#define JOBS (ACTION_BIT(ACTION_LOAD) | RUN | REPLAYS)
#define VS ACTION_BIT(ACTION_VS)
#define OPENS (RUNS | JOBS | VS)
#define GATES ACTION_BIT(ACTION_GATE)
#define COMPARES (ACTION_BIT(ACTION_COMPARE) | VS | GATES)
#define REPORTS (ACTION_BIT(ACTION_REPORT) | ACTION_BIT(ACTION_MERGE))
#define RESULTS (OPENS | REPORTS)
#define FILES (RUNS | ACTION_BIT(ACTION_KEYS) | ACTION_BIT(ACTION_SHUFFLE))
#define FILE_MAKERS (ACTION_BIT(ACTION_KEYS) | ACTION_BIT(ACTION_SHUFFLE))
#define CHECKS ACTION_BIT(ACTION_CHECK)
#define CRASHES ACTION_BIT(ACTION_CRASH)
#define SEEDS \
	(ACTION_BIT(ACTION_KEYS) | ACTION_BIT(ACTION_PUT) | ACTION_BIT(ACTION_SHUFFLE) | \
		CHECKS | CRASHES)
#define MEASURES (OPENS | COMPARES | CHECKS | CRASHES)
#define ALL (ACTION_BIT(ACTION_COUNT) - 1)

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
const struct option_row option_table[] = {
	{.name = "action", .letter = 'a', .arg = "ACTION", .type = OPTION_ACTION,
		.group = GROUP_DATA, .actions = ALL, FIELD(action),
		.help = "what to do; may also be the first word"},
	{.name = "keys", .letter = 'i', .arg = "FILE", .type = OPTION_TEXT, .def = "keys.bin",
		.group = GROUP_DATA, .actions = FILES | JOB_ACTIONS, .words = WORDS_FILE,
		.job_key = "keys", .writers = ACTION_BIT(ACTION_KEYS), FIELD(keys),
		.help = "key file: keys of LEN bytes each, without separators"},
	{.name = "count", .letter = 'c', .arg = "COUNT", .type = OPTION_COUNT, .def = "100000",
		.min = 1, .max = INT64_MAX, .group = GROUP_DATA, .actions = FILES | JOB_ACTIONS,
		.job_key = "count", FIELD(count),
		.help = "number of operations; each takes the next key of the file",
		.detail = "With a workload: the operations of each group. It overrides the workload's count."},
	{.name = "klen", .letter = 'k', .arg = "LEN", .type = OPTION_BYTES, .def = "16",
		.min = 1, .max = NB_KEY_SIZE_MAX, .group = GROUP_DATA, .actions = FILES | JOB_ACTIONS,
		.job_key = "key-size", FIELD(key_size), .help = "bytes of a key"},
	{.name = "vlen", .letter = 'v', .arg = "LEN", .type = OPTION_BYTES, .def = "100",
		.max = NB_VALUE_SIZE_MAX, .group = GROUP_DATA, .actions = VALUES | JOB_ACTIONS,
		.job_key = "value-size", FIELD(value_size), .help = "bytes of a value"},
	{.name = "value-ratio", .arg = "RATIO", .type = OPTION_REAL, .def = "0.5", .max = 1,
		.group = GROUP_DATA, .actions = ACTION_BIT(ACTION_PUT) | JOB_ACTIONS,
		.job_key = "value-ratio", FIELD(value_ratio),
		.help = "size of a value after ideal compression, over its size; 1: incompressible"},
	{.name = "seed", .arg = "NUMBER", .type = OPTION_COUNT, .def = "1", .max = UINT64_MAX,
		.group = GROUP_DATA, .actions = SEEDS | JOB_ACTIONS, .job_key = "seed", FIELD(seed),
		.help = "seed of all random choices; the same seed gives the same data"},
	{.name = "force", .type = OPTION_FLAG, .group = GROUP_DATA,
		.actions = RUNS | JOBS | FILE_MAKERS | CONVERTS | REPORTS,
		FIELD(is_forced), .help = "also write or replace files that mininb did not make",
		.detail = "Without it, mininb neither removes nor writes an existing database or file "
			  "that it did not make, and does not use a database whose load is "
			  "unfinished."},

	{.name = "workload", .letter = 'w', .arg = "NAME", .type = OPTION_TEXT,
		.group = GROUP_WORKLOAD, .actions = ACTION_BIT(ACTION_LOAD) | RUN | VS, .decides = MEASURES,
		.words = WORDS_WORKLOAD, FIELD(workload),
		.help = "name of the workload; with a '/' or .ini at its end, a file",
		.detail = "Without it the run has one group, and options must set its mix."},
	{.name = "set", .arg = "KEY=VALUE", .type = OPTION_SET, .group = GROUP_WORKLOAD,
		.actions = JOB_ACTIONS, .decides = MEASURES,
		.help = "set a key, or GROUP.KEY for one group; repeatable",
		.detail = "The same as the option of that name."},

	{.name = "from", .arg = "FILE", .type = OPTION_TEXT, .group = GROUP_TRACE,
		.actions = CONVERTS, .decides = MEASURES, .words = WORDS_FILE, FIELD(from),
		.help = "trace to read; '-': standard input; workload:NAME: from a workload",
		.detail = "From a workload, convert writes the phase that --phase names. Options "
			  "set keys of the workload."},
	{.name = "to", .arg = "FILE", .type = OPTION_TEXT, .group = GROUP_TRACE,
		.actions = CONVERTS, .words = WORDS_FILE, .writers = CONVERTS, FIELD(to),
		.help = "trace to write; '-': standard output"},
	{.name = "from-format", .arg = "FORMAT", .type = OPTION_CHOICE, .def = "auto",
		.choices = "auto|ycsb-text|ycsb-log|u64|keys|rocksdb|cache-csv|mininb",
		.group = GROUP_TRACE, .actions = CONVERTS, FIELD(from_format),
		.help = "format of the input",
		.detail = "auto recognises the format by the content of the file. Files of bare keys "
			  "are recognised by name: .u64 is u64, and .keys or keys.bin is keys."},
	{.name = "to-format", .arg = "FORMAT", .type = OPTION_CHOICE, .def = "mininb",
		.choices = "ycsb-text|ycsb-log|u64|keys|cache-csv|mininb",
		.group = GROUP_TRACE, .actions = CONVERTS, FIELD(to_format),
		.help = "format of the output"},
	{.name = "phase", .arg = "PHASE", .type = OPTION_CHOICE, .def = "run",
		.choices = "load|run", .group = GROUP_TRACE, .actions = CONVERTS, .decides = MEASURES, FIELD(phase),
		.help = "phase of the workload to write"},
	{.name = "load", .arg = "FILE", .type = OPTION_TEXT, .group = GROUP_TRACE,
		.actions = REPLAYS | VS, .decides = MEASURES, .words = WORDS_FILE, FIELD(load),
		.help = "trace that loads the database, before --trace"},
	{.name = "trace", .arg = "FILE", .type = OPTION_TEXT, .group = GROUP_TRACE,
		.actions = REPLAYS | VS, .decides = MEASURES, .words = WORDS_FILE, FIELD(trace),
		.help = "trace to replay"},
	{.name = "speed", .arg = "FACTOR", .type = OPTION_SPEED, .group = GROUP_TRACE,
		.actions = REPLAYS | VS, .decides = MEASURES, FIELD(speed),
		.help = "replay at the recorded times, FACTOR times as fast: 1x, 2x, 0.5x",
		.detail = "Without it and without --rate, the replay runs at full speed."},
	{.name = "key-bytes", .arg = "ORDER", .type = OPTION_CHOICE, .def = "big",
		.choices = "big|little|text", .group = GROUP_TRACE, .actions = CONVERTS | REPLAYS | VS, .decides = MEASURES,
		FIELD(key_bytes), .help = "how the numbers of u64, ycsb-text and ycsb-log become keys",
		.detail = "big: 8 bytes, which sort like the numbers; little: the same bytes in "
			  "reverse; text: in ycsb-log, the key as it is written there."},
	{.name = "bare-as", .arg = "KIND", .type = OPTION_CHOICE, .def = "read",
		.choices = "read|update|insert|delete", .group = GROUP_TRACE,
		.actions = CONVERTS, .decides = MEASURES, FIELD(bare_kind),
		.help = "kind of operation for bare keys, if the output needs one",
		.detail = "replay takes the kinds from the mix instead: --read=95 --update=5."},
	{.name = "skip-bad", .type = OPTION_FLAG, .group = GROUP_TRACE,
		.actions = CONVERTS | REPLAYS | VS, .decides = MEASURES, FIELD(skips_bad),
		.help = "count damaged lines and continue"},

	{.name = "driver", .letter = 'd', .arg = "NAME", .type = OPTION_TEXT, .def = "leveldb",
		.group = GROUP_ENGINE, .actions = OPENS | CHECKS | CRASHES | ACTION_BIT(ACTION_ENGINES),
		.words = WORDS_DRIVER, FIELD(driver),
		.help = "engine; with a '/', the file of its plugin; a,b,c: several engines",
		.detail = "Several engines run one after the other, each in its own process. If one "
			  "crashes or hangs, only its own run is lost. A table at the end shows "
			  "all of them. put then needs empty databases, or --fresh. vs also "
			  "accepts the same engine twice and labels it leveldb#1 and leveldb#2. "
			  "Two builds of one engine, ./old/x.so,./new/x.so, share a database: vs "
			  "compares them; of the other actions, only get accepts them."},
	{.name = "path", .letter = 'p', .arg = "DIR", .type = OPTION_TEXT, .def = "./nb",
		.group = GROUP_ENGINE, .actions = OPENS | CHECKS | CRASHES, .words = WORDS_DIRECTORY, FIELD(path),
		.help = "directory of the databases; that of an engine is DIR/NAME"},
	{.name = "fresh", .type = OPTION_FLAG, .group = GROUP_ENGINE,
		.actions = ACTION_BIT(ACTION_PUT) | ACTION_BIT(ACTION_LOAD) | REPLAYS,
		.decides = ACTION_BIT(ACTION_GET) | ACTION_BIT(ACTION_DELETE) | RUN,
		FIELD(is_fresh),
		.help = "first remove the engine's database, if mininb made it"},
	{.name = "option", .letter = 'o', .arg = "NAME=VALUE", .type = OPTION_LIST,
		.group = GROUP_ENGINE, .actions = OPENS | CHECKS | CRASHES,
		.help = "set an option of the engine; repeatable",
		.detail = "With several engines, ENGINE.NAME=VALUE sets an option of one of them. If "
			  "vs compares an engine with itself, leveldb.NAME=VALUE is for both, and "
			  "leveldb#2.NAME=VALUE for the second."},
	{.name = "durability", .arg = "LEVEL", .type = OPTION_CHOICE, .def = "auto",
		.choices = "auto|none|process|periodic|commit", .group = GROUP_ENGINE,
		.actions = OPENS | CRASHES, FIELD(durability),
		.help = "which writes must survive a crash",
		.detail = "See DURABILITY. crash tests this level; without it, each level that an "
			  "engine offers."},
	{.name = "cache", .arg = "SIZE", .type = OPTION_BYTES, .min = 1, .max = INT64_MAX,
		.group = GROUP_ENGINE, .actions = OPENS, FIELD(cache_bytes),
		.help = "size of the engine's cache, instead of its own default"},

	{.name = "threads", .letter = 't', .arg = "COUNT", .type = OPTION_COUNT, .def = "1",
		.min = 1, .max = 1024, .group = GROUP_MEASURE, .actions = RUNS | JOB_ACTIONS | CRASHES,
		.job_key = "threads", FIELD(threads),
		.help = "worker threads that share the operations"},
	{.name = "procs", .arg = "COUNT", .type = OPTION_COUNT, .def = "1", .min = 1, .max = 256,
		.group = GROUP_MEASURE, .actions = RUN | VS, .decides = MEASURES, FIELD(procs),
		.help = "processes that open the database together; each runs --threads threads"},
	{.name = "record", .arg = "FILE", .type = OPTION_TEXT, .group = GROUP_TRACE,
		.actions = ACTION_BIT(ACTION_LOAD) | RUN, .words = WORDS_FILE, .writers = ACTION_BIT(ACTION_LOAD) | RUN, FIELD(record),
		.help = "record the operations as a trace, with their due times"},
	{.name = "interval", .arg = "TIME", .type = OPTION_TIME, .group = GROUP_MEASURE,
		.actions = JOBS, FIELD(interval_ns),
		.help = "print a status line every TIME"},
	{.name = "sample", .arg = "TIME", .type = OPTION_TIME, .group = GROUP_MEASURE,
		.actions = OPENS, FIELD(sample_ns),
		.help = "sample latencies and the system every TIME; 0s: never",
		.detail = "The result file contains the samples. The default is one sample a second, "
			  "and five a second in the first ten seconds."},
	{.name = "hardware", .type = OPTION_FLAG, .group = GROUP_MEASURE, .actions = OPENS,
		FIELD(has_hardware), .help = "count cycles, instructions and cache misses also in a virtual machine",
		.detail = "On real hardware mininb always counts them. Under a hypervisor, counting makes "
			  "each switch between threads slower and costs some percent of speed."},
	{.name = "until-steady", .arg = "WINDOW", .type = OPTION_TEXT, .group = GROUP_MEASURE,
		.actions = RUN | REPLAYS | VS, .decides = MEASURES, FIELD(steady),
		.help = "end when the throughput is steady: 10s, or 10s,slope:5%,band:10%",
		.detail = "The throughput is steady if, over the window, the line of least squares "
			  "changes by at most the slope, and each tenth of the window is within the "
			  "band around the mean. The run ends at the workload's own bound at the "
			  "latest."},
	{.name = "sweep", .type = OPTION_FLAG, .group = GROUP_MEASURE, .actions = RUN, .decides = MEASURES,
		FIELD(is_sweep),
		.help = "measure the capacity, then the latency at 10 to 95 % of it"},
	{.name = "slo", .arg = "LIMIT", .type = OPTION_TEXT, .group = GROUP_MEASURE,
		.actions = RUN, .decides = MEASURES, FIELD(slo),
		.help = "find the highest rate that keeps a limit: p99<1ms, p99.9<500us, max<10ms"},
	{.name = "pin", .type = OPTION_FLAG, .group = GROUP_MEASURE, .actions = OPENS,
		FIELD(is_pinned), .help = "pin each worker to its own CPU"},
	{.name = "clock", .arg = "CLOCK", .type = OPTION_CHOICE, .def = "auto",
		.choices = "auto|tsc|monotonic", .group = GROUP_MEASURE, .actions = OPENS,
		FIELD(clock), .help = "clock source for timestamps",
		.detail = "auto uses the time stamp counter (tsc) if it is reliable. mininb refuses tsc if it "
			  "is not."},
	{.name = "settle", .arg = "HOW", .type = OPTION_CHOICE, .def = "compact",
		.choices = "none|flush|compact", .group = GROUP_MEASURE, .actions = WRITES | JOBS | VS,
		FIELD(settle), .help = "what the engine completes after the last write",
		.detail = "flush: it writes its memory out; compact: it also does the work that it "
			  "has postponed. mininb times this apart from the operations."},
	{.name = "verify-rate", .arg = "SHARE", .type = OPTION_REAL, .def = "0.01", .max = 1,
		.group = GROUP_MEASURE, .actions = OPENS, FIELD(verify_rate),
		.help = "share of the operations whose data mininb verifies"},
	{.name = "op-timeout", .arg = "TIME", .type = OPTION_TIME, .def = "10m",
		.group = GROUP_MEASURE, .actions = OPENS, FIELD(op_timeout_ns),
		.help = "end the run if a call of the engine takes longer than this; 0s: never",
		.detail = "mininb reports what it measured as partial. It leaves the engine where it is "
			  "and does not close the database. The limit is for each operation, and for "
			  "opening, settling and closing; without the option, these three may take "
			  "10 hours. Waiting for an operation to be due does not count."},
	{.name = "hang-after", .arg = "TIME", .type = OPTION_TIME, .def = "15m",
		.group = GROUP_MEASURE, .actions = OPENS | CHECKS | CRASHES, FIELD(hang_after_ns),
		.help = "kill an engine that makes no progress for TIME, if several run (check, "
			"crash: any engine, default 1m); 0s: never",
		.detail = "For engines that --op-timeout cannot end: mininb kills the whole process "
			  "of the engine, and its figures are lost. Opening, settling and closing may "
			  "take six times as long, because their progress is not visible. With a single "
			  "engine this applies only if you give the option. check applies it to each "
			  "promise, and crash to each recovery."},
	{.name = "cold", .type = OPTION_FLAG, .group = GROUP_MEASURE, .actions = OPENS,
		FIELD(is_cold), .help = "remove the database from the page cache before opening it",
		.detail = "As root, mininb drops all caches of the kernel; otherwise it evicts the files "
			  "of the database. The result contains how much of the database was in memory "
			  "when the first operation began."},
	{.name = "allow-missing", .type = OPTION_FLAG, .group = GROUP_MEASURE,
		.actions = ACTION_BIT(ACTION_GET) | ACTION_BIT(ACTION_DELETE) | RUN | REPLAYS | VS,
		FIELD(allows_missing), .help = "do not fail if a key is missing"},

	{.name = "runs", .arg = "COUNT", .type = OPTION_COUNT, .min = 1, .max = 10000,
		.group = GROUP_COMPARE, .actions = VS, .decides = MEASURES, FIELD(runs),
		.help = "repetitions of each engine, regardless of --precision"},
	{.name = "precision", .arg = "SHARE", .type = OPTION_TEXT, .def = "5%",
		.group = GROUP_COMPARE, .actions = VS, .decides = MEASURES, FIELD(precision),
		.help = "stop when the ratio of throughputs is known to this precision",
		.detail = "The distance from the ratio to the ends of its interval. Stopping at the "
			  "first round that is precise enough weakens the intervals a little: those of "
			  "95 % are of about 93 %. With --runs, vs does not stop early."},
	{.name = "budget", .arg = "TIME", .type = OPTION_TIME, .def = "10m",
		.group = GROUP_COMPARE, .actions = VS, .decides = MEASURES, FIELD(budget_ns),
		.help = "begin no new round after TIME"},
	{.name = "max-regress", .arg = "LIMITS", .type = OPTION_TEXT, .group = GROUP_COMPARE,
		.actions = GATES, .decides = MEASURES, FIELD(max_regress),
		.help = "how much each figure may get worse: p99:5%,throughput:3%",
		.detail = "Figures are throughput, settled, p50, p90, p99, p99.9 and p99.99; read.p99 "
			  "is that of one kind of operation. The result must have all figures named."},
	{.name = "confidence", .arg = "SHARE", .type = OPTION_REAL, .def = "0.95", .max = 1,
		.group = GROUP_COMPARE, .actions = COMPARES, FIELD(confidence),
		.help = "confidence level of intervals and verdicts",
		.detail = "The default for a file of vs is the confidence that vs was run with."},
	{.name = "force", .type = OPTION_FLAG, .group = GROUP_COMPARE, .actions = COMPARES,
		FIELD(is_forced), .help = "compare results that are not comparable, and print the reason",
		.detail = "vs then also replaces files that mininb did not make."},

	{.name = "only", .arg = "TEXT", .type = OPTION_TEXT, .group = GROUP_MEASURE,
		.actions = CHECKS, .decides = MEASURES, FIELD(only),
		.help = "test only promises with TEXT in their name; a space matches '_'"},

	{.name = "rounds", .arg = "COUNT", .type = OPTION_COUNT, .def = "100", .min = 1,
		.max = 1000000, .group = GROUP_CRASH, .actions = CRASHES, .decides = MEASURES, FIELD(rounds),
		.help = "crashes of each engine and level; with --power, recordings",
		.detail = "The default with --power is 6 recordings, with --states states each."},
	{.name = "ops", .arg = "COUNT", .type = OPTION_COUNT, .min = 1, .max = 1000000,
		.group = GROUP_CRASH, .actions = CRASHES, .decides = MEASURES, FIELD(ops),
		.help = "maximum number of operations before a crash",
		.detail = "Each round draws its number at random; each power of ten is equally likely. "
			  "The default is 10000, with --power 300. At commit the maximum is 1000 if the "
			  "moment is counted, and 100 before a close."},
	{.name = "moment", .arg = "KIND", .type = OPTION_CHOICE, .def = "both",
		.choices = "both|timed|counted", .group = GROUP_CRASH, .actions = CRASHES, .decides = MEASURES,
		FIELD(moment), .help = "how the moment of a kill is chosen",
		.detail = "timed: a time after an operation; counted: a number of system calls and "
			  "instructions, which the seed repeats (ptrace, one session); both: "
			  "eight crashes of each in turn."},
	{.name = "keep", .arg = "DIR", .type = OPTION_TEXT, .def = "./mininb-crash",
		.group = GROUP_CRASH, .actions = CRASHES, .words = WORDS_DIRECTORY, FIELD(keep),
		.help = "directory for databases that show a failure; made if needed"},
	{.name = "again", .arg = "DIR", .type = OPTION_TEXT, .group = GROUP_CRASH,
		.actions = CRASHES, .decides = MEASURES, .words = WORDS_DIRECTORY, FIELD(again),
		.help = "check the database that was kept in DIR again"},
	{.name = "power", .type = OPTION_FLAG, .group = GROUP_CRASH, .actions = CRASHES, .decides = MEASURES,
		FIELD(is_power), .help = "simulate power failures instead of killing the process"},
	{.name = "file-system", .arg = "KIND", .type = OPTION_CHOICE, .def = "journalled",
		.choices = "journalled|posix", .group = GROUP_CRASH, .actions = CRASHES, .decides = MEASURES,
		FIELD(file_system), .help = "with --power: how the file system keeps names and sizes of files",
		.detail = "journalled: changes survive in their order, as on ext4 and XFS; posix: only "
			  "synced changes survive, and names only if their directory was synced."},
	{.name = "states", .arg = "COUNT", .type = OPTION_COUNT, .def = "50", .min = 1,
		.max = 100000, .group = GROUP_CRASH, .actions = CRASHES, .decides = MEASURES, FIELD(states),
		.help = "with --power: states to test from each recording"},

	{.name = "report-interval", .letter = 'r', .arg = "COUNT", .type = OPTION_COUNT,
		.def = "10000", .max = INT64_MAX, .group = GROUP_OUTPUT, .actions = FILES | JOBS | CONVERTS,
		FIELD(report_interval), .help = "operations between two updates of the progress line; 0: none"},
	{.name = "output", .letter = 'o', .arg = "FILE", .type = OPTION_TEXT, .group = GROUP_OUTPUT,
		.actions = RESULTS | CRASHES, .words = WORDS_FILE, .writers = RESULTS | CRASHES, FIELD(output),
		.help = "write the whole result to FILE as JSON; '-': to stdout, not the report",
		.detail = "report, compare, merge, gate and rerun read this file. Its schema is installed "
			  "beside the workloads. With report, and only there, -o is short for it and "
			  "names the file of the report."},
	{.name = "hlog", .arg = "FILE", .type = OPTION_TEXT, .group = GROUP_OUTPUT,
		.actions = RESULTS, .words = WORDS_FILE, .writers = RESULTS, FIELD(hlog),
		.help = "write an HdrHistogram log, with a tag for each kind of operation"},
	{.name = "csv", .arg = "PREFIX", .type = OPTION_TEXT, .group = GROUP_OUTPUT,
		.actions = RESULTS, .words = WORDS_FILE, .writers = RESULTS, FIELD(csv),
		.help = "write tables PREFIX-operations.csv, -series, -latency and -counters"},
	{.name = "notebook", .arg = "FILE", .type = OPTION_TEXT, .group = GROUP_OUTPUT,
		.actions = RESULTS, .words = WORDS_FILE, .writers = RESULTS, FIELD(notebook),
		.help = "append the run to a notebook of experiments, in Masstree's format"},
	{.name = "strict", .type = OPTION_FLAG, .group = GROUP_OUTPUT, .actions = OPENS,
		FIELD(is_strict), .help = "exit with status 4 if the result has notes"},
	{.name = "allow", .arg = "NOTES", .type = OPTION_TEXT, .group = GROUP_OUTPUT,
		.actions = OPENS, FIELD(allowed),
		.help = "names of notes that --strict ignores: closed-loop,one-run"},
	{.name = "fold", .type = OPTION_FLAG, .group = GROUP_OUTPUT, .actions = RUNS | REPORTS,
		FIELD(is_folded), .help = "print one histogram row for all times below a microsecond"},
	{.name = "format", .arg = "FORMAT", .type = OPTION_CHOICE, .def = "text",
		.choices = "text|tap|auto|ycsb-text|ycsb-log|u64|keys|rocksdb|cache-csv|mininb",
		.group = GROUP_OUTPUT, .actions = CHECKS | REPLAYS | VS, FIELD(format),
		.help = "format of the list of promises, or of the trace",
		.detail = "check: text, or tap, the Test Anything Protocol for test harnesses. replay "
			  "and vs: the format of the traces; the default is to recognise it."},
	{.name = "format", .arg = "FORMAT", .type = OPTION_CHOICE, .def = "text",
		.choices = "text|md|csv|json|hgrm|hlog|gnuplot|candlestick|html",
		.group = GROUP_OUTPUT, .actions = REPORTS, FIELD(report_format),
		.help = "format of the report"},
	{.name = "format", .arg = "FORMAT", .type = OPTION_CHOICE, .def = "text",
		.choices = "text|md|json", .group = GROUP_OUTPUT,
		.actions = ACTION_BIT(ACTION_COMPARE), FIELD(compare_format),
		.help = "format of the comparison"},
	{.name = "quiet", .type = OPTION_FLAG, .group = GROUP_OUTPUT, .actions = FILES | JOBS | CONVERTS | VS | CRASHES,
		FIELD(is_quiet), .help = "print no progress and no remarks, only warnings and errors"},
	{.name = "version", .type = OPTION_FLAG, .group = GROUP_OUTPUT, .actions = ALL,
		FIELD(wants_version), .help = "print the version"},
	{.name = "help", .letter = 'h', .type = OPTION_HELP, .choices = "scdoc|scdoc-workload|bash|zsh",
		.group = GROUP_OUTPUT, .actions = ALL, FIELD(help),
		.help = "print this text, a manual page for scdoc, or completion for a shell"},
	{.name = NULL},
};
/* clang-format on */
