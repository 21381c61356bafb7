/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The explanations of all names in the reports: those of the tables of metrics, of system
 * counts and of notes, and of the other terms, which stand here in the order of the reports.
 */
#include <pthread.h>
#include <strings.h>

#include "report/metric.h"
#include "report/note.h"

/* clang-format off */
static const struct nb_explanation terms[] = {
	/* ---- the head of a report ---- */

	{"Workload", "the name of the job that was run",
		"A preset's, or the file's. A result file keeps the whole job.",
		"text of jobs"},
	{"Key Len", "bytes of each key",
		"As it was asked for, by --klen.", "text of put, get, delete"},
	{"Val Len", "bytes of each value",
		"As it was asked for, by --vlen. A get expects it, and calls another size "
		"wrong.", "text of put, get, delete"},
	{"Count", "operations that were done",
		"Fewer than were asked for if the run ended early, which the line Partial "
		"says.", "text of put, get, delete"},
	{"Partial", "the run ended before it was whole",
		"By a failure, by a signal or by a limit of time. What is there is of the "
		"operations that were done; settling, closing and verifying may not have come.",
		"text, md"},
	{"Processes", "processes that had the database open together",
		"Their counts and histograms are merged. CPU time and memory of each are not "
		"known.", "text of jobs"},
	{"Keys", "how a record's number becomes its key, and how many bytes that is",
		"Of a job; as it was asked for.", "text of jobs"},
	{"Values", "bytes of the values, and how well they can be compressed",
		"The ratio asked for is what an ideal compression would leave; the other is "
		"what zlib leaves of a sample of them.", "text of jobs"},

	/* ---- the classic report ---- */

	{"Histogram", "how many operations took how long",
		"Service times in half-open intervals of microseconds, only those that hold "
		"something. Counts are exact.", "text of put, get, delete"},
	{"t min", "the lower bound of a row of the histogram, in microseconds",
		"A time equal to it is counted in this row.", "text of put, get, delete"},
	{"t max", "the upper bound of a row of the histogram, in microseconds",
		"A time equal to it is counted in the next row.", "text of put, get, delete"},
	{"ops count", "operations whose time lies within the bounds",
		"Exact: counted, not reckoned from buckets.", "text of put, get, delete"},
	{"%", "share of all operations in that row",
		"Of those that were done.", "text of put, get, delete"},
	{"Total", "the sum of all service times in microseconds, and the number of operations",
		"With several threads their times overlap, so the sum is more than the time "
		"that passed.", "text of put, get, delete"},
	{"latency",
		"a percentile of the service times: that share of the operations took no "
		"longer",
		"The upper end of a histogram's bucket, so never too low and too high by less "
		"than 0.1 %. Not given where fewer than ten operations lie beyond it. Service "
		"times of a closed loop leave out what others would have waited meanwhile.",
		"text of put, get, delete"},
	{"Avg throughput", "operations a second",
		"Operations over the time from the first one's begin to the last one's end, "
		"all threads. It is not made from the mean latency.",
		"text of put, get, delete"},
	{"Acked throughput", "writes a second, as the engine said that they were done",
		"The same number as Avg throughput. What is done by then depends on the line "
		"Durability; work may have been put off.", "text of put, delete"},
	{"Settled", "how the run was settled, and operations a second with that",
		"As Settled throughput.", "text of jobs"},
	{"Data rate", "bytes of keys and values a second",
		"As they were asked for or returned, over wall time; of a delete the keys "
		"alone. It is no rate of the disk.", "text of put, get, delete"},

	/* ---- whether it was right ---- */

	{"Verified", "how much of the data was looked at, and what was wrong with it",
		"A sample, --verify-rate of the operations. What is read is checked against "
		"what must be there; writes are read back after the run, untimed. If the "
		"engine keeps its data, mininb closes the database and opens it again before "
		"it reads back, and drops it from the page cache with --cold. 0 wrong of a "
		"small sample is no proof.", "text, md"},
	{"Read back", "verified records that were looked up again after the operations",
		"They are part of Verified. A record that a run wrote must have its last "
		"value, and one that it deleted must not be there. A run reads back the last "
		"1024 writes of each thread and up to 1024 older ones.", "text of jobs"},
	{"Wrong", "a record that was not what it should be: operation, key, and what was wrong",
		"At most eight are kept of a group.", "text of jobs"},
	{"Left out", "operations of a trace that were not done",
		"Of kinds that mininb does not do, or on damaged lines.", "text of replay"},
	{"Phases", "how long each part of the run took, by the wall",
		"start (checking options, mapping the keys, calibrating the clock), keys "
		"(their survey), harness (measured on the null engine), prepare, open, load, "
		"the operations, settle, verify, close, inspect (what of the database is in "
		"memory). One lasts until the next begins, so sessions are opened and closed "
		"in the ones before. The rate is of the operations alone.", "text, json"},
	{"Duplicate keys", "keys of the file that repeat one before them",
		"A put of one overwrites, a delete of one finds nothing. \"about\" if the "
		"file is so large that only a part was looked at.", "text of put, get, delete"},
	{"Value ratio", "size when compressed over size, of the values that were written",
		"As it was asked for: what an ideal compression would leave. 1 gives an "
		"engine that compresses nothing to gain.", "text of put"},

	/* ---- conditions ---- */

	{"Cache", "the engine's cache, if its size was asked for",
		"--cache. The kernel's page cache is another, and comes on top unless the "
		"engine goes around it.", "text, md"},
	{"Cache state",
		"how much of the database was in memory before the first operation, and "
		"afterwards",
		"Pages of its files that mincore(2) calls resident, when the operations began "
		"and after closing; and how it was made cold, if it was asked to be. The "
		"engine's own cache is not in it, nor the device's.", "text"},
	{"Clock",
		"what latencies are measured with: its kind, its rate, its steps and what a "
		"stamp costs",
		"Two stamps for each operation, both inside the throughput, about one inside "
		"each latency. Nothing is subtracted.", "text"},
	{"Harness", "what the harness itself takes for an operation",
		"The same loop, keys, values and clock on the engine null, the median of "
		"several passes. It bounds the throughput that could be seen at all. Nothing "
		"is subtracted.", "text, md"},
	{"Engine", "the engine's version, licence, kind of build, and the plugin's file",
		"As the plugin says, of the library that was loaded.", "text, md"},
	{"Option", "an option of the engine as it was in force",
		"Those that were not given too.", "text, md"},
	{"Counter", "how much a counter of the engine's own grew",
		"From the first operation's begin until the run was settled, without what was "
		"read back; a warm-up is in it. What it means is the engine's to say. Those "
		"that are 0 are left out.", "text, csv, md, html"},
	{"Gauge", "a level that the engine tells, at the end",
		"When the run was settled.", "text, csv, md, html"},
	{"Counters", "why the engine's counters are missing",
		"Of several processes none can be told, since each counts its own.", "text"},
	{"mininb", "the version of mininb", "Of the library that was loaded.", "text, md"},
	{"Note", "a reason why the figures may be wrong, or mean less than they seem to",
		"Each has an identifier, see there.", "text, md"},
	{"Machine",
		"the machine: name, processor, CPUs and memory that the process may use, "
		"hypervisor",
		"As the system tells.", "md"},
	{"System", "operating system, kernel and allocator",
		"As the system tells; the allocator is the one that the process was linked "
		"with or preloaded.", "md"},
	{"File system", "what the database is on: file system, options of its mount, device",
		"Of the directory of the database.", "md"},

	/* ---- groups of a job ---- */

	{"operation", "the kind of operation, or all kinds of a group together",
		"Each is timed as one, however many records it goes to.",
		"text of jobs, md, csv (kind)"},
	{"time", "which time the line tells: service, response, or lateness",
		"Service: from the call to its end. Response: from the moment at which the "
		"operation was due, so with the waiting in the queue. Do not compare one with "
		"the other.", "text of jobs, md, csv (series)"},
	{"service", "time from the call of the engine to its end",
		"What one operation took. In a closed loop it hides the waiting of those that "
		"would have come meanwhile (coordinated omission).", "text, csv, md, html"},
	{"response", "time from the moment at which an operation was due to its end",
		"Only where there is a rate. It is what a user waits, with the queue in front "
		"of the engine; if the queue grew it tells how long the run was.",
		"text, csv, md, html"},
	{"lateness", "how much later than planned something woke up",
		"See Hiccups and Harness lateness. As a note: half of the operations began so "
		"late that it is more than a tenth of the median response time.",
		"csv, md, notes"},
	{"Queue", "whether operations were due faster than they could be done",
		"It grew if more than 1 % of what was due was left, or if the last operation "
		"began late by more than 5 % of the time, beyond what is under way anyway. "
		"Response times then tell how long the run was.", "text of jobs"},
	{"Harness lateness",
		"how late the harness itself began operations that it had waited for",
		"Between the moment at which one was due and the one at which its thread was "
		"awake, where it had slept or spun until then. It is in the response times "
		"and is not the engine's. The CPU time of that waiting is in no other figure.",
		"text of jobs, csv, md"},
	{"Ops/s by thread", "operations a second of each thread",
		"Each over its own time. Far apart: some were starved.",
		"text of jobs, md, candlestick"},
	{"Steady", "whether the throughput had become steady",
		"Over the last window the line of least squares changed by less than the "
		"limit, and no interval was further off the mean than allowed (after SNIA's "
		"Performance Test Specification).", "text of jobs"},
	{"Hiccups", "how late a thread woke up that only sleeps",
		"Scheduler, hypervisor or hardware kept it, and would have kept any other "
		"thread: what of the engine's latencies is that high may be theirs. Wakings "
		"that were missed meanwhile count, each with its own lateness.",
		"text of jobs, csv, md"},

	/* ---- what a run took of the system ---- */

	{"Faults",
		"page faults while the operations ran: minor ones, and major ones that read "
		"from storage",
		"getrusage(2), the whole process.", "text, csv"},
	{"Switches", "how often threads gave the CPU up, and how often it was taken from them",
		"getrusage(2), the whole process. A voluntary one is a wait, for a lock or "
		"for storage.", "text, csv"},
	{"Bytes written",
		"bytes written at each layer, and how many for one that was asked for",
		"calls: by write(2) and similar calls; storage: pages made dirty for it, "
		"without those removed before they were written; device: by the block device, "
		"whoever used it. Until the database was closed. An engine that maps its "
		"files makes no calls. Over keys and values that were put, and keys that were "
		"deleted.", "text, csv, md, html"},
	{"Bytes read", "bytes read at each layer, and how many for one that was asked for",
		"calls: by read(2) and similar calls; storage: fetched from it; device: by "
		"the block device, whoever used it. While the operations ran, over keys and "
		"values that were returned.", "text, csv, md, html"},
	{"Write amplification", "bytes written at a layer for one byte that was asked for",
		"As Bytes written.", "md, csv"},
	{"Read amplification", "bytes read at a layer for one byte that was asked for",
		"As Bytes read. Less than 1 if a cache had it.", "md, csv"},
	{"Space", "space allocated for the keys and values that should be in the database",
		"Blocks after closing, over bytes of what is alive. Files that an engine "
		"allocates ahead are in it.", "text"},
	{"Stalls", "times without an operation, or below half of the median rate",
		"Looked for in counts of 20 ms. A gap is longer than 60 ms and than twenty "
		"operations take; a slow stretch is 100 ms at least. Warm-ups are left out, "
		"and so is the end of a phase from where the first thread was done.",
		"text, csv, md, html"},
	{"Worst stall", "the longest of those, and what grew most out of proportion meanwhile",
		"The cause is a guess by coincidence: of the engine's counters, else of the "
		"system's. Samples of them are coarser than stalls.", "text, md"},
	{"meanwhile", "what grew most out of proportion during a stall",
		"A guess, see Worst stall.", "md"},
	{"at", "when a stall began", "Since the first operation of the first phase.", "md"},
	{"for", "how long a stall lasted",
		"In whole pulses of 20 ms; a gap by the stamps of the operations before and "
		"after it.", "md"},
	{"ops/s then", "operations a second during a stall", "0 is a gap.", "md"},

	/* ---- side by side ---- */

	{"engine", "the engine, and what tells several runs of it apart",
		"By the name that --driver takes.", "md"},
	{"inserts", "operations that put a new record", "Inserts alone.", "text of lists"},
	{"reads", "operations that read",
		"Reads alone, no scans and none of several records.", "text of lists"},
	{"updates", "updates, upserts and read-modify-writes",
		"Batches and transactions are in none of these three.", "text of lists"},
	{"ns/op", "time of a thread for an operation",
		"Wall time of the group times its threads, over its operations: with the "
		"harness's own, unlike the mean latency.", "text of lists"},

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
	{"by calls", "bytes by read(2), write(2) and similar calls for one that was asked for",
		"See Bytes written and Bytes read.", "html"},
	{"storage",
		"bytes that the process fetched from storage, or made dirty for it, for one "
		"that was asked for",
		"See Bytes written and Bytes read.", "html"},
	{"device",
		"bytes that the block device read or wrote, whoever used it, for one that was "
		"asked for",
		"See Bytes written and Bytes read.", "html"},
	{"when",
		"before the database was opened, at the first operation, or after it was "
		"closed",
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

	{"seconds", "the end of the interval",
		"Since the first operation, a warm-up's too.", "text"},
	{"p50 us", "the median of an interval's own operations, or of a comparison",
		"Service times, or response times where there is a rate. In microseconds. "
		"Blank if there are too few.", "text, compare"},
	{"p99 us", "the 99th percentile of an interval's own operations, or of a comparison",
		"As p50 us.", "text, compare"},
	{"max us", "the longest time of an interval", "The upper end of its bucket.", "text"},
	{"behind", "operations that were due at the end of an interval and not done",
		"Only where there is a rate. If it grows all the time, more is offered than "
		"can be done.", "text, csv"},
	{"warm-up", "the interval does not count",
		"Its operations are in no figure of the report but those of the system.",
		"text"},

	/* ---- a sweep of rates ---- */

	{"Capacity", "operations a second in a closed loop",
		"What the shares of a sweep are of: as many as the threads can do when none "
		"has to wait for a moment.", "text, md"},
	{"load", "the rate that was offered, as a share of the capacity", "", "text, md"},
	{"offered/s", "operations that were due in a second", "As asked for.", "text, md"},
	{"achieved/s", "operations that were done in a second",
		"Below what was offered: it could not keep up.", "text, md"},
	{"service p50", "the median of the service times",
		"Hardly moves with the load: the queue is in the response times.", "md"},
	{"service p99", "the 99th percentile of the service times", "", "md"},
	{"response p50", "the median of the response times",
		"From when an operation was due.", "md"},
	{"response p99", "the 99th percentile of the response times",
		"The knee is where it turns up.", "md"},
	{"response p99.9", "the 99.9th percentile of the response times", "", "md"},
	{"response max", "the longest response time", "A single operation.", "md"},
	{"p99 of response, log", "as a bar",
		"Logarithmic, from the least of the sweep to the greatest.", "text"},
	{"state", "whether the engine kept up: kept up, fell behind, queue grew; and the knee",
		"Fell behind: less than 98 % of what was offered was done.", "text, md"},
	{"knee", "the first rate at which it no longer holds",
		"The p99 of response is above twice that of the lowest rate, or less than 98 "
		"% of what was offered was done.", "text, md"},
	{"Highest rate that held",
		"the highest rate at which the limit that was asked for was kept",
		"Found by bisection, so it is exact to the last step only; a limit near the "
		"noise is found where a run was lucky.", "text, md"},

	/* ---- comparisons ---- */

	{"ratio", "how many times the first sample's value the other's is",
		"The median over all pairs of runs (Hodges and Lehmann). Of times less than 1 "
		"is better, of rates more.", "compare"},
	{"CI", "the interval in which the ratio lies",
		"At the confidence that stands there; from order statistics of the ratios, or "
		"by bootstrap. It is of how runs vary here, and knows nothing of another "
		"machine.", "compare"},
	{"p", "how likely so large a difference would be if there were none",
		"Mann and Whitney's test over the runs, not over operations. Of twenty lines "
		"without a difference one is below 0.05.", "compare"},
	{"against 1", "the ratio and its interval as a bar",
		"Logarithmic: half and twice are equally far from the middle.", "compare"},
	{"cannot be told apart", "the difference may be chance",
		"Not the same as equal: the interval says how much it might still be.",
		"compare"},
	{"faster", "the other sample is better by that much",
		"Percents of the first's value, from twice on a factor. Told only where the "
		"test says that it is hardly chance, or of one run each, which is said.",
		"compare"},
	{"slower", "the other sample is worse by that much", "As faster.", "compare"},
	{"NOT COMPARABLE", "why these runs cannot be ranked",
		"They did not do the same, or not under the same conditions: --force compares "
		"them all the same.", "compare"},
	{"runs", "repetitions of the same work",
		"How many make a sample. With one there is no telling how much it varies.",
		"compare"},
	{"gate", "whether a figure has got worse by more than the limit",
		"It fails if the estimate is above the limit and the whole interval is on the "
		"wrong side of 1; of one run each the estimate alone decides, which is said.",
		"compare"},
	{"contestant", "an engine of vs, with its options",
		"All of its repetitions are one sample. \"leveldb#2\" is the second of those "
		"with one engine.", "html"},
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
		"apart, or there are too few runs.", "html, csv"},

	/* ---- tables for programs ---- */

	{"end_s", "the end of a stretch of time",
		"Since the first operation of the first phase.", "csv"},
	{"duration_s", "the length of a stretch of time", "", "csv"},
	{"is_warmup", "1: the stretch does not count",
		"Its operations have no latencies.", "csv"},
	{"behind_ops", "operations that were due and not done", "See behind.", "csv"},
	{"percentile", "the share of the times that are at most as long, in percent",
		"Denser towards 100, as HdrHistogram's percentile distribution.", "csv, hgrm"},
	{"value_ns", "the time at a percentile", "The upper end of its bucket.", "csv"},
	{"count", "how many there are: of a curve up to there, of a stretch within it",
		"", "csv"},
	{"counter", "a counter or level of the engine's own",
		"Within a stretch a counter's growth, a gauge's level at its end.", "csv, md"},
	{"unit", "the unit of a counter", "As the engine says.", "csv, md"},
	{"value", "the value of a counter", "", "csv, md"},

	/* ---- crash tests ---- */

	{"rounds", "how often the writing process was killed, or with --power recorded",
		"A kill is aimed at a number of operations and a random moment after it; a "
		"host that is too busy hits fewer different ones. Below a finding: the "
		"command that does these rounds again, and may find something else.",
		"text of crash"},
	{"level", "the durability that was asked for: what a crash may take of the writes",
		"See Durability. Without --durability each level that the engine offers has a "
		"row.", "text of crash"},
	{"crashes", "databases that were opened and looked at after a crash",
		"One for each kill, and with --power one for each state that is made of a "
		"recording.", "text of crash"},
	{"acked", "writes that had returned when the process was killed",
		"Those of this round, a batch counts each of its writes. One that had been "
		"begun and had not returned is not among them.", "text of crash"},
	{"survived", "writes that had returned and were there after the crash",
		"Or were overwritten by one that was. Deletes and short values that look the "
		"same whether done or not count as there.", "text of crash"},
	{"lost", "writes that had returned and were gone after the crash",
		"Keys that lost what they had before the round count as one each. Only none "
		"allows it at a kill.", "text of crash"},
	{"torn", "crashes after which a value was none of those put there",
		"Each value is compared whole: one that is cut, or of two, is found.",
		"text of crash"},
	{"ghost", "crashes after which a key or value was there that was never put there",
		"A whole value under another key, of an operation that was not begun, or a "
		"key that a scan tells and no one has put.", "text of crash"},
	{"broken", "crashes after which the level did not keep what it promises",
		"Each is told below the table, and kept. At none nothing is promised.",
		"text of crash"},
	{"recovery", "the time of the open after a crash",
		"Of databases that opened, by a new process with a warm page cache: it says "
		"nothing of a cold start or of a large database.", "text of crash"},
	{"reordered", "a later write of a session is there and an earlier one is not",
		"The two are named. A log that is read up to its first damage cannot do that; "
		"one that skips damage, or pages written in any order, can.", "text of crash"},
	{"split batch", "an atomic batch is there in part",
		"Only where the engine says that its batches are atomic. One key that is "
		"there and one that is not are named.", "text of crash"},
	{"scan", "after a crash a scan is out of order, or tells another thing than get",
		"In both directions, where the engine has scans.", "text of crash"},
	{"unstable", "another open after a crash finds other data",
		"Nothing but what the test itself wrote was done meanwhile: what one recovery "
		"has shown, the next one has to show.", "text of crash"},
	{"not opened",
		"after a crash the open fails, crashes or hangs, or a call does on what it "
		"opened",
		"It hangs if it has not returned after a minute, or --hang-after. All that "
		"had returned counts as lost.", "text of crash"},
	{"not writable",
		"after a crash no write is taken, or one that was made since is not there at "
		"the next open",
		"Keys that no round uses are put after the recovery, and again after a flush "
		"and a checkpoint; then it is opened once more. New records behind a tail "
		"that was not cut off, for example.", "text of crash"},
	{"counted", "the moment of a kill was counted, by system calls and instructions",
		"The command told as repeat finds the same again, if the engine does the same "
		"again. Other moments are times, and of these rounds is the command that "
		"tries again.", "text of crash"},
	{"again", "the command that looks once more at the database that was kept",
		"It finds the same each time, as the database is copied first, until the "
		"engine has changed.", "text of crash"},
	{"repeat", "the command that makes the same crash again",
		"All rounds up to that one, which go on its database. Of a crash whose moment "
		"was counted, and of --power; an engine with threads of its own may do "
		"something else the next time.", "text of crash"},
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
		"From the middles of the buckets, as HdrHistogram does. Latencies are not "
		"normally distributed: it says little.", "hgrm"},
	{"Value", "the time at a percentile, in microseconds",
		"The upper end of its bucket.", "hgrm"},
	{"TotalCount", "how many of the times are at most as long", "", "hgrm"},
	{"1/(1-Percentile)", "one of so many takes longer",
		"The axis on which percentiles are drawn.", "hgrm"},
	{"puts",
		"writes of a thread: put, insert, update, upsert, read-modify-write, batch, "
		"txn-write",
		"Each operation once.", "notebook, candlestick"},
	{"gets", "reads of a thread: get, read, multi-get, txn-read",
		"Each operation once.", "notebook, candlestick"},
	{"scans", "scans of a thread", "", "notebook, candlestick"},
	{"removes", "deletes of a thread", "", "notebook, candlestick"},
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

/** By each of its names. */
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
