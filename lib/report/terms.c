/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The explanations of all names in the reports: from the tables of metrics, system counts
 * and notes, and of the other terms, which are listed here in the order of the reports.
 */
#include <pthread.h>
#include <strings.h>

#include "report/metric.h"
#include "report/note.h"

/* clang-format off */
static const struct nb_explanation terms[] = {
	/* ---- the head of a report ---- */

	{"Workload", "the name of the job",
		"The name of a preset or of a job file. A result file contains the whole job.", "text of jobs"},
	{"Key Len", "bytes of each key",
		"The value of --klen.", "text of put, get, delete"},
	{"Val Len", "bytes of each value",
		"The value of --vlen. A get expects this size and reports any other as wrong.", "text of put, get, delete"},
	{"Count", "operations that were done",
		"Fewer than requested if the run ended early; then there is a line Partial.", "text of put, get, delete"},
	{"Partial", "the run ended early",
		"A failure, a signal or a time limit ended it. The figures are of the operations that were done; settling, closing and verifying may be missing.", "text, md"},
	{"Shard", "which part of the operations this process did",
		"Of --shard. Parts are numbered from 0; mininb processes with the other shards do the rest.", "text of jobs"},
	{"Generator", "one of several processes that shared a run",
		"Of merged shards, or of the ranks of MPI: operations, and when the process began and ended beside the others. With ranks the moments are on one clock: clock is how far the process's own clock was ahead of rank 0's.", "text of jobs"},
	{"Processes", "processes that had the database open together",
		"Their counts and histograms are merged. The CPU time and memory of each are not known.", "text of jobs"},
	{"Keys", "how mininb makes a key from a record's number, and its length in bytes",
		"As requested by the job.", "text of jobs"},
	{"Values", "bytes of the values, and how well they compress",
		"The requested ratio is what an ideal compression would leave. The other ratio is what zlib leaves of a sample.", "text of jobs"},

	/* ---- the classic report ---- */

	{"Histogram", "how many operations took how long",
		"Service times in half-open intervals of microseconds; empty intervals are left out. Counts are exact.", "text of put, get, delete"},
	{"t min", "the lower bound of a row of the histogram, in microseconds",
		"A time equal to it counts in this row.", "text of put, get, delete"},
	{"t max", "the upper bound of a row of the histogram, in microseconds",
		"A time equal to it counts in the next row.", "text of put, get, delete"},
	{"ops count", "operations whose time lies between the bounds",
		"Exact: counted, not estimated from buckets.", "text of put, get, delete"},
	{"%", "share of all operations in that row",
		"Of the operations that were done.", "text of put, get, delete"},
	{"Total", "the sum of all service times in microseconds, and the number of operations",
		"The times of several threads overlap, so the sum may exceed the wall time.", "text of put, get, delete"},
	{"latency", "a percentile of the service times: that share of the operations took no longer",
		"The upper end of a histogram bucket: never too low, and too high by less than 0.1 %. Left out if fewer than ten operations lie beyond it. Service times of a closed loop do not include the time that others would have waited.", "text of put, get, delete"},
	{"Avg throughput", "operations a second",
		"Operations of all threads over the time from the first begin to the last end. It is not computed from the mean latency.", "text of put, get, delete"},
	{"Acked throughput", "writes a second, by the time at which the engine acknowledged them",
		"The same number as Avg throughput. The line Durability defines what an acknowledged write survives; the engine may have deferred work.", "text of put, delete"},
	{"Settled", "how the run was settled, and operations a second including that",
		"See Settled throughput.", "text of jobs"},
	{"Data rate", "bytes of keys and values a second",
		"Bytes requested or returned, over wall time; of a delete only the keys. It is not the rate of the disk.", "text of put, get, delete"},

	/* ---- correctness ---- */

	{"Verified", "how much of the data was verified, and how much of it was wrong",
		"A sample: --verify-rate of the operations. Reads are checked as they return; writes are read back after the run, untimed. If the engine keeps its data, mininb closes the database and opens it again first, and with --cold drops it from the page cache. 0 wrong in a small sample proves little.", "text, md"},
	{"Read back", "verified records that were read again after the operations",
		"They are included in Verified. A record must have the last value that the run wrote, and a deleted one must be absent. A run reads back the last 1024 writes of each thread and up to 1024 older ones.", "text of jobs"},
	{"Wrong", "a wrong record: the operation, the key and the error",
		"At most eight of a group are kept. A lost update: two operations have read one version of the record, and both have written the record. Write skew: each of two operations has read what the other one then wrote.", "text of jobs"},
	{"Level", "how far an operation of several steps is one: serializable, snapshot, atomic writes or emulated",
		"The weakest of the group's kinds, from what the engine states and the calls that were made. Results of different levels are not ranked.", "text of jobs"},
	{"Exists", "inserts that found their key in the database",
		"Only with insert-verb = insert. The engine kept the old record. mininb reports each as wrong if the record should have been new.", "text of jobs"},
	{"Batch read", "the time of the scan of all edges before a run of TAOBench",
		"Only with --batch-read. One session reads the keys of all edges in pages of 500, before the operations; nothing of it is in their times.", "text, json"},
	{"Left out", "operations of a trace that were not done",
		"mininb does not do their kind, or their lines are damaged.", "text of replay"},
	{"Phases", "the wall time of each part of the run",
		"start (check options, map the keys, calibrate the clock), keys (survey them), harness (measure it on the null engine), prepare, open, load, the operations, settle, verify, close, inspect (which pages of the database are in memory). A phase lasts until the next begins. Sessions are opened before the operations and closed before settle. Rates are of the operations only.", "text, json"},
	{"Duplicate keys", "keys of the file that repeat an earlier key",
		"A put of such a key overwrites; a delete of it finds nothing. \"about\" if mininb surveyed only a part of a large file.", "text of put, get, delete"},
	{"Value ratio", "size when compressed over size, of the values that were written",
		"The requested ratio, which an ideal compression would leave. At 1 compression gains nothing.", "text of put"},

	/* ---- conditions ---- */

	{"Cache", "the requested size of the engine's cache",
		"The value of --cache. The kernel's page cache comes on top, unless the engine bypasses it.", "text, md"},
	{"Cache state", "how much of the database was in memory before and after the operations",
		"Resident pages of its files, by mincore(2), when the operations began and after closing; and how the run was made cold, if requested. It includes neither the engine's own cache nor the device's.", "text"},
	{"Clock", "the clock of the latencies: its kind, rate, step and the cost of a stamp",
		"Each operation has two stamps, unless --latency says otherwise. Both are part of the throughput, about one of each latency. Nothing is subtracted.", "text"},
	{"Harness", "the harness's own time for an operation",
		"The same loop, keys, values and clock with the null engine; the median of several passes. No engine can have a higher throughput than that allows. Nothing is subtracted. It does not show that stamps keep cache misses of neighbouring operations from overlapping, which costs a fast engine more; --latency=sampled:64 shows that.", "text, md"},
	{"Without stamps", "mean time of an operation that had no time stamps of its own",
		"The time between two stamps over the operations there, verification excluded. With --latency=sampled:N or block; time for making keys and values between blocks is not in it.", "text, md"},
	{"With stamps", "mean time of an operation that had its own time stamps, in the same run",
		"The difference to those without is what timing each operation would cost this engine: two stamps, and cache misses that can no longer overlap with those of the next operation.", "text, md"},
	{"Engine", "the engine's version, licence and kind of build, and the plugin's file",
		"As the plugin reports them, of the library that was loaded.", "text, md"},
	{"Server", "the server that the engine connected to",
		"The address that the engine connected to. Several share the keys evenly.", "text"},
	{"Server settings", "version and settings of the servers",
		"As the engine read them back when it connected. Of several servers with the same settings they are printed once.", "text"},
	{"Transactions", "the guarantee for an operation of several steps",
		"The level of each group: serializable, snapshot, atomic or emulated.", "text"},
	{"Refused", "operations that the database refused",
		"The key was there, the value was not newer, or the prefix was not empty.", "text, md"},
	{"Option", "an engine option in effect",
		"Defaults are included.", "text, md"},
	{"Counter", "growth of one of the engine's own counters",
		"From the begin of the first operation until the run was settled, with a warm-up and without reading back. The engine defines what it means. Counters at 0 are left out.", "text, csv, md, html"},
	{"Gauge", "a level that the engine reports, at the end",
		"When the run was settled.", "text, csv, md, html"},
	{"Counters", "why the engine's counters are missing",
		"Each of several processes has its own counters, and mininb cannot add them up.", "text"},
	{"mininb", "the version of mininb",
		"Of the library that was loaded.", "text, md"},
	{"Note", "a reason why the figures may be wrong, or mean less than they seem to",
		"Each note has an identifier; mininb explain takes it.", "text, md"},
	{"Machine", "the machine: name, processor, CPUs and memory that the process may use, hypervisor",
		"As the system reports it.", "md"},
	{"System", "operating system, kernel and allocator",
		"As the system reports them. The allocator is linked into the process or preloaded.", "md"},
	{"File system", "where the database is: file system, mount options, device",
		"Of the directory of the database.", "md"},

	/* ---- groups of a job ---- */

	{"operation", "the kind of operation, or all kinds of a group together",
		"Each operation is timed as one, however many records it accesses.", "text of jobs, md, csv (kind)"},
	{"time", "the time of the line: service, response or lateness",
		"Service: from the call to its return. Response: from the moment when the operation was due, so it includes the queue. Do not compare one with the other.", "text of jobs, md, csv (series)"},
	{"service", "time from the call of the engine to its return",
		"The time of one operation. In a closed loop it hides the waiting of operations that would have arrived meanwhile (coordinated omission).", "text, csv, md, html"},
	{"response", "time from the moment when an operation was due to its end",
		"Only with a rate. It is what a user waits, including the queue in front of the engine. If the queue grew, it shows how long the run was.", "text, csv, md, html"},
	{"lateness", "how much later than planned a thread woke up",
		"See Hiccups and Harness lateness. As a note: half of the operations began late by more than a tenth of the median response time.", "csv, md, notes"},
	{"Depth", "requests that each thread had in flight at most",
		"As --depth asked for. Without the line each thread made one call after the other.",
		"text, json"},
	{"Queue", "whether operations were due faster than the engine could do them",
		"It grew if more than 1 % of the due operations were left, or if the last operation began late by more than 5 % of the time, beyond those under way. Response times then show how long the run was.", "text of jobs"},
	{"Harness lateness", "how late the harness itself began operations that it had waited for",
		"From the moment when an operation was due until its thread was awake after sleeping or spinning. Response times include it; the engine did not cause it. No other figure includes the CPU time of this waiting.", "text of jobs, csv, md"},
	{"Ops/s by thread", "operations a second of each thread",
		"Each over its own time. If they differ widely, some threads starved.", "text of jobs, md, candlestick"},
	{"Steady", "whether the throughput became steady",
		"Over the last window the line of least squares changed by less than the limit, and no interval was further off the mean than allowed (after SNIA's Performance Test Specification).", "text of jobs"},
	{"Checkpoints", "how long each checkpoint took that the engine wrote during the operations",
		"mininb asks for one every --checkpoint-every, on a thread of its own. The latencies of the operations include its cost.", "text of jobs"},
	{"Hiccups", "how late a thread woke up that only sleeps",
		"The scheduler, the hypervisor or the hardware delayed it, and would have delayed any other thread: they may have caused latencies of that length, not the engine. Each missed wake-up counts with its own lateness.", "text of jobs, csv, md"},

	/* ---- what a run used of the system ---- */

	{"Faults", "page faults during the operations: minor ones, and major ones that read from storage",
		"getrusage(2), the whole process.", "text, csv"},
	{"Switches", "context switches: voluntary and involuntary",
		"getrusage(2), the whole process. In a voluntary switch a thread waits, for a lock or for storage; in an involuntary one the kernel takes the CPU away.", "text, csv"},
	{"Bytes written", "bytes written at each layer, and for each requested byte",
		"calls: by write(2) and similar calls; storage: pages dirtied for it, without those removed before they were written; device: by the block device, for all processes. Until the database was closed. An engine that maps its files makes no calls. Requested bytes: keys and values of puts, and keys of deletes.", "text, csv, md, html"},
	{"Bytes read", "bytes read at each layer, and for each requested byte",
		"calls: by read(2) and similar calls; storage: read from it; device: by the block device, for all processes. During the operations. Requested bytes: the keys and values that were returned.", "text, csv, md, html"},
	{"Write amplification", "bytes written at a layer for each requested byte",
		"See Bytes written.", "md, csv"},
	{"Read amplification", "bytes read at a layer for each requested byte",
		"See Bytes read. Below 1 if a cache had the data.", "md, csv"},
	{"Space", "space allocated for the keys and values that should be in the database",
		"Allocated blocks after closing, over the bytes of live records. It includes files that an engine allocates in advance.", "text"},
	{"Stalls", "times without an operation, or below half of the median rate",
		"Found in counts of 20 ms. A gap is longer than 60 ms and than the time of twenty operations; a slow stretch lasts at least 100 ms. Warm-ups are left out, and so is the end of a phase after the first thread finished.", "text, csv, md, html"},
	{"Worst stall", "the longest stall, and the counters that grew out of proportion during it",
		"The cause is a guess by coincidence: the engine's counter, else the system's count, that grew most out of proportion. Their samples are coarser than stalls.", "text, md"},
	{"meanwhile", "counters that grew most out of proportion during a stall",
		"A guess; see Worst stall.", "md"},
	{"at", "when a stall began",
		"Since the first operation of the first phase.", "md"},
	{"for", "how long a stall lasted",
		"In whole pulses of 20 ms; a gap by the stamps of the operations before and after it.", "md"},
	{"ops/s then", "operations a second during a stall",
		"0 is a gap.", "md"},

	/* ---- side by side ---- */

	{"engine", "the engine, and the differences between its runs",
		"By the name that --driver takes.", "md"},
	{"inserts", "operations that put a new record",
		"Inserts only.", "text of lists"},
	{"reads", "operations that read",
		"Single reads, without scans and multi-gets.", "text of lists"},
	{"updates", "updates, upserts and read-modify-writes",
		"Batches and transactions belong to none of these three.", "text of lists"},
	{"ns/op", "time of a thread for an operation",
		"Wall time of the group times its threads, over its operations. Unlike the mean latency, it includes the harness.", "text of lists"},

	/* ---- the page in HTML ---- */

	{"mix", "the operations of a group, and the share of each",
		"The requested shares; of a trace, what mininb read of it.", "html"},
	{"operations", "operations that count",
		"Without those of a warm-up.", "html"},
	{"in", "the time of a group's operations",
		"From the begin of the first to the end of the last.", "html"},
	{"measured", "number of times in the line's figures",
		"Few times support few percentiles.", "html"},
	{"asked for", "requested bytes of keys and values",
		"The bytes of the layers are divided by it.", "html"},
	{"by calls", "bytes by read(2), write(2) and similar calls for each requested byte",
		"See Bytes written and Bytes read.", "html"},
	{"storage", "bytes that the process read from storage, or dirtied for it, for each requested byte",
		"See Bytes written and Bytes read.", "html"},
	{"device", "bytes that the block device read or wrote, for all processes, for each requested byte",
		"See Bytes written and Bytes read.", "html"},
	{"when", "before the database was opened, before the first operation, or after closing",
		"", "html"},
	{"in memory", "bytes of the database in the page cache",
		"mincore(2); see Cache state.", "html"},
	{"of", "bytes of all files of the database",
		"Holes do not count.", "html"},
	{"share", "the share of the database in the page cache",
		"See Cache state.", "html"},
	{"ops/s meanwhile", "operations a second during a stall",
		"0 is a gap.", "html"},
	{"what the engine counted", "counters that grew most out of proportion during a stall",
		"A guess; see Worst stall.", "html"},
	{"name", "the name of a counter",
		"As the engine reports it.", "html"},

	/* ---- while it runs ---- */

	{"seconds", "the end of the interval",
		"Since the first operation, including those of a warm-up.", "text"},
	{"p50 us", "the median of an interval's own operations, or of a comparison",
		"Service times, or response times with a rate. In microseconds. Blank if there are too few.", "text, compare"},
	{"p99 us", "the 99th percentile of an interval's own operations, or of a comparison",
		"See p50 us.", "text, compare"},
	{"max us", "the longest time of an interval",
		"The upper end of its bucket.", "text"},
	{"behind", "operations that were due at the end of an interval and not done",
		"Only with a rate. If it keeps growing, the rate is above what the engine can do.", "text, csv"},
	{"warm-up", "the interval does not count",
		"No figure of the report includes its operations, except those of the system.", "text"},

	/* ---- a sweep of rates ---- */

	{"Capacity", "operations a second in a closed loop",
		"The loads of a sweep are shares of it. In a closed loop threads never wait for a due time.", "text, md"},
	{"load", "the offered rate as a share of the capacity",
		"", "text, md"},
	{"offered/s", "operations that were due in a second",
		"As requested.", "text, md"},
	{"achieved/s", "operations that were done in a second",
		"Below the offered rate: the engine could not keep up.", "text, md"},
	{"service p50", "the median of the service times",
		"Nearly the same at each load, because the queue is part of the response times only.", "md"},
	{"service p99", "the 99th percentile of the service times",
		"", "md"},
	{"response p50", "the median of the response times",
		"From the moment when an operation was due.", "md"},
	{"response p99", "the 99th percentile of the response times",
		"It turns up at the knee.", "md"},
	{"response p99.9", "the 99.9th percentile of the response times",
		"", "md"},
	{"response max", "the longest response time",
		"A single operation.", "md"},
	{"p99 of response, log", "the p99 of response as a bar",
		"Logarithmic, from the lowest of the sweep to the highest.", "text"},
	{"state", "whether the engine kept up: kept up, fell behind, queue grew; and the knee",
		"Fell behind: it did less than 98 % of the offered operations.", "text, md"},
	{"knee", "the first rate that the engine does not sustain",
		"The p99 of response is more than twice that of the lowest rate, or less than 98 % of the offered operations were done.", "text, md"},
	{"Highest rate that held", "the highest rate that kept the requested limit",
		"Found by bisection, so exact only to the last step. If the limit is near the noise, the result depends on a lucky run.", "text, md"},

	/* ---- comparisons ---- */

	{"ratio", "the other sample's value over the first sample's",
		"The median over all pairs of runs (Hodges and Lehmann). Below 1 is better for times, above 1 for rates.", "compare"},
	{"CI", "the confidence interval of the ratio",
		"At the confidence in the line; from order statistics of the ratios, or by bootstrap. It shows how runs vary on this machine, not on others.", "compare"},
	{"p", "the probability of so large a difference if there is none",
		"Mann and Whitney's test over the runs, not over operations. Without a difference one line in twenty is below 0.05.", "compare"},
	{"against 1", "the ratio and its interval as a bar",
		"Logarithmic: half and twice are equally far from the middle.", "compare"},
	{"cannot be told apart", "the difference may be chance",
		"It does not mean equal: the interval shows how large the difference may be.", "compare"},
	{"faster", "the other sample is better by that much",
		"Percent of the first sample's value; from twice on, a factor. Reported if the test finds that it is hardly chance, or for one run each, which the line mentions.", "compare"},
	{"slower", "the other sample is worse by that much",
		"See faster.", "compare"},
	{"NOT COMPARABLE", "why these runs cannot be ranked",
		"They did different work, or ran under different conditions. --force compares them anyway.", "compare"},
	{"work", "the action, and the settings that the compared runs have in common",
		"Engines are compared within one work. In a matrix it has the values of all lists but those of engines and their options.", "compare"},
	{"runs", "repetitions of the same work",
		"The size of a sample. One run does not show how much runs vary.", "compare"},
	{"gate", "whether a figure got worse by more than the limit",
		"It fails if the estimate is above the limit and the whole interval is on the wrong side of 1. With one run each only the estimate decides, which the line mentions.", "compare"},
	{"contestant", "an engine of vs, with its options",
		"All its repetitions are one sample. \"leveldb#2\" is the second contestant with that engine.", "html"},
	{"base", "the contestant that the others are compared with",
		"The first on the command line.", "html, csv"},
	{"figure", "the compared figure: throughput, settled, p50, read.p99",
		"Each run has one value.", "html, csv"},
	{"median", "the median of the figure over the runs of a contestant",
		"", "csv"},
	{"MAD", "how much the runs of a contestant differ",
		"The median absolute deviation from their median, in the unit of the figure.", "html, csv"},
	{"lowest", "the lowest value of all runs of a contestant",
		"", "html, csv"},
	{"highest", "the highest value of all runs of a contestant",
		"", "html, csv"},
	{"ratio_low", "the lower end of the ratio's interval",
		"See CI.", "csv"},
	{"ratio_high", "the upper end of the ratio's interval",
		"See CI.", "csv"},
	{"confidence", "the confidence of the interval, from 0 to 1",
		"At least the requested one; with few runs it may be lower.", "csv"},
	{"verdict", "whether the contestant is better or worse than the base in this figure",
		"Only if both the test and the interval show it. Otherwise the two cannot be told apart, or there are too few runs.", "html, csv"},

	/* ---- tables for programs ---- */

	{"end_s", "the end of a stretch of time",
		"Since the first operation of the first phase.", "csv"},
	{"duration_s", "the length of a stretch of time",
		"", "csv"},
	{"is_warmup", "1: the stretch does not count",
		"Its operations have no latencies.", "csv"},
	{"behind_ops", "operations that were due and not done",
		"See behind.", "csv"},
	{"percentile", "the share of the times that are at most as long, in percent",
		"Denser towards 100, like HdrHistogram's percentile distribution.", "csv, hgrm"},
	{"value_ns", "the time at a percentile",
		"The upper end of its bucket.", "csv"},
	{"count", "number of a curve's times up to the row, or of operations in a stretch",
		"", "csv"},
	{"counter", "a counter or level of the engine's own",
		"In a stretch: the growth of a counter, the level of a gauge at the end.", "csv, md"},
	{"unit", "the unit of a counter",
		"As the engine reports it.", "csv, md"},
	{"value", "the value of a counter",
		"", "csv, md"},

	/* ---- crash tests ---- */

	{"rounds", "how often mininb killed the writing process, or recorded it with --power",
		"Each kill has a target: a number of operations and a random moment after it. A busy host hits fewer different moments. Below a finding: the command that repeats these rounds; it may find something else.", "text of crash"},
	{"level", "the requested durability: which writes a crash may take",
		"See Durability. Without --durability, each level of the engine has a row.", "text of crash"},
	{"crashes", "databases that were opened and checked after a crash",
		"One for each kill; with --power, one for each state made from a recording.", "text of crash"},
	{"acked", "writes that had returned when the process was killed",
		"Of this round; each write of a batch or transaction counts, unless it was aborted. A write that had begun and not returned does not count.", "text of crash"},
	{"survived", "writes that had returned and were there after the crash",
		"Or a surviving later write replaced them. A delete or a short value that looks the same either way counts as surviving.", "text of crash"},
	{"lost", "writes that had returned and were gone after the crash",
		"A key that lost its value from before the round counts as one. After a kill, only the level none allows it.", "text of crash"},
	{"torn", "crashes after which a record had a value that nobody put there",
		"mininb compares whole values, so it finds a truncated one, or one made of two. Of a counter, a sum with an addition twice.", "text of crash"},
	{"ghost", "crashes after which a key or value was there that nobody put there",
		"A whole value under another key, the effect of an operation that had not begun, a write of an aborted transaction, or a key in a scan that nobody put.", "text of crash"},
	{"broken", "crashes after which the level broke its promise",
		"The lines below the table describe each, and mininb keeps its database. The level none promises nothing.", "text of crash"},
	{"recovery", "the time of the open after a crash",
		"Of databases that opened, by a new process with a warm page cache. It does not predict a cold start or a large database.", "text of crash"},
	{"reordered", "a later write of a session is there and an earlier one is not",
		"The line names both. An engine that reads its log up to the first damage cannot do that; one that skips damage, or writes pages in any order, can.", "text of crash"},
	{"split batch", "a part of an atomic batch or a transaction is there",
		"Of batches only if the engine declares them atomic. The line names a key that is there and one that is not.", "text of crash"},
	{"scan", "after a crash a scan is out of order, or disagrees with get",
		"In both directions, if the engine has scans.", "text of crash"},
	{"unstable", "a second open after a crash finds other data",
		"Only the test itself wrote in between: each recovery must show the same data.", "text of crash"},
	{"not opened", "after a crash the open fails, crashes or hangs, or a call on the opened database does",
		"It hangs if it does not return within a minute, or --hang-after. All acknowledged writes then count as lost.", "text of crash"},
	{"not writable", "after a crash the engine refuses writes, or loses one made after the recovery",
		"The test puts keys that no round uses after the recovery, and again after a flush and a checkpoint; then it opens the database once more. For example, new records after a damaged tail that recovery did not truncate.", "text of crash"},
	{"counted", "the moment of a kill was counted, by system calls and instructions",
		"The command in the line repeat finds the same again, if the engine does the same again. Other moments are times; for their rounds, use the command in the line rounds.", "text of crash"},
	{"again", "the command that checks the kept database again",
		"It works on a copy, so it finds the same each time until the engine changes.", "text of crash"},
	{"repeat", "the command that makes the same crash again",
		"It repeats all rounds up to that one, because they share a database. For a counted crash and for --power; an engine with its own threads may behave differently the next time.", "text of crash"},
	{"unseen", "writes that a recording of --power does not contain",
		"They may explain a finding, or its absence. Empty: the recording contains all writes.", "json of crash"},
	{"holes", "writes that are lost although a later one of the same session is there",
		"Also reported for the level none, which promises no order.", "text of crash, json of crash"},
	{"in_flight", "writes that had begun and not returned",
		"They may be there or not. in_flight_kept: how many were.", "json of crash"},
	{"reopening", "the time of the open after a close, to compare recovery with",
		"Of the same databases, with the keys that the test put after the crash.", "json of crash"},

	/* ---- distributions and notebooks ---- */

	{"StdDeviation", "the standard deviation of the times",
		"From the middles of the buckets, as HdrHistogram computes it. Latencies are not normally distributed, so it means little.", "hgrm"},
	{"Value", "the time at a percentile, in microseconds",
		"The upper end of its bucket.", "hgrm"},
	{"TotalCount", "how many of the times are at most as long",
		"", "hgrm"},
	{"1/(1-Percentile)", "one in that many operations takes longer",
		"The axis of percentile plots.", "hgrm"},
	{"puts", "writes of a thread: put, insert, update, upsert, read-modify-write, batch, txn-write",
		"Each operation counts once.", "notebook, candlestick"},
	{"gets", "reads of a thread: get, read, multi-get, txn-read",
		"Each operation counts once.", "notebook, candlestick"},
	{"scans", "scans of a thread",
		"", "notebook, candlestick"},
	{"removes", "deletes of a thread",
		"", "notebook, candlestick"},
	{NULL, NULL, NULL, NULL},
};
/* clang-format on */

