/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the figures of the reports say, how they come about, and what would make them wrong:
 * one row for each name that stands in a report, in the order of the reports.
 *
 * It is written by hand and stands beside no code, so a test walks over reports and over the
 * sources of the reports, and fails where a name has no row.
 */
#include <stddef.h>

#include <mininb/mininb.h>

static const struct nb_explanation explanations[] = {
	/* ---- what was done: the head of a report ---- */

	{"Action", "what was done: put, get, delete, load, run or replay",
		"As it was asked for.", "text, csv, md, html"},
	{"Driver", "the engine, by the name that --driver takes",
		"Its version stands in the line Engine.", "text, csv, md, html"},
	{"Workload", "the name of the job that was run",
		"A preset's, or the file's. A result file keeps the whole job.",
		"text of jobs"},
	{"Key Len", "bytes of each key", "As it was asked for, by --klen.",
		"text of put, get, delete"},
	{"Val Len", "bytes of each value",
		"As it was asked for, by --vlen. A get expects it, and calls "
		"another size wrong.",
		"text of put, get, delete"},
	{"Count", "operations that were done",
		"Fewer than were asked for if the run ended early, which the "
		"line Partial says.",
		"text of put, get, delete"},
	{"Partial", "the run ended before it was whole",
		"By a failure, by a signal or by a limit of time. What is there"
		" is of the operations that were done; settling, closing and "
		"verifying may not have come.",
		"text, md"},
	{"Processes", "processes that had the database open together",
		"Their counts and histograms are merged. CPU time and memory of"
		" each are not known.",
		"text of jobs"},
	{"Threads", "threads that did operations",
		"Threads of the engine itself are not counted.", "text, md"},
	{"Keys",
		"how a record's number becomes its key, and how many bytes that"
		" is",
		"Of a job; as it was asked for.", "text of jobs"},
	{"Values", "bytes of the values, and how well they can be compressed",
		"The ratio asked for is what an ideal compression would leave; "
		"the other is what zlib leaves of a sample of them.",
		"text of jobs"},
	{"Records",
		"how many records: in the head those that are loaded, of a "
		"group those that it read or wrote",
		"A scan or a batch is one operation of many records.", "text of jobs, csv"},

	/* ---- the classic report ---- */

	{"Histogram", "how many operations took how long",
		"Service times in half-open intervals of microseconds, only "
		"those that hold something. Counts are exact.",
		"text of put, get, delete"},
	{"t min", "the lower bound of a row of the histogram, in microseconds",
		"A time equal to it is counted in this row.", "text of put, get, delete"},
	{"t max", "the upper bound of a row of the histogram, in microseconds",
		"A time equal to it is counted in the next row.", "text of put, get, delete"},
	{"ops count", "operations whose time lies within the bounds",
		"Exact: counted, not reckoned from buckets.", "text of put, get, delete"},
	{"%", "share of all operations in that row", "Of those that were done.",
		"text of put, get, delete"},
	{"Total",
		"the sum of all service times in microseconds, and the number "
		"of operations",
		"With several threads their times overlap, so the sum is more "
		"than the time that passed.",
		"text of put, get, delete"},
	{"Min latency", "the shortest service time",
		"Exact. It has the cost of the two clock stamps in it.",
		"text of put, get, delete"},
	{"Avg latency", "the arithmetic mean of the service times",
		"From the exact sum. A few very slow operations move it far; "
		"look at the percentiles.",
		"text of put, get, delete"},
	{"Max latency", "the longest service time",
		"Exact. A single operation: it grows with how long one looks, "
		"and is not the same in the next run.",
		"text of put, get, delete"},
	{"latency",
		"a percentile of the service times: that share of the "
		"operations took no longer",
		"The upper end of a histogram's bucket, so never too low and "
		"too high by less than 0.1 %. Not given where fewer than ten "
		"operations lie beyond it. Service times of a closed loop leave"
		" out what others would have waited meanwhile.",
		"text of put, get, delete"},
	{"Avg throughput", "operations a second",
		"Operations over the time from the first one's begin to the "
		"last one's end, all threads. It is not made from the mean "
		"latency.",
		"text of put, get, delete"},
	{"Wall time", "from the first operation's begin to the last one's end",
		"By the clock of the line Clock, over all threads; without "
		"opening, loading, settling and closing.",
		"text of put, get, delete"},
	{"Acked throughput", "writes a second, as the engine said that they were done",
		"The same number as Avg throughput. What is done by then "
		"depends on the line Durability; work may have been put off.",
		"text of put, delete"},
	{"Settled throughput", "writes a second with the work that they put off",
		"Operations over wall time and the time to flush, to compact "
		"and to close. An engine that cannot be asked to flush or "
		"compact may still owe some, which a note says.",
		"text, csv, md, html"},
	{"Settled", "how the run was settled, and operations a second with that",
		"As Settled throughput.", "text of jobs"},
	{"Data rate", "bytes of keys and values a second",
		"As they were asked for or returned, over wall time; of a "
		"delete the keys alone. It is no rate of the disk.",
		"text of put, get, delete"},
	{"Value bytes",
		"bytes of values that were read or written, and how many a "
		"second",
		"Without keys.", "text of jobs, csv"},

	/* ---- whether it was right ---- */

	{"Not found", "operations whose key was not there",
		"An answer and no failure. A get of it is usually faster than "
		"one that finds something, so many of them make a good rate "
		"worth little.",
		"text, csv, md, html"},
	{"Conflicts", "times that the engine asked to try an operation again",
		"Each was tried again, within the same latency.", "text, csv"},
	{"Verified", "how much of the data was looked at, and what was wrong with it",
		"A sample, --verify-rate of the operations. What is read is "
		"checked against what must be there; writes are read back after"
		" the run, untimed. If the engine keeps its data, mininb closes "
		"the database and opens it again before it reads back, and "
		"drops it from the page cache with --cold. 0 wrong of a small "
		"sample is no proof.",
		"text, md"},
	{"Read back", "verified records that were looked up again after the operations",
		"They are part of Verified. A record that a run wrote must have "
		"its last value, and one that it deleted must not be there. A "
		"run reads back the last 1024 writes of each thread and up to "
		"1024 older ones.",
		"text of jobs"},
	{"Wrong",
		"a record that was not what it should be: operation, key, and "
		"what was wrong",
		"At most eight are kept of a group.", "text of jobs"},
	{"Left out", "operations of a trace that were not done",
		"Of kinds that mininb does not do, or on damaged lines.", "text of replay"},
	{"Phases", "how long each part of the run took, by the wall",
		"start (checking options, mapping the keys, calibrating the clock), keys "
		"(their survey), harness (measured on the null engine), prepare, open, load, "
		"the operations, settle, verify, close, inspect (what of the database is in "
		"memory). One lasts until the next begins, so sessions are opened and closed "
		"in the ones before. The rate is of the operations alone.",
		"text, json"},
	{"Duplicate keys", "keys of the file that repeat one before them",
		"A put of one overwrites, a delete of one finds nothing. "
		"\"about\" if the file is so large that only a part was looked "
		"at.",
		"text of put, get, delete"},
	{"Value ratio",
		"size when compressed over size, of the values that were "
		"written",
		"As it was asked for: what an ideal compression would leave. 1 "
		"gives an engine that compresses nothing to gain.",
		"text of put"},

	/* ---- conditions ---- */

	{"Durability", "what writes that were acknowledged survive",
		"none: kill -9 may lose them; process: they survive it, as "
		"after write(2); periodic: power loss takes the last interval; "
		"commit: they survive power loss, as after fsync(2). Rates at "
		"different levels are of different work.",
		"text, csv, md, html"},
	{"Cache", "the engine's cache, if its size was asked for",
		"--cache. The kernel's page cache is another, and comes on"
		" top unless the engine goes around it.",
		"text, md"},
	{"Cache state",
		"how much of the database was in memory before the first "
		"operation, and afterwards",
		"Pages of its files that mincore(2) calls resident, when the "
		"operations began and after closing; and how it was made cold, "
		"if it was asked to be. The engine's own cache is not in it, "
		"nor the device's.",
		"text"},
	{"Database",
		"space that the database takes after closing, and the file "
		"system",
		"Allocated blocks of all its files, holes not counted. After "
		"settling, so without what compaction has thrown away.",
		"text, csv, md, html"},
	{"CPU time", "CPU time of an operation, in user code and in the kernel",
		"Of all threads of the process while the operations ran, so "
		"with the engine's background threads, the harness and a warm-"
		"up, over all operations that were done meanwhile. It is not "
		"known for an operation where something else used part of it: "
		"the harness's sleeping at a rate, or groups in the background. "
		"Of several processes it is not known.",
		"text, csv"},
	{"Memory", "the most memory that the process had resident",
		"getrusage(2), of the whole process since it began: the "
		"harness's own, the keys, and pages of mapped files are in it. "
		"What it is made of is as of the end of the operations.",
		"text, csv, md, html"},
	{"Clock",
		"what latencies are measured with: its kind, its rate, its "
		"steps and what a stamp costs",
		"Two stamps for each operation, both inside the throughput, "
		"about one inside each latency. Nothing is subtracted.",
		"text"},
	{"Harness", "what the harness itself takes for an operation",
		"The same loop, keys, values and clock on the engine null, the "
		"median of several passes. It bounds the throughput that could "
		"be seen at all. Nothing is subtracted.",
		"text, md"},
	{"Stream digest", "a name for the stream of operations that was asked for",
		"A hash of keys, workload and seed. Runs with different digests"
		" did not do the same, and their rates are not to be compared.",
		"text, csv, md, html"},
	{"Engine",
		"the engine's version, licence, kind of build, and the plugin's"
		" file",
		"As the plugin says, of the library that was loaded.", "text, md"},
	{"Option", "an option of the engine as it was in force",
		"Those that were not given too.", "text, md"},
	{"Counter", "how much a counter of the engine's own grew",
		"From the first operation's begin until the run was settled, "
		"without what was read back; a warm-up is in it. What it means "
		"is the engine's to say. Those that are 0 are left out.",
		"text, csv, md, html"},
	{"Gauge", "a level that the engine tells, at the end", "When the run was settled.",
		"text, csv, md, html"},
	{"Counters", "why the engine's counters are missing",
		"Of several processes none can be told, since each counts its "
		"own.",
		"text"},
	{"mininb", "the version of mininb", "Of the library that was loaded.", "text, md"},
	{"Note",
		"a reason why the figures may be wrong, or mean less than they "
		"seem to",
		"Each has an identifier, see there.", "text, md"},
	{"Machine",
		"the machine: name, processor, CPUs and memory that the process"
		" may use, hypervisor",
		"As the system tells.", "md"},
	{"System", "operating system, kernel and allocator",
		"As the system tells; the allocator is the one that the process"
		" was linked with or preloaded.",
		"md"},
	{"File system",
		"what the database is on: file system, options of its mount, "
		"device",
		"Of the directory of the database.", "md"},

	/* ---- groups of a job ---- */

	{"operation", "the kind of operation, or all kinds of a group together",
		"Each is timed as one, however many records it goes to.",
		"text of jobs, md, csv (kind)"},
	{"time", "which time the line tells: service, response, or lateness",
		"Service: from the call to its end. Response: from the moment "
		"at which the operation was due, so with the waiting in the "
		"queue. Do not compare one with the other.",
		"text of jobs, md, csv (series)"},
	{"service", "time from the call of the engine to its end",
		"What one operation took. In a closed loop it hides the waiting"
		" of those that would have come meanwhile (coordinated "
		"omission).",
		"text, csv, md, html"},
	{"response", "time from the moment at which an operation was due to its end",
		"Only where there is a rate. It is what a user waits, with the "
		"queue in front of the engine; if the queue grew it tells how "
		"long the run was.",
		"text, csv, md, html"},
	{"lateness", "how much later than planned something woke up",
		"See Hiccups and Harness lateness. As a note: half of the "
		"operations began so late that it is more than a tenth of the "
		"median response time.",
		"csv, md, notes"},
	{"ops", "operations that count", "A warm-up's do not.", "text, csv, md, html"},
	{"ops/s", "operations a second",
		"Over the time from the first to the last of the group; of all "
		"groups of a run that are side by side, their rates together.",
		"text, csv, md, html"},
	{"mean", "the arithmetic mean of the times", "From the exact sum.", "md, csv"},
	{"p50", "the time within which half of the operations were done",
		"The upper end of a histogram's bucket: never too low, too high"
		" by less than 0.1 %. Blank below 20 operations, since ten must"
		" lie beyond it. Never averaged: of several threads or groups "
		"it is that of their merged histograms.",
		"text, csv, md, html"},
	{"p75", "the time within which 75 % of the operations were done",
		"The upper end of a histogram's bucket: never too low, too high"
		" by less than 0.1 %. Blank below 40 operations, since ten must"
		" lie beyond it. Never averaged: of several threads or groups "
		"it is that of their merged histograms.",
		"csv, md"},
	{"p90", "the time within which 90 % of the operations were done",
		"The upper end of a histogram's bucket: never too low, too high"
		" by less than 0.1 %. Blank below 100 operations, since ten "
		"must lie beyond it. Never averaged: of several threads or "
		"groups it is that of their merged histograms.",
		"csv, md, html"},
	{"p95", "the time within which 95 % of the operations were done",
		"The upper end of a histogram's bucket: never too low, too high"
		" by less than 0.1 %. Blank below 200 operations, since ten "
		"must lie beyond it. Never averaged: of several threads or "
		"groups it is that of their merged histograms.",
		"csv, md"},
	{"p99", "the time within which 99 % of the operations were done",
		"The upper end of a histogram's bucket: never too low, too high"
		" by less than 0.1 %. Blank below 1000 operations, since ten "
		"must lie beyond it. Never averaged: of several threads or "
		"groups it is that of their merged histograms.",
		"text, csv, md, html"},
	{"p99.9", "the time within which 99.9 % of the operations were done",
		"The upper end of a histogram's bucket: never too low, too high"
		" by less than 0.1 %. Blank below 10000 operations, since ten "
		"must lie beyond it. Never averaged: of several threads or "
		"groups it is that of their merged histograms.",
		"text, csv, md, html"},
	{"p99.99", "the time within which 99.99 % of the operations were done",
		"The upper end of a histogram's bucket: never too low, too high"
		" by less than 0.1 %. Blank below 100000 operations, since ten "
		"must lie beyond it. Never averaged: of several threads or "
		"groups it is that of their merged histograms.",
		"text, csv, md, html"},
	{"max", "the longest time",
		"Exact. A single operation, so it is not the same in the next "
		"run.",
		"text, csv, md, html"},
	{"Queue", "whether operations were due faster than they could be done",
		"It grew if more than 1 % of what was due was left, or if the "
		"last operation began late by more than 5 % of the time, beyond"
		" what is under way anyway. Response times then tell how long "
		"the run was.",
		"text of jobs"},
	{"Harness lateness",
		"how late the harness itself began operations that it had "
		"waited for",
		"Between the moment at which one was due and the one at which "
		"its thread was awake, where it had slept or spun until then. "
		"It is in the response times and is not the engine's. The CPU "
		"time of that waiting is in no other figure.",
		"text of jobs, csv, md"},
	{"Ops/s by thread", "operations a second of each thread",
		"Each over its own time. Far apart: some were starved.",
		"text of jobs, md, candlestick"},
	{"Steady", "whether the throughput had become steady",
		"Over the last window the line of least squares changed by less"
		" than the limit, and no interval was further off the mean than"
		" allowed (after SNIA's Performance Test Specification).",
		"text of jobs"},
	{"Hiccups", "how late a thread woke up that only sleeps",
		"Scheduler, hypervisor or hardware kept it, and would have kept"
		" any other thread: what of the engine's latencies is that high"
		" may be theirs. Wakings that were missed meanwhile count, each"
		" with its own lateness.",
		"text of jobs, csv, md"},

	/* ---- what a run took of the system ---- */

	{"Faults",
		"page faults while the operations ran: minor ones, and major "
		"ones that read from storage",
		"getrusage(2), the whole process.", "text, csv"},
	{"Switches",
		"how often threads gave the CPU up, and how often it was taken "
		"from them",
		"getrusage(2), the whole process. A voluntary one is a wait, "
		"for a lock or for storage.",
		"text, csv"},
	{"Bytes written",
		"bytes written at each layer, and how many for one that was "
		"asked for",
		"calls: by write(2) and kin; storage: pages made dirty for it, "
		"without those removed before they were written; device: by the"
		" block device, whoever used it. Until the database was closed."
		" An engine that maps its files makes no calls. Over keys and "
		"values that were put, and keys that were deleted.",
		"text, csv, md, html"},
	{"Syncs",
		"calls that made data durable, and how many for a write that "
		"was acknowledged",
		"fsync, fdatasync, msync with MS_SYNC, sync and syncfs that "
		"succeeded, of the process and those that it forked, of "
		"whatever file; while the operations ran, and then until the "
		"database was closed. A batch or a transaction is one write. "
		"Not seen: io_uring, files open with O_DSYNC, persistent "
		"memory, system calls not by the C library.",
		"text, md, html"},
	{"Bytes read",
		"bytes read at each layer, and how many for one that was asked "
		"for",
		"calls: by read(2) and kin; storage: fetched from it; device: "
		"by the block device, whoever used it. While the operations "
		"ran, over keys and values that were returned.",
		"text, csv, md, html"},
	{"Write amplification", "bytes written at a layer for one byte that was asked for",
		"As Bytes written.", "md, csv"},
	{"Read amplification", "bytes read at a layer for one byte that was asked for",
		"As Bytes read. Less than 1 if a cache had it.", "md, csv"},
	{"Space",
		"space allocated for the keys and values that should be in the "
		"database",
		"Blocks after closing, over bytes of what is alive. Files that "
		"an engine allocates ahead are in it.",
		"text"},
	{"Space amplification",
		"bytes of allocated blocks for one byte of keys and values that"
		" is alive",
		"As Space.", "md, csv"},
	{"Processor", "cycles, instructions and cache misses for an operation",
		"perf_event_open(2), all threads of the process, the harness's "
		"too. Most virtual machines have no such counters.",
		"text, csv, md, html"},
	{"In the page cache at the begin",
		"share of the database's pages that were resident before the "
		"first operation",
		"mincore(2), which reads nothing.", "md"},
	{"Stalls", "times without an operation, or below half of the median rate",
		"Looked for in counts of 20 ms. A gap is longer than 60 ms and "
		"than twenty operations take; a slow stretch is 100 ms at "
		"least. Warm-ups are left out, and so is the end of a phase "
		"from where the first thread was done.",
		"text, csv, md, html"},
	{"Worst stall",
		"the longest of those, and what grew most out of proportion "
		"meanwhile",
		"The cause is a guess by coincidence: of the engine's counters,"
		" else of the system's. Samples of them are coarser than "
		"stalls.",
		"text, md"},
	{"meanwhile", "what grew most out of proportion during a stall",
		"A guess, see Worst stall.", "md"},
	{"at", "when a stall began", "Since the first operation of the first phase.", "md"},
	{"for", "how long a stall lasted",
		"In whole pulses of 20 ms; a gap by the stamps of the operations "
		"before and after it.",
		"md"},
	{"ops/s then", "operations a second during a stall", "0 is a gap.", "md"},

	/* ---- side by side ---- */

	{"driver", "the engine", "By the name that --driver takes.", "text, csv"},
	{"engine", "the engine, and what tells several runs of it apart",
		"By the name that --driver takes.", "md"},
	{"version", "the engine's version", "Of the library that was loaded.",
		"text, csv, md, html"},
	{"action", "what was done", "See Action.", "md, csv"},
	{"durability", "what acknowledged writes survive", "See Durability.",
		"text, csv, md, html"},
	{"settled", "operations a second with the work that was put off",
		"See Settled throughput. Blank if nothing was to be settled.",
		"text, csv, md, html"},
	{"CPU/op", "CPU time of an operation, user and system", "See CPU time.", "text, md"},
	{"database", "space that the database takes", "See Database.", "text, csv, md, html"},
	{"memory", "the most memory that the process had resident", "See Memory.",
		"text, csv, md, html"},
	{"end", "how the run ended: done, partial, or what went wrong",
		"Of an engine that failed, its text.", "text, csv, md, html"},
	{"group", "the group of threads of a job", "", "text, csv, md, html"},
	{"inserts", "operations that put a new record", "Inserts alone.", "text of lists"},
	{"reads", "operations that read", "Reads alone, no scans and none of several records.",
		"text of lists"},
	{"updates", "updates, upserts and read-modify-writes",
		"Batches and transactions are in none of these three.", "text of lists"},
	{"ns/op", "time of a thread for an operation",
		"Wall time of the group times its threads, over its operations:"
		" with the harness's own, unlike the mean latency.",
		"text of lists"},

	/* ---- the page in HTML ---- */

	{"mix", "which operations a group does, and how many of each",
		"The shares that were asked for; of a trace, what was read of it.", "html"},
	{"operations", "operations that count", "A warm-up's do not.", "html"},
	{"in", "the time that the operations of a group took",
		"From the first one's begin to the last one's end.", "html"},
	{"measured", "times that the line's figures are of",
		"Few of them support few percentiles.", "html"},
	{"asked for", "bytes of keys and values that were asked for",
		"What the layers below are divided by.", "html"},
	{"by calls", "bytes by read(2), write(2) and kin for one that was asked for",
		"See Bytes written and Bytes read.", "html"},
	{"storage",
		"bytes that the process fetched from storage, or made dirty for"
		" it, for one that was asked for",
		"See Bytes written and Bytes read.", "html"},
	{"device",
		"bytes that the block device read or wrote, whoever used it, "
		"for one that was asked for",
		"See Bytes written and Bytes read.", "html"},
	{"when",
		"before the database was opened, at the first operation, or "
		"after it was closed",
		"", "html"},
	{"in memory", "bytes of the database that were in the page cache",
		"mincore(2), see Cache state.", "html"},
	{"of", "bytes of all the files of the database", "Holes are not counted.", "html"},
	{"share", "how much of the database that is", "See Cache state.", "html"},
	{"ops/s meanwhile", "operations a second during a stall", "0 is a gap.", "html"},
	{"what the engine counted", "what grew most out of proportion during a stall",
		"A guess, see Worst stall.", "html"},
	{"name", "the name of a counter", "As the engine says.", "html"},

	/* ---- while it runs ---- */

	{"seconds", "the end of the interval", "Since the first operation, a warm-up's too.",
		"text"},
	{"p50 us", "the median of an interval's own operations, or of a comparison",
		"Service times, or response times where there is a rate. In "
		"microseconds. Blank if there are too few.",
		"text, compare"},
	{"p99 us",
		"the 99th percentile of an interval's own operations, or of a "
		"comparison",
		"As p50 us.", "text, compare"},
	{"max us", "the longest time of an interval", "The upper end of its bucket.", "text"},
	{"behind",
		"operations that were due at the end of an interval and not "
		"done",
		"Only where there is a rate. If it grows all the time, more is "
		"offered than can be done.",
		"text, csv"},
	{"warm-up", "the interval does not count",
		"Its operations are in no figure of the report but those of the"
		" system.",
		"text"},

	/* ---- a sweep of rates ---- */

	{"Capacity", "operations a second in a closed loop",
		"What the shares of a sweep are of: as many as the threads can "
		"do when none has to wait for a moment.",
		"text, md"},
	{"load", "the rate that was offered, as a share of the capacity", "", "text, md"},
	{"offered/s", "operations that were due in a second", "As asked for.", "text, md"},
	{"achieved/s", "operations that were done in a second",
		"Below what was offered: it could not keep up.", "text, md"},
	{"service p50", "the median of the service times",
		"Hardly moves with the load: the queue is in the response "
		"times.",
		"md"},
	{"service p99", "the 99th percentile of the service times", "", "md"},
	{"response p50", "the median of the response times", "From when an operation was due.",
		"md"},
	{"response p99", "the 99th percentile of the response times",
		"The knee is where it turns up.", "md"},
	{"response p99.9", "the 99.9th percentile of the response times", "", "md"},
	{"response max", "the longest response time", "A single operation.", "md"},
	{"p99 of response, log", "as a bar",
		"Logarithmic, from the least of the sweep to the greatest.", "text"},
	{"state",
		"whether the engine kept up: kept up, fell behind, queue grew; "
		"and the knee",
		"Fell behind: less than 98 % of what was offered was done.", "text, md"},
	{"knee", "the first rate at which it no longer holds",
		"The p99 of response is above twice that of the lowest rate, or"
		" less than 98 % of what was offered was done.",
		"text, md"},
	{"Highest rate that held",
		"the highest rate at which the limit that was asked for was "
		"kept",
		"Found by bisection, so it is exact to the last step only; a "
		"limit near the noise is found where a run was lucky.",
		"text, md"},

	/* ---- comparisons ---- */

	{"ratio", "how many times the first sample's value the other's is",
		"The median over all pairs of runs (Hodges and Lehmann). Of "
		"times less than 1 is better, of rates more.",
		"compare"},
	{"CI", "the interval in which the ratio lies",
		"At the confidence that stands there; from order statistics of "
		"the ratios, or by bootstrap. It is of how runs vary here, and "
		"knows nothing of another machine.",
		"compare"},
	{"p", "how likely so large a difference would be if there were none",
		"Mann and Whitney's test over the runs, not over operations. Of"
		" twenty lines without a difference one is below 0.05.",
		"compare"},
	{"against 1", "the ratio and its interval as a bar",
		"Logarithmic: half and twice are equally far from the middle.", "compare"},
	{"cannot be told apart", "the difference may be chance",
		"Not the same as equal: the interval says how much it might "
		"still be.",
		"compare"},
	{"faster", "the other sample is better by that much",
		"Percents of the first's value, from twice on a factor. Told "
		"only where the test says that it is hardly chance, or of one "
		"run each, which is said.",
		"compare"},
	{"slower", "the other sample is worse by that much", "As faster.", "compare"},
	{"throughput", "operations a second of a run",
		"One value for each run; a sample is told by their median.", "compare"},
	{"NOT COMPARABLE", "why these runs cannot be ranked",
		"They did not do the same, or not under the same conditions: "
		"--force compares them all the same.",
		"compare"},
	{"runs", "repetitions of the same work",
		"How many make a sample. With one there is no telling how much "
		"it varies.",
		"compare"},
	{"gate", "whether a figure has got worse by more than the limit",
		"It fails if the estimate is above the limit and the whole "
		"interval is on the wrong side of 1; of one run each the "
		"estimate alone decides, which is said.",
		"compare"},

	{"contestant", "an engine of vs, with its options",
		"All of its repetitions are one sample. \"leveldb#2\" is the second of those "
		"with "
		"one engine.",
		"html"},
	{"base", "the contestant that the others are compared with",
		"The one named first on the command line.", "html, csv"},
	{"figure", "what is compared: throughput, settled, p50, read.p99",
		"Each run counts for one value.", "html, csv"},
	{"median", "the median of the figure over the runs of a contestant", "", "csv"},
	{"MAD", "how much the runs of a contestant differ from each other",
		"The median of the distances from their median, in the unit of the figure.",
		"html, csv"},
	{"lowest", "the lowest value of all runs of a contestant", "", "html, csv"},
	{"highest", "the highest value of all runs of a contestant", "", "html, csv"},
	{"ratio_low", "the lower end of the ratio's interval", "See CI.", "csv"},
	{"ratio_high", "the upper end of the ratio's interval", "See CI.", "csv"},
	{"confidence", "how sure the interval is, from 0 to 1",
		"At least what was asked for; of few runs less.", "csv"},
	{"verdict", "whether the contestant is better or worse than the base in this figure",
		"Only where both the test and the interval say so; else it cannot be told "
		"apart, "
		"or there are too few runs.",
		"html, csv"},

	/* ---- notes, by their identifiers ---- */

	{"closed-loop", "each operation waited for the one before",
		"So the times are service times; while the engine stalls nobody"
		" comes who would have to wait. Take --rate for response times.",
		"text, json, md"},
	{"one-run", "there was one repetition",
		"How much it varies from run to run is not known; repeat, or "
		"mininb vs.",
		"text, json, md"},
	{"short", "the operations took less than a second",
		"No background work shows in that: no flush, no compaction.", "text, json, md"},
	{"memory-files", "the database is on a file system in memory",
		"No storage device was measured.", "text, json, md"},
	{"small-data", "the data fits into memory",
		"Less than twice the memory: reads may come from the page "
		"cache, writes may reach the device after the run.",
		"text, json, md"},
	{"had-data", "the database was there before",
		"Puts may have overwritten, and its shape is not that of a new "
		"one.",
		"text, json, md"},
	{"loaded", "the engine keeps nothing between runs",
		"The data was put before the first operation, untimed.", "text, json, md"},
	{"duplicates", "keys repeat", "See Duplicate keys.", "text, json, md"},
	{"synthetic", "the engine makes its answers up",
		"It is there to measure the harness; nothing can be verified.",
		"text, json, md"},
	{"unverified", "nothing was verified, or not all of the sample",
		"Then a rate says how fast the engine answers, and not that it "
		"is right.",
		"text, json, md"},
	{"short-values", "values are too short for a checksum",
		"Below 16 bytes a wrong one is noticed by chance.", "text, json, md"},
	{"not-settled", "work that the writes put off may not be counted",
		"It was not asked for, or the engine cannot be asked to flush "
		"or compact.",
		"text, json, md"},
	{"claims-without-syncs", "at commit, writes were acknowledged before they were durable",
		"A sync can be for one write of each thread. With fewer syncs "
		"than that takes, the rest of the writes were answered too "
		"early. See Syncs.",
		"text, json, md"},
	{"build", "mininb or the plugin is no release build",
		"Its figures are slower than they need be.", "text, json, md"},
	{"virtual-machine", "a hypervisor was seen", "Others may share CPU, cache and disk.",
		"text, json, md"},
	{"steal", "the hypervisor kept CPU time back",
		"More than 2 % of the machine's, as /proc/stat counts it.", "text, json, md"},
	{"other-processes", "others used the CPUs meanwhile",
		"More than 2 % of the machine's CPU time.", "text, json, md"},
	{"switches", "the CPU was taken away from threads often",
		"More than 100 times a second and thread: the highest latencies"
		" may be the scheduler's.",
		"text, json, md"},
	{"crowded", "there are more threads than CPUs", "Latencies include waiting for a CPU.",
		"text, json, md"},
	{"harness", "the harness is a tenth of the median latency or more",
		"The clock's cost within it, or the loop's beside it. Nothing is "
		"subtracted. In tables: how late "
		"the harness itself was.",
		"text, json, md"},
	{"ran-backwards", "counters of the engine fell", "No counter may; they are left out.",
		"text, json, md"},
	{"queue", "more was offered than could be done",
		"See Queue. Take a lower rate, or --sweep.", "text, json, md"},
	{"waits", "threads waited for inserts of others that they were to read",
		"More than 1 % of the time, which at a rate is in the response "
		"times and is no engine's. Raise lag.",
		"text, json, md"},
	{"nothing-measured", "all operations began in the warm-up",
		"Raise count, or take a shorter warmup.", "text, json, md"},
	{"idle-threads", "some threads did nothing", "There were too few operations for all.",
		"text, json, md"},
	{"foreign-values", "values were an earlier run's",
		"The database was not as the loading left it: an earlier run, or an "
		"earlier point of the sweep, wrote to it.",
		"text, json, md"},
	{"gaps", "scans were not checked for records left out",
		"mininb finds gaps only if keys are in the order of the records "
		"(--key-order=ordered) and no record may be missing.",
		"text, json, md"},
	{"container", "a container was seen",
		"Its limits of CPU, memory and storage are not all seen from inside.",
		"text, json, md"},
	{"small-cache", "the data fits into the engine's own cache",
		"What lies below that was hardly measured. Take a smaller --cache, or more "
		"data.",
		"text, json, md"},
	{"lukewarm", "neither warm nor cold",
		"5 to 90 % of the database was in memory when the first operation began, or of "
		"a warm one many pages were fetched. Read it all once before, or take --cold.",
		"text, json, md"},
	{"not-cold", "--cold was asked for, and it was not",
		"More than 5 % of the database was in memory when the first operation began: "
		"it could not be evicted, or opening reads it.",
		"text, json, md"},
	{"few-samples", "too few operations for a percentile",
		"Ten have to lie beyond it on either side: p99.9 takes 10000. Raise the count.",
		"text, json, md"},
	{"drift", "the rate still rose or fell",
		"By more than a tenth from the middle third of the time to the last one, by "
		"the counts of each 20 ms. Run longer, or with a warm-up.",
		"text, json, md"},
	{"misses", "most reads found nothing",
		"What was measured is how fast that is told. Read the keys that were put.",
		"text, json, md"},
	{"governor", "the CPU's clock follows the load",
		"The kernel's governor is another than performance.", "text, json, md"},
	{"throttled", "the CPU quota of the cgroup was used up",
		"Threads were held up until the next period: the highest latencies are its.",
		"text, json, md"},
	{"pressure-cpu", "tasks waited for a CPU though there were enough",
		"More than 5 % of the time, by /proc/pressure: other processes, or the "
		"engine's own threads.",
		"text, json, md"},
	{"pressure-memory", "tasks waited for memory",
		"More than 1 % of the time, by /proc/pressure.", "text, json, md"},
	{"swap", "the machine swapped, or had before",
		"By /proc/vmstat while the operations ran, or more than 1 % of memory when "
		"they began.",
		"text, json, md"},
	{"clock-drift", "the clocks did not agree, or the machine slept",
		"The time stamp counter is calibrated before the run; from its begin to its "
		"end "
		"it then ran fast or slow by more than 0.1 % against CLOCK_MONOTONIC.",
		"text, json, md"},
	{"hiccup", "a thread that only sleeps woke up late",
		"By more than 60 ms: the process was stopped, or the machine had no CPU for "
		"it. Stalls of that length may not be the engine's.",
		"text, json, md"},
	{"full", "the file system is nearly full",
		"Less than a tenth of it is free: writes may be slower than on one with room.",
		"text, json, md"},
	{"not-steady", "the throughput never became steady",
		"See Steady. Run longer, or ask for less.", "text, json, md"},

	/* ---- tables for programs ---- */

	{"result", "which of the runs, from 0", "The same number in all files of one call.",
		"csv"},
	{"title", "what the run is called side by side",
		"The driver, what tells several apart, and a number if they are"
		" alike all the same.",
		"csv"},
	{"label", "what tells several runs of one engine apart", "As \"sweep 40 %\".", "csv"},
	{"block", "the repetition of a comparison, from 1", "Empty if it was none.", "csv"},
	{"phase",
		"groups of one phase run side by side, phases one after the "
		"other",
		"", "csv"},
	{"is_background", "1: the group runs beside others and is not counted with them", "",
		"csv"},
	{"kind",
		"the kind of operation, or all of a group; harness and hiccups "
		"are what was late",
		"Of counters: counter, which grows, or gauge, which is a level.", "csv"},
	{"series", "which time it is: service, response or lateness", "See there.", "csv"},
	{"wall_ns",
		"from the first operation's begin to the last one's end, of the"
		" group",
		"", "csv"},
	{"rate_ops_s", "operations a second",
		"Operations over wall_ns, or of a stretch of time over its "
		"length.",
		"csv"},
	{"value_bytes", "bytes of values that were read or written", "", "csv"},
	{"not_found", "operations whose key was not there", "See Not found.", "csv"},
	{"samples", "times that the row's figures are of", "", "csv"},
	{"mean_ns", "the arithmetic mean of the times", "From the exact sum.", "csv"},
	{"min_ns", "the shortest time", "Exact.", "csv"},
	{"p50_ns", "the time within which 50 % of the operations were done",
		"Empty where fewer than ten lie beyond it.", "csv"},
	{"p75_ns", "the time within which 75 % of the operations were done",
		"Empty where fewer than ten lie beyond it.", "csv"},
	{"p90_ns", "the time within which 90 % of the operations were done",
		"Empty where fewer than ten lie beyond it.", "csv"},
	{"p95_ns", "the time within which 95 % of the operations were done",
		"Empty where fewer than ten lie beyond it.", "csv"},
	{"p99_ns", "the time within which 99 % of the operations were done",
		"Empty where fewer than ten lie beyond it.", "csv"},
	{"p99.9_ns", "the time within which 99.9 % of the operations were done",
		"Empty where fewer than ten lie beyond it.", "csv"},
	{"p99.99_ns", "the time within which 99.99 % of the operations were done",
		"Empty where fewer than ten lie beyond it.", "csv"},
	{"p99.999_ns", "the time within which 99.999 % of the operations were done",
		"Empty where fewer than ten lie beyond it.", "csv"},
	{"max_ns", "the longest time",
		"Exact; of a stretch of time the upper end of its bucket.", "csv"},
	{"settled_ops_s", "operations a second with the work that was put off",
		"See Settled throughput.", "csv"},
	{"cpu_ns_op", "CPU time of an operation", "See CPU time.", "csv"},
	{"database_bytes", "space that the database takes",
		"Allocated blocks, after closing; in the series, at the end of "
		"the stretch, looked at seldom.",
		"csv"},
	{"max_resident_bytes", "the most memory that the process had resident", "See Memory.",
		"csv"},
	{"cycles_op", "cycles of the processor for an operation", "See Processor.", "csv"},
	{"instructions_op", "instructions for an operation", "See Processor.", "csv"},
	{"cache_misses_op", "misses of the last cache for an operation", "See Processor.",
		"csv"},
	{"live_bytes", "keys and values that should be in the database in the end",
		"Reckoned from what was done.", "csv"},
	{"logical_read_bytes", "keys and values that were returned",
		"What Bytes read is divided by.", "csv"},
	{"logical_write_bytes", "keys and values that were put, and keys that were deleted",
		"What Bytes written is divided by.", "csv"},
	{"write_amplification_calls",
		"bytes written by write(2) and kin for one that was asked for",
		"See Bytes written.", "csv"},
	{"write_amplification_storage",
		"bytes written by storage, as the process counts it for one "
		"that was asked for",
		"See Bytes written.", "csv"},
	{"write_amplification_device",
		"bytes written by the block device, whoever used it for one "
		"that was asked for",
		"See Bytes written.", "csv"},
	{"read_amplification_calls", "bytes read by read(2) and kin for one that was asked for",
		"See Bytes read.", "csv"},
	{"read_amplification_storage",
		"bytes read by storage, as the process counts it for one that "
		"was asked for",
		"See Bytes read.", "csv"},
	{"read_amplification_device",
		"bytes read by the block device, whoever used it for one that "
		"was asked for",
		"See Bytes read.", "csv"},
	{"commits", "writes that were acknowledged",
		"With those of the warm-up. A batch or a transaction is one.", "csv"},
	{"syncs", "calls that made data durable while the operations ran", "See Syncs.", "csv"},
	{"space_amplification",
		"bytes of allocated blocks for one of keys and values that is "
		"alive",
		"See Space.", "csv"},
	{"longest_gap_ns", "the longest time without an operation", "See Stalls.", "csv"},
	{"slow_ns", "time below half of the median rate, gaps included", "See Stalls.", "csv"},
	{"resident_share_at_begin",
		"share of the database's pages in memory before the first "
		"operation",
		"mincore(2). 0 to 1.", "csv"},
	{"stream_digest", "a name for the stream of operations", "See Stream digest.", "csv"},
	{"begun", "when the run began, by the clock of the day", "", "csv, md"},
	{"end_s", "the end of a stretch of time",
		"Since the first operation of the first phase.", "csv"},
	{"duration_s", "the length of a stretch of time", "", "csv"},
	{"is_warmup", "1: the stretch does not count", "Its operations have no latencies.",
		"csv"},
	{"behind_ops", "operations that were due and not done", "See behind.", "csv"},
	{"percentile", "the share of the times that are at most as long, in percent",
		"Denser towards 100, as HdrHistogram's percentile distribution.", "csv, hgrm"},
	{"value_ns", "the time at a percentile", "The upper end of its bucket.", "csv"},
	{"count",
		"how many there are: of a curve up to there, of a stretch "
		"within it",
		"", "csv"},
	{"counter", "a counter or level of the engine's own",
		"Within a stretch a counter's growth, a gauge's level at its "
		"end.",
		"csv, md"},
	{"unit", "the unit of a counter", "As the engine says.", "csv, md"},
	{"value", "the value of a counter", "", "csv, md"},
	{"user_ns", "CPU time in user code", "getrusage(2), of the process, all threads.",
		"csv"},
	{"system_ns", "CPU time in the kernel", "As user_ns.", "csv"},
	{"minor_faults", "page faults that read nothing from storage", "See Faults.", "csv"},
	{"major_faults", "page faults that read from storage", "See Faults.", "csv"},
	{"voluntary_switches", "times that a thread gave the CPU up", "See Switches.", "csv"},
	{"involuntary_switches", "times that the CPU was taken from a thread", "See Switches.",
		"csv"},
	{"call_read_bytes", "bytes read by read(2) and kin", "/proc/self/io, of the process.",
		"csv"},
	{"call_write_bytes", "bytes written by write(2) and kin",
		"/proc/self/io, of the process.", "csv"},
	{"read_calls", "calls of read(2) and kin", "/proc/self/io.", "csv"},
	{"write_calls", "calls of write(2) and kin", "/proc/self/io.", "csv"},
	{"storage_read_bytes", "bytes fetched from storage for the process", "/proc/self/io.",
		"csv"},
	{"storage_write_bytes", "bytes of pages made dirty by the process",
		"/proc/self/io; they may be written later.", "csv"},
	{"cancelled_write_bytes", "of those, bytes that were removed before they were written",
		"/proc/self/io.", "csv"},
	{"device_read_bytes", "bytes that the block device read",
		"/sys/dev/block, whoever asked.", "csv"},
	{"device_write_bytes", "bytes that the block device wrote",
		"/sys/dev/block, whoever asked.", "csv"},
	{"device_reads", "requests to read that the block device did", "", "csv"},
	{"device_writes", "requests to write that the block device did", "", "csv"},
	{"device_flushes", "flushes that the block device did", "What fsync(2) asks for.",
		"csv"},
	{"device_busy_ns", "time in which the block device had something to do", "", "csv"},
	{"machine_steal_ns", "CPU time that a hypervisor kept back, of the machine",
		"/proc/stat, in ticks.", "csv"},
	{"machine_busy_ns", "CPU time that all processes used, of the machine",
		"/proc/stat, in ticks.", "csv"},
	{"machine_swap_in_bytes", "bytes read from swap, of the machine", "/proc/vmstat.",
		"csv"},
	{"machine_swap_out_bytes", "bytes written to swap, of the machine", "/proc/vmstat.",
		"csv"},
	{"pressure_cpu_ns", "time in which some task of the machine waited for a CPU",
		"/proc/pressure.", "csv"},
	{"pressure_memory_ns", "time in which some task of the machine waited for memory",
		"/proc/pressure.", "csv"},
	{"pressure_io_ns", "time in which some task of the machine waited for storage",
		"/proc/pressure.", "csv"},
	{"throttled_ns", "time in which the cgroup was kept from the CPU by its quota", "",
		"csv"},
	{"fsync_calls", "calls of fsync(2) that succeeded", "See Syncs.", "csv"},
	{"fdatasync_calls", "calls of fdatasync(2) that succeeded", "See Syncs.", "csv"},
	{"msync_calls", "calls of msync(2) with MS_SYNC that succeeded", "See Syncs.", "csv"},
	{"sync_calls", "calls of sync(2) and syncfs(2) that succeeded", "See Syncs.", "csv"},
	{"cycles", "cycles of the processor", "perf_event_open(2), all threads of the process.",
		"csv"},
	{"instructions", "instructions of the processor", "As cycles.", "csv"},
	{"cache_references", "uses of the last cache", "As cycles.", "csv"},
	{"cache_misses", "misses of the last cache", "As cycles.", "csv"},
	{"branches", "branches", "As cycles.", "csv"},
	{"branch_misses", "branches that were predicted wrong", "As cycles.", "csv"},
	{"anonymous_bytes",
		"memory of the process that is of no file, at the end of the "
		"stretch",
		"/proc/self; heap and stacks.", "csv"},
	{"file_bytes", "resident pages of mapped files, of the process",
		"/proc/self; an engine that maps its database has it here.", "csv"},
	{"shared_bytes", "resident pages of shared memory, of the process", "/proc/self.",
		"csv"},
	{"machine_dirty_bytes", "pages of the machine that are still to be written",
		"/proc/meminfo.", "csv"},
	{"process_threads", "threads of the process", "The engine's own among them.", "csv"},

	/* ---- crash tests ---- */

	{"rounds", "how often the writing process was killed, or with --power recorded",
		"A kill is aimed at a number of operations and a random moment after it; a "
		"host that is too busy hits fewer different ones. Below a finding: the command "
		"that does these rounds again, and may find something else.",
		"text of crash"},
	{"level", "the durability that was asked for: what a crash may take of the writes",
		"See Durability. Without --durability each level that the engine offers has a "
		"row.",
		"text of crash"},
	{"crashes", "databases that were opened and looked at after a crash",
		"One for each kill, and with --power one for each state that is made of a "
		"recording.",
		"text of crash"},
	{"acked", "writes that had returned when the process was killed",
		"Those of this round, a batch counts each of its writes. One that had been "
		"begun and had not returned is not among them.",
		"text of crash"},
	{"survived", "writes that had returned and were there after the crash",
		"Or were overwritten by one that was. Deletes and short values that look the "
		"same whether done or not count as there.",
		"text of crash"},
	{"lost", "writes that had returned and were gone after the crash",
		"Keys that lost what they had before the round count as one each. Only none "
		"allows it at a kill.",
		"text of crash"},
	{"torn", "crashes after which a value was none of those put there",
		"Each value is compared whole: one that is cut, or of two, is found.",
		"text of crash"},
	{"ghost", "crashes after which a key or value was there that was never put there",
		"A whole value under another key, of an operation that was not begun, or a key "
		"that a scan tells and no one has put.",
		"text of crash"},
	{"broken", "crashes after which the level did not keep what it promises",
		"Each is told below the table, and kept. At none nothing is promised.",
		"text of crash"},
	{"recovery", "the time of the open after a crash",
		"Of databases that opened, by a new process with a warm page cache: it says "
		"nothing of a cold start or of a large database.",
		"text of crash"},
	{"reordered", "a later write of a session is there and an earlier one is not",
		"The two are named. A log that is read up to its first damage cannot do that; "
		"one that skips damage, or pages written in any order, can.",
		"text of crash"},
	{"split batch", "an atomic batch is there in part",
		"Only where the engine says that its batches are atomic. One key that is there "
		"and one that is not are named.",
		"text of crash"},
	{"scan", "after a crash a scan is out of order, or tells another thing than get",
		"In both directions, where the engine has scans.", "text of crash"},
	{"unstable", "another open after a crash finds other data",
		"Nothing but what the test itself wrote was done meanwhile: what one recovery "
		"has shown, the next one has to show.",
		"text of crash"},
	{"not opened",
		"after a crash the open fails, crashes or hangs, or a call does on what it "
		"opened",
		"It hangs if it has not returned after a minute, or --hang-after. All that had "
		"returned counts as lost.",
		"text of crash"},
	{"not writable",
		"after a crash no write is taken, or one that was made since is not there at "
		"the next open",
		"Keys that no round uses are put after the recovery, and again after a flush "
		"and a checkpoint; then it is opened once more. New records behind a tail that "
		"was not cut off, for example.",
		"text of crash"},
	{"counted", "the moment of a kill was counted, by system calls and instructions",
		"The command told as repeat finds the same again, if the engine does the same "
		"again. Other moments are times, and of these rounds is the command that tries "
		"again.",
		"text of crash"},
	{"again", "the command that looks once more at the database that was kept",
		"It finds the same each time, as the database is copied first, until the "
		"engine has changed.",
		"text of crash"},
	{"repeat", "the command that makes the same crash again",
		"All rounds up to that one, which go on its database. Of a crash whose moment "
		"was counted, and of --power; an engine with threads of its own may do "
		"something else the next time.",
		"text of crash"},
	{"unseen", "writes that a recording of --power does not show",
		"What was found, or was not, may be due to them. Empty: it shows all.",
		"json of crash"},
	{"holes", "writes that are lost while a later one of the same session is there",
		"Told for none, too, which promises no order.", "text of crash, json of crash"},
	{"in_flight", "writes that had been begun and had not returned",
		"They may be there or not. in_flight_kept: how many were.", "json of crash"},
	{"reopening", "the time of the open after a close, to hold recovery against",
		"Of the same databases, with what the test has put after the crash.",
		"json of crash"},

	/* ---- distributions and notebooks ---- */

	{"StdDeviation", "the standard deviation of the times",
		"From the middles of the buckets, as HdrHistogram does. "
		"Latencies are not normally distributed: it says little.",
		"hgrm"},
	{"Value", "the time at a percentile, in microseconds", "The upper end of its bucket.",
		"hgrm"},
	{"TotalCount", "how many of the times are at most as long", "", "hgrm"},
	{"1/(1-Percentile)", "one of so many takes longer",
		"The axis on which percentiles are drawn.", "hgrm"},
	{"puts",
		"writes of a thread: put, insert, update, upsert, read-modify-"
		"write, batch, txn-write",
		"Each operation once.", "notebook, candlestick"},
	{"gets", "reads of a thread: get, read, multi-get, txn-read", "Each operation once.",
		"notebook, candlestick"},
	{"scans", "scans of a thread", "", "notebook, candlestick"},
	{"removes", "deletes of a thread", "", "notebook, candlestick"},

	{NULL, NULL, NULL, NULL},
};

const struct nb_explanation *
nb_explanations(void)
{
	return explanations;
}
