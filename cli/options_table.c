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
		.help = "file of keys, LEN bytes each with nothing between them"},
	{.name = "count", .letter = 'c', .arg = "COUNT", .type = OPTION_COUNT, .def = "100000",
		.min = 1, .max = INT64_MAX, .group = GROUP_DATA, .actions = FILES | JOB_ACTIONS,
		.job_key = "count", FIELD(count),
		.help = "operations, each with the next key of the file",
		.detail = "Of a workload: operations of each group, if not what the workload says."},
	{.name = "klen", .letter = 'k', .arg = "LEN", .type = OPTION_BYTES, .def = "16",
		.min = 1, .max = NB_KEY_SIZE_MAX, .group = GROUP_DATA, .actions = FILES | JOB_ACTIONS,
		.job_key = "key-size", FIELD(key_size), .help = "bytes of a key"},
	{.name = "vlen", .letter = 'v', .arg = "LEN", .type = OPTION_BYTES, .def = "100",
		.max = NB_VALUE_SIZE_MAX, .group = GROUP_DATA, .actions = VALUES | JOB_ACTIONS,
		.job_key = "value-size", FIELD(value_size), .help = "bytes of a value"},
	{.name = "value-ratio", .arg = "RATIO", .type = OPTION_REAL, .def = "0.5", .max = 1,
		.group = GROUP_DATA, .actions = ACTION_BIT(ACTION_PUT) | JOB_ACTIONS,
		.job_key = "value-ratio", FIELD(value_ratio),
		.help = "what an ideal compression would leave of a value; 1: nothing to gain"},
	{.name = "seed", .arg = "NUMBER", .type = OPTION_COUNT, .def = "1", .max = UINT64_MAX,
		.group = GROUP_DATA, .actions = SEEDS | JOB_ACTIONS, .job_key = "seed", FIELD(seed),
		.help = "start of all that is random; the same seed, the same data"},
	{.name = "force", .type = OPTION_FLAG, .group = GROUP_DATA,
		.actions = RUNS | JOBS | FILE_MAKERS | CONVERTS | REPORTS,
		FIELD(is_forced), .help = "write also what mininb did not make",
		.detail = "Otherwise a database or a file that is there and was not made by mininb "
			  "is neither removed nor written, and a database whose load is unfinished "
			  "is not used."},

	{.name = "workload", .letter = 'w', .arg = "NAME", .type = OPTION_TEXT,
		.group = GROUP_WORKLOAD, .actions = ACTION_BIT(ACTION_LOAD) | RUN | VS, .decides = MEASURES,
		.words = WORDS_WORKLOAD, FIELD(workload),
		.help = "the workload, or with a '/' or .ini at its end a file of one",
		.detail = "Without it there is one group, of which a mix has to be given."},
	{.name = "set", .arg = "KEY=VALUE", .type = OPTION_SET, .group = GROUP_WORKLOAD,
		.actions = JOB_ACTIONS, .decides = MEASURES,
		.help = "set a key, or GROUP.KEY of one group; as often as needed",
		.detail = "It is the same as an option of that name."},

	{.name = "from", .arg = "FILE", .type = OPTION_TEXT, .group = GROUP_TRACE,
		.actions = CONVERTS, .decides = MEASURES, .words = WORDS_FILE, FIELD(from),
		.help = "trace to read; '-': standard input; workload:NAME: make it",
		.detail = "Of a workload, what --phase says is written, with the keys that are "
			  "given as options set in it."},
	{.name = "to", .arg = "FILE", .type = OPTION_TEXT, .group = GROUP_TRACE,
		.actions = CONVERTS, .words = WORDS_FILE, .writers = CONVERTS, FIELD(to),
		.help = "trace to write; '-': standard output"},
	{.name = "from-format", .arg = "FORMAT", .type = OPTION_CHOICE, .def = "auto",
		.choices = "auto|ycsb-text|ycsb-log|u64|keys|rocksdb|cache-csv|mininb",
		.group = GROUP_TRACE, .actions = CONVERTS, FIELD(from_format),
		.help = "what is read",
		.detail = "auto looks at the file. Bare keys tell nothing: u64 is taken from a "
			  "name that ends in .u64, keys from .keys or keys.bin."},
	{.name = "to-format", .arg = "FORMAT", .type = OPTION_CHOICE, .def = "mininb",
		.choices = "ycsb-text|ycsb-log|u64|keys|cache-csv|mininb",
		.group = GROUP_TRACE, .actions = CONVERTS, FIELD(to_format),
		.help = "what is written"},
	{.name = "phase", .arg = "PHASE", .type = OPTION_CHOICE, .def = "run",
		.choices = "load|run", .group = GROUP_TRACE, .actions = CONVERTS, .decides = MEASURES, FIELD(phase),
		.help = "what of a workload is written: its loading, or its run"},
	{.name = "load", .arg = "FILE", .type = OPTION_TEXT, .group = GROUP_TRACE,
		.actions = REPLAYS | VS, .decides = MEASURES, .words = WORDS_FILE, FIELD(load),
		.help = "trace that makes the database, before --trace"},
	{.name = "trace", .arg = "FILE", .type = OPTION_TEXT, .group = GROUP_TRACE,
		.actions = REPLAYS | VS, .decides = MEASURES, .words = WORDS_FILE, FIELD(trace),
		.help = "trace to do"},
	{.name = "speed", .arg = "FACTOR", .type = OPTION_SPEED, .group = GROUP_TRACE,
		.actions = REPLAYS | VS, .decides = MEASURES, FIELD(speed),
		.help = "honour the times of the trace, so much faster: 1x, 2x, 0.5x",
		.detail = "Without it, and without --rate, as fast as it goes."},
	{.name = "key-bytes", .arg = "ORDER", .type = OPTION_CHOICE, .def = "big",
		.choices = "big|little|text", .group = GROUP_TRACE, .actions = CONVERTS | REPLAYS | VS, .decides = MEASURES,
		FIELD(key_bytes), .help = "how numbers of u64, ycsb-text and ycsb-log are keys",
		.detail = "big: 8 bytes, so that their order is that of the numbers; little: the "
			  "other way around; text: in ycsb-log, the key as it stands there."},
	{.name = "bare-as", .arg = "KIND", .type = OPTION_CHOICE, .def = "read",
		.choices = "read|update|insert|delete", .group = GROUP_TRACE,
		.actions = CONVERTS, .decides = MEASURES, FIELD(bare_kind),
		.help = "what bare keys are written as, where a kind is needed",
		.detail = "replay takes it from the mix: --read=95 --update=5."},
	{.name = "skip-bad", .type = OPTION_FLAG, .group = GROUP_TRACE,
		.actions = CONVERTS | REPLAYS | VS, .decides = MEASURES, FIELD(skips_bad),
		.help = "count lines that are damaged, and go on"},

	{.name = "driver", .letter = 'd', .arg = "NAME", .type = OPTION_TEXT, .def = "leveldb",
		.group = GROUP_ENGINE, .actions = OPENS | CHECKS | CRASHES | ACTION_BIT(ACTION_ENGINES),
		.words = WORDS_DRIVER, FIELD(driver),
		.help = "the engine, or with a '/' the file of its plugin; a,b,c: each of these",
		.detail = "Several engines run one after the other, each in a process of its own; "
			  "one that crashes or hangs costs its own run, and a table at the end has "
			  "them side by side. A put then asks that none of them holds data, or "
			  "for --fresh. vs also takes one engine twice: its labels in tables are "
			  "then leveldb#1 and leveldb#2. Two builds, ./old/x.so,./new/x.so, have "
			  "one database: vs compares them, and only get takes them otherwise."},
	{.name = "path", .letter = 'p', .arg = "DIR", .type = OPTION_TEXT, .def = "./nb",
		.group = GROUP_ENGINE, .actions = OPENS | CHECKS | CRASHES, .words = WORDS_DIRECTORY, FIELD(path),
		.help = "where databases are; the engine's own is DIR/NAME, made if missing"},
	{.name = "fresh", .type = OPTION_FLAG, .group = GROUP_ENGINE,
		.actions = ACTION_BIT(ACTION_PUT) | ACTION_BIT(ACTION_LOAD) | REPLAYS,
		.decides = ACTION_BIT(ACTION_GET) | ACTION_BIT(ACTION_DELETE) | RUN,
		FIELD(is_fresh),
		.help = "remove the engine's database first, if mininb made it"},
	{.name = "option", .letter = 'o', .arg = "NAME=VALUE", .type = OPTION_LIST,
		.group = GROUP_ENGINE, .actions = OPENS | CHECKS | CRASHES,
		.help = "an option of the engine's; as often as needed",
		.detail = "With several engines ENGINE.NAME=VALUE is for one of them. Of an engine "
			  "that vs compares with itself leveldb.NAME=VALUE is for both, and "
			  "leveldb#2.NAME=VALUE for the second."},
	{.name = "durability", .arg = "LEVEL", .type = OPTION_CHOICE, .def = "auto",
		.choices = "auto|none|process|periodic|commit", .group = GROUP_ENGINE,
		.actions = OPENS | CRASHES, FIELD(durability),
		.help = "what a crash may take of the writes", 
		.detail = "See DURABILITY. crash tries each level that an engine offers, or this one."},
	{.name = "cache", .arg = "SIZE", .type = OPTION_BYTES, .min = 1, .max = INT64_MAX,
		.group = GROUP_ENGINE, .actions = OPENS, FIELD(cache_bytes),
		.help = "what the engine may keep in memory, if not its own default"},

	{.name = "threads", .letter = 't', .arg = "COUNT", .type = OPTION_COUNT, .def = "1",
		.min = 1, .max = 1024, .group = GROUP_MEASURE, .actions = RUNS | JOB_ACTIONS | CRASHES,
		.job_key = "threads", FIELD(threads),
		.help = "workers that share the operations"},
	{.name = "procs", .arg = "COUNT", .type = OPTION_COUNT, .def = "1", .min = 1, .max = 256,
		.group = GROUP_MEASURE, .actions = RUN | VS, .decides = MEASURES, FIELD(procs),
		.help = "processes that have the database open at once, each with the threads"},
	{.name = "record", .arg = "FILE", .type = OPTION_TEXT, .group = GROUP_TRACE,
		.actions = ACTION_BIT(ACTION_LOAD) | RUN, .words = WORDS_FILE, .writers = ACTION_BIT(ACTION_LOAD) | RUN, FIELD(record),
		.help = "write what was done as a trace, with its due times"},
	{.name = "interval", .arg = "TIME", .type = OPTION_TIME, .group = GROUP_MEASURE,
		.actions = JOBS, FIELD(interval_ns),
		.help = "print a line of figures for each so much time"},
	{.name = "sample", .arg = "TIME", .type = OPTION_TIME, .group = GROUP_MEASURE,
		.actions = OPENS, FIELD(sample_ns),
		.help = "look at latencies and the system so often; 0s: never",
		.detail = "What is seen is a part of the result file. Without it, each second, and "
			  "in the first ten seconds five times as often."},
	{.name = "hardware", .type = OPTION_FLAG, .group = GROUP_MEASURE, .actions = OPENS,
		FIELD(has_hardware), .help = "count cycles and the like in a virtual machine, too",
		.detail = "Elsewhere they are counted anyway. Below a hypervisor each switch between "
			  "threads then costs more: some percent of what is measured."},
	{.name = "until-steady", .arg = "WINDOW", .type = OPTION_TEXT, .group = GROUP_MEASURE,
		.actions = RUN | REPLAYS | VS, .decides = MEASURES, FIELD(steady),
		.help = "end when the throughput is steady: 10s, or 10s,slope:5%,band:10%",
		.detail = "Steady is: over the window, the line of least squares changes by no more "
			  "than the slope, and no tenth of the window is off its mean by more than "
			  "the band. The workload's own bound ends it at the latest."},
	{.name = "sweep", .type = OPTION_FLAG, .group = GROUP_MEASURE, .actions = RUN, .decides = MEASURES,
		FIELD(is_sweep),
		.help = "find the capacity, then run at 10 to 95 % of it: latency over throughput"},
	{.name = "slo", .arg = "LIMIT", .type = OPTION_TEXT, .group = GROUP_MEASURE,
		.actions = RUN, .decides = MEASURES, FIELD(slo),
		.help = "find the highest rate that holds a limit: p99<1ms, p99.9<500us, max<10ms"},
	{.name = "pin", .type = OPTION_FLAG, .group = GROUP_MEASURE, .actions = OPENS,
		FIELD(is_pinned), .help = "keep each worker on a CPU of its own"},
	{.name = "clock", .arg = "CLOCK", .type = OPTION_CHOICE, .def = "auto",
		.choices = "auto|tsc|monotonic", .group = GROUP_MEASURE, .actions = OPENS,
		FIELD(clock), .help = "what takes the time",
		.detail = "auto is the time stamp counter where it can be trusted; tsc is refused where it "
			  "cannot."},
	{.name = "settle", .arg = "HOW", .type = OPTION_CHOICE, .def = "compact",
		.choices = "none|flush|compact", .group = GROUP_MEASURE, .actions = WRITES | JOBS | VS,
		FIELD(settle), .help = "how a run of writes ends",
		.detail = "flush: what is in memory is written out; compact: and the work that the "
			  "engine has put off is done. It is timed apart from the operations."},
	{.name = "verify-rate", .arg = "SHARE", .type = OPTION_REAL, .def = "0.01", .max = 1,
		.group = GROUP_MEASURE, .actions = OPENS, FIELD(verify_rate),
		.help = "share of the operations whose data is checked"},
	{.name = "op-timeout", .arg = "TIME", .type = OPTION_TIME, .def = "10m",
		.group = GROUP_MEASURE, .actions = OPENS, FIELD(op_timeout_ns),
		.help = "end the run if a call of the engine takes longer than this; 0s: never",
		.detail = "mininb reports what it measured as partial. It leaves the engine where it is "
			  "and does not close the database. The limit is for each operation, and for "
			  "opening, settling and closing; without the option, these three may take "
			  "10 hours. Waiting for an operation to be due does not count."},
	{.name = "hang-after", .arg = "TIME", .type = OPTION_TIME, .def = "15m",
		.group = GROUP_MEASURE, .actions = OPENS | CHECKS | CRASHES, FIELD(hang_after_ns),
		.help = "several engines: kill one that has done nothing for so long (check, "
			"crash: any, and without it after 1m); 0s: never",
		.detail = "This is done from outside, to the whole process of the engine, and nothing is left of "
			  "its figures: for what --op-timeout cannot end. "
			  "Opening, settling and closing, whose progress cannot be seen, may take six "
			  "times that. With a single engine that is so only if the option is given. check "
			  "ends a promise after so long, and crash a recovery; without the option after a "
			  "minute."},
	{.name = "cold", .type = OPTION_FLAG, .group = GROUP_MEASURE, .actions = OPENS,
		FIELD(is_cold), .help = "put the database out of memory before it is opened",
		.detail = "As root all caches of the kernel are dropped, else the database's files "
			  "are evicted, and the result says how much of them was in memory when "
			  "the first operation began."},
	{.name = "allow-missing", .type = OPTION_FLAG, .group = GROUP_MEASURE,
		.actions = ACTION_BIT(ACTION_GET) | ACTION_BIT(ACTION_DELETE) | RUN | REPLAYS | VS,
		FIELD(allows_missing), .help = "a key that is not there is no failure"},

	{.name = "runs", .arg = "COUNT", .type = OPTION_COUNT, .min = 1, .max = 10000,
		.group = GROUP_COMPARE, .actions = VS, .decides = MEASURES, FIELD(runs),
		.help = "repetitions of each engine, however precise they are by then"},
	{.name = "precision", .arg = "SHARE", .type = OPTION_TEXT, .def = "5%",
		.group = GROUP_COMPARE, .actions = VS, .decides = MEASURES, FIELD(precision),
		.help = "how far the ratio of throughputs may be from its interval's ends",
		.detail = "To end at the first round that is good enough makes intervals a "
			  "little less sure than they say: those of 95 % are of some 93 %. With "
			  "--runs nothing is looked at meanwhile."},
	{.name = "budget", .arg = "TIME", .type = OPTION_TIME, .def = "10m",
		.group = GROUP_COMPARE, .actions = VS, .decides = MEASURES, FIELD(budget_ns),
		.help = "time after which no more rounds are begun"},
	{.name = "max-regress", .arg = "LIMITS", .type = OPTION_TEXT, .group = GROUP_COMPARE,
		.actions = GATES, .decides = MEASURES, FIELD(max_regress),
		.help = "what may get worse by how much: p99:5%,throughput:3%",
		.detail = "Figures are throughput, settled, p50, p90, p99, p99.9 and p99.99, of one "
			  "kind of operation read.p99. All that are named must be there."},
	{.name = "confidence", .arg = "SHARE", .type = OPTION_REAL, .def = "0.95", .max = 1,
		.group = GROUP_COMPARE, .actions = COMPARES, FIELD(confidence),
		.help = "how sure intervals and verdicts are to be",
		.detail = "Without it a file of vs is compared as surely as vs was asked to be."},
	{.name = "force", .type = OPTION_FLAG, .group = GROUP_COMPARE, .actions = COMPARES,
		FIELD(is_forced), .help = "compare what cannot be compared, saying why not",
		.detail = "vs then also writes files that mininb did not make."},

	{.name = "only", .arg = "TEXT", .type = OPTION_TEXT, .group = GROUP_MEASURE,
		.actions = CHECKS, .decides = MEASURES, FIELD(only),
		.help = "only promises with TEXT in their name; a space matches '_'"},

	{.name = "rounds", .arg = "COUNT", .type = OPTION_COUNT, .def = "100", .min = 1,
		.max = 1000000, .group = GROUP_CRASH, .actions = CRASHES, .decides = MEASURES, FIELD(rounds),
		.help = "crashes of each engine and level; of --power recordings",
		.detail = "Without it --power makes 6 recordings, of --states states each."},
	{.name = "ops", .arg = "COUNT", .type = OPTION_COUNT, .min = 1, .max = 1000000,
		.group = GROUP_CRASH, .actions = CRASHES, .decides = MEASURES, FIELD(ops),
		.help = "most operations before a crash",
		.detail = "How many there are is drawn for each round, each power of ten as often "
			  "as another. Without it 10000, of --power 300. At commit it is 1000 at most "
			  "where the moment is counted, and 100 before a close."},
	{.name = "moment", .arg = "KIND", .type = OPTION_CHOICE, .def = "both",
		.choices = "both|timed|counted", .group = GROUP_CRASH, .actions = CRASHES, .decides = MEASURES,
		FIELD(moment), .help = "how the moment of a kill is drawn",
		.detail = "timed: a time after an operation; counted: so many system calls and "
			  "instructions, which the seed repeats (ptrace, one session); both: "
			  "eight crashes of each in turn."},
	{.name = "keep", .arg = "DIR", .type = OPTION_TEXT, .def = "./mininb-crash",
		.group = GROUP_CRASH, .actions = CRASHES, .words = WORDS_DIRECTORY, FIELD(keep),
		.help = "where what repeats a failure is kept; made if there is one"},
	{.name = "again", .arg = "DIR", .type = OPTION_TEXT, .group = GROUP_CRASH,
		.actions = CRASHES, .decides = MEASURES, .words = WORDS_DIRECTORY, FIELD(again),
		.help = "check what was kept in DIR once more"},
	{.name = "power", .type = OPTION_FLAG, .group = GROUP_CRASH, .actions = CRASHES, .decides = MEASURES,
		FIELD(is_power), .help = "lose power instead: keep only what was synced for sure"},
	{.name = "file-system", .arg = "KIND", .type = OPTION_CHOICE, .def = "journalled",
		.choices = "journalled|posix", .group = GROUP_CRASH, .actions = CRASHES, .decides = MEASURES,
		FIELD(file_system), .help = "with --power, what names and sizes of files do",
		.detail = "journalled: they stay in their order, as with ext4 and XFS; "
			  "posix: only what was synced stays, names with their directory."},
	{.name = "states", .arg = "COUNT", .type = OPTION_COUNT, .def = "50", .min = 1,
		.max = 100000, .group = GROUP_CRASH, .actions = CRASHES, .decides = MEASURES, FIELD(states),
		.help = "with --power, states that are made of each recording"},

	{.name = "report-interval", .letter = 'r', .arg = "COUNT", .type = OPTION_COUNT,
		.def = "10000", .max = INT64_MAX, .group = GROUP_OUTPUT, .actions = FILES | JOBS | CONVERTS,
		FIELD(report_interval), .help = "operations between two looks at progress; 0: none"},
	{.name = "output", .letter = 'o', .arg = "FILE", .type = OPTION_TEXT, .group = GROUP_OUTPUT,
		.actions = RESULTS | CRASHES, .words = WORDS_FILE, .writers = RESULTS | CRASHES, FIELD(output),
		.help = "write the whole result there, as JSON; '-': instead of text to stdout",
		.detail = "All later looks need nothing else: report, compare, merge, gate, rerun. "
			  "The file's schema is installed beside the workloads. With report it is "
			  "where the report goes, and only there -o is short for it."},
	{.name = "hlog", .arg = "FILE", .type = OPTION_TEXT, .group = GROUP_OUTPUT,
		.actions = RESULTS, .words = WORDS_FILE, .writers = RESULTS, FIELD(hlog),
		.help = "write an HdrHistogram log, with a tag for each kind of operation"},
	{.name = "csv", .arg = "PREFIX", .type = OPTION_TEXT, .group = GROUP_OUTPUT,
		.actions = RESULTS, .words = WORDS_FILE, .writers = RESULTS, FIELD(csv),
		.help = "write tables PREFIX-operations.csv, -series, -latency and -counters"},
	{.name = "notebook", .arg = "FILE", .type = OPTION_TEXT, .group = GROUP_OUTPUT,
		.actions = RESULTS, .words = WORDS_FILE, .writers = RESULTS, FIELD(notebook),
		.help = "append to a notebook of experiments, in the form of Masstree's"},
	{.name = "strict", .type = OPTION_FLAG, .group = GROUP_OUTPUT, .actions = OPENS,
		FIELD(is_strict), .help = "exit status 4 if there is a note why it may be wrong"},
	{.name = "allow", .arg = "NOTES", .type = OPTION_TEXT, .group = GROUP_OUTPUT,
		.actions = OPENS, FIELD(allowed),
		.help = "notes that --strict lets pass, by name: closed-loop,one-run"},
	{.name = "fold", .type = OPTION_FLAG, .group = GROUP_OUTPUT, .actions = RUNS | REPORTS,
		FIELD(is_folded), .help = "one row of the histogram for all below a microsecond"},
	{.name = "format", .arg = "FORMAT", .type = OPTION_CHOICE, .def = "text",
		.choices = "text|tap|auto|ycsb-text|ycsb-log|u64|keys|rocksdb|cache-csv|mininb",
		.group = GROUP_OUTPUT, .actions = CHECKS | REPLAYS | VS, FIELD(format),
		.help = "how promises are listed; what a trace is",
		.detail = "check: text, or tap, the Test Anything Protocol for test harnesses. replay: "
			  "the format of the traces, which is looked for in them if it is not given."},
	{.name = "format", .arg = "FORMAT", .type = OPTION_CHOICE, .def = "text",
		.choices = "text|md|csv|json|hgrm|hlog|gnuplot|candlestick|html",
		.group = GROUP_OUTPUT, .actions = REPORTS, FIELD(report_format),
		.help = "what a report is"},
	{.name = "format", .arg = "FORMAT", .type = OPTION_CHOICE, .def = "text",
		.choices = "text|md|json", .group = GROUP_OUTPUT,
		.actions = ACTION_BIT(ACTION_COMPARE), FIELD(compare_format),
		.help = "what a comparison is"},
	{.name = "quiet", .type = OPTION_FLAG, .group = GROUP_OUTPUT, .actions = FILES | JOBS | CONVERTS | VS | CRASHES,
		FIELD(is_quiet), .help = "no progress and no remarks, only warnings and errors"},
	{.name = "version", .type = OPTION_FLAG, .group = GROUP_OUTPUT, .actions = ALL,
		FIELD(wants_version), .help = "print the version"},
	{.name = "help", .letter = 'h', .type = OPTION_HELP, .choices = "scdoc|scdoc-workload|bash|zsh",
		.group = GROUP_OUTPUT, .actions = ALL, FIELD(help),
		.help = "print this text, a manual page for scdoc, or completion for a shell"},
	{.name = NULL},
};
/* clang-format on */