enum { EXPLANATIONS_MAX = 512 };

static struct nb_explanation explanations[EXPLANATIONS_MAX];
static size_t count;

static void
add(const char *name, const char *what, const char *how, const char *where)
{
	if (name != NULL && count < EXPLANATIONS_MAX - 1)
		explanations[count++] = (struct nb_explanation){name, what, how, where};
}

static bool
is_other(const char *name, const char *than)
{
	return name != NULL && (than == NULL || strcasecmp(name, than) != 0);
}

/** Add a metric under each of its names. */
static void
add_metric(const struct metric *it)
{
	add(it->line, it->what, it->how, it->where);
	if (is_other(it->title, it->line))
		add(it->title, it->what, it->how, it->where);
	if (is_other(it->figure.name, it->title) && is_other(it->figure.name, it->line))
		add(it->figure.name, it->what, it->how, it->where);
	if (is_other(it->name, it->line) && is_other(it->name, it->title))
		add(it->name, it->what, it->how, it->where);
}

static void
add_system(void)
{
#define SOURCE(group, name, source) static const char source_##group[] = source;
	SYSTEM_GROUPS(SOURCE)
#undef SOURCE
#define COUNT(member, column, group, what) add(column, what, source_##group, "csv");
	SYSTEM_COUNTS_LIST(COUNT)
#undef COUNT
#define LEVEL(member, column, what, how) \
	if (metric_find(column) == NULL) \
		add(column, what, how, "csv");
	SYSTEM_LEVELS_LIST(LEVEL)
#undef LEVEL
}

static void
collect(void)
{
	for (const struct nb_explanation *it = terms; it->name != NULL; it++)
		add(it->name, it->what, it->how, it->where);
	for (const struct metric *it = metric_table; it->name != NULL; it++)
		add_metric(it);
	add_system();
	for (const struct nb_note_kind *it = nb_note_kinds(); it->id != NULL; it++)
		if (it->how != NULL)
			add(it->id, it->what, it->how, "text, json, md");
}

const struct nb_explanation *
nb_explanations(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, collect);
	return explanations;
}
