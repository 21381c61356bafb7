/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The classic report. Its form is fixed, since scripts read it: one text is
 * compared as a whole, with numbers that were reckoned by hand.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "report/result.h"
#include "rig.h"
#include "unit.h"

static struct nb_result result;
static char *text; /* of the last write() */

static const char *
version(void)
{
	return "1.23";
}

/** A result without a single operation. */
static void
begin(uint32_t verb)
{
	result = (struct nb_result){.engine = {.name = "leveldb",
					    .licence = "BSD-3-Clause",
					    .build = "release",
					    .version = version},
		.engine_path = (char *)(uintptr_t) "/x/leveldb.so",
		.engine_version = version(),
		.version = nb_version(),
		.workload = {.verb = verb,
			.count = 1000,
			.key_size = 16,
			.value_size = 100,
			.value_ratio = 0.5},
		.threads = 1,
		.durability = NB_DUR_PROCESS,
		.is_auto_durability = true,
		.settle = NB_RUN_SETTLE_COMPACT,
		.verify_rate = 0.01,
		.digest = 0x0123456789abcdef,
		.clock = {.kind = NB_CLOCK_MONOTONIC,
			.tick_hz = 1e9,
			.read_ns = 25,
			.step_ns = 1},
		.sysinfo = {.filesystem = "ext4"},
		.measured = {.has_begun = true, .has_settled = true, .has_read_back = true}};
	ck_assert_int_eq(nb_histogram_new(&result.measured.service), NB_OK);
}

static void
add(uint64_t count, uint64_t value_ns)
{
	for (uint64_t i = 0; i < count; i++)
		nb_histogram_add(result.measured.service, value_ns);
	result.measured.ops += count;
	result.measured.usage_ops += count;
	result.measured.answers[NB_OK] += count;
}

static void
write_text(uint32_t flags)
{
	size_t size;
	free(text);
	FILE *out = open_memstream(&text, &size);
	ck_assert_int_eq(nb_result_write_text(&result, out, flags), NB_OK);
	fclose(out);
}

static void
end(void)
{
	free(text);
	text = NULL;
	nb_histogram_delete(result.measured.service);
}

#define ASSERT_HAS(part) \
	ck_assert_msg(strstr(text, part) != NULL, "'%s' is not in:\n%s", part, text)
#define ASSERT_HAS_NOT(part) \
	ck_assert_msg(strstr(text, part) == NULL, "'%s' is in:\n%s", part, text)

/** 1000 operations in 2.5 seconds, 5003510250 ns in all. */
static void
add_thousand(void)
{
	add(1, 150);
	add(4, 999);
	add(495, 1000);
	add(400, 2500);
	add(90, 10000); /* counted in a bucket of 8 ns: up to 10007 */
	add(9, 123456);
	add(1, 5000000000);
	result.measured.wall_ns = 2500000000;
}

static const char classic[] = "Action: get\n"
			      "Driver: leveldb\n"
			      "Key Len: 16\n"
			      "Val Len: 100\n"
			      "Count: 1000\n"
			      "\n"
			      "Histogram:\n"
			      "[  t min,   t max)        ops count           %\n"
			      "--------------------------------------------------\n"
			      "[   0.14,    0.16)                1        0.10\n"
			      "[    0.9,       1)                4        0.40\n"
			      "[      1,       2)              495       49.50\n"
			      "[      2,       3)              400       40.00\n"
			      "[     10,      12)               90        9.00\n"
			      "[    120,     140)                9        0.90\n"
			      "[5000000, 6000000)                1        0.10\n"
			      "--------------------------------------------------\n"
			      "Total:     5003510             1000        100%\n"
			      "Min latency       : 0.150000 * 1e-6 sec/op\n"
			      "Avg latency       : 5003.510250 * 1e-6 sec/op\n"
			      "Max latency       : 5000000.000000 * 1e-6 sec/op\n"
			      "5.0000%  latency  : 1.000000 * 1e-6 sec/op\n"
			      "50.0000%  latency  : 1.000000 * 1e-6 sec/op\n"
			      "95.0000%  latency  : 10.007000 * 1e-6 sec/op\n"
			      "96.0000%  latency  : 10.007000 * 1e-6 sec/op\n"
			      "97.0000%  latency  : 10.007000 * 1e-6 sec/op\n"
			      "98.0000%  latency  : 10.007000 * 1e-6 sec/op\n"
			      "99.0000%  latency  : 10.007000 * 1e-6 sec/op\n"
			      "99.5000%  latency  : too few samples (1000 of at least 2000)\n"
			      "99.9000%  latency  : too few samples (1000 of at least 10000)\n"
			      "99.9500%  latency  : too few samples (1000 of at least 20000)\n"
			      "99.9900%  latency  : too few samples (1000 of at least 100000)\n"
			      "Avg throughput    :     400 ops/sec\n"
			      "\n";

START_TEST(classic_block_has_its_form)
{
	begin(NB_VERB_GET);
	add_thousand();
	write_text(0);
	char *head = strndup(text, sizeof(classic) - 1);
	ck_assert_str_eq(head, classic);
	free(head);
	end();
}
END_TEST

START_TEST(fold_makes_one_bucket_below_a_microsecond)
{
	begin(NB_VERB_GET);
	add_thousand();
	write_text(NB_TEXT_FOLD);
	ASSERT_HAS("-\n[      0,       1)                5        0.50\n"
		   "[      1,       2)              495       49.50\n");
	end();
	begin(NB_VERB_GET);
	add(10, 1000);
	write_text(NB_TEXT_FOLD);
	ASSERT_HAS_NOT("[      0,");
	end();
}
END_TEST

START_TEST(buckets_are_half_open)
{
	static const struct {
		uint64_t ns;
		const char *row;
	} cases[] = {{0, "[      0,    0.01)"}, {9, "[      0,    0.01)"},
		{10, "[   0.01,   0.012)"}, {99, "[   0.09,     0.1)"},
		{100, "[    0.1,    0.12)"}, {119, "[    0.1,    0.12)"},
		{120, "[   0.12,    0.14)"}, {999, "[    0.9,       1)"},
		{1000, "[      1,       2)"}, {1999, "[      1,       2)"},
		{2000, "[      2,       3)"}, {9999, "[      9,      10)"},
		{10000, "[     10,      12)"}, {11999, "[     10,      12)"},
		{12000, "[     12,      14)"}, {99999999, "[  90000,  100000)"},
		{100000000, "[ 100000,  120000)"}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char row[128];
		begin(NB_VERB_GET);
		add(1, cases[i].ns);
		write_text(0);
		snprintf(row, sizeof(row), "-\n%s                1      100.00\n-",
			cases[i].row);
		ASSERT_HAS(row); /* and no other row */
		end();
	}
}
END_TEST

START_TEST(no_text_of_others_moves_the_cursor)
{
	begin(NB_VERB_GET);
	result.engine_path = (char *)(uintptr_t) "/x\033[2J/\177caf\303\251\302\233.so\n";
	add_thousand();
	write_text(0);
	ASSERT_HAS(", /x?[2J/?caf\303\251??.so?\n");
	end();
}
END_TEST

START_TEST(bars_are_there_only_if_asked_for)
{
	begin(NB_VERB_GET);
	add_thousand();
	write_text(0);
	ASSERT_HAS_NOT("#");
	write_text(NB_TEXT_BARS);
	ASSERT_HAS("       49.50  ##########\n"); /* a # for each 5 % */
	ASSERT_HAS("       40.00  ########\n");
	ASSERT_HAS("        9.00  ##\n");
	end();
}
END_TEST

/** The sum of the rows' counts; each must begin where one may after that before. */
static uint64_t
sum_rows(void)
{
	uint64_t sum = 0;
	double last = -1;
	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		double from, percent;
		char to[32];
		unsigned long long count;
		line += *line == '\n';
		if (sscanf(line, "[%lf, %31[^)])%llu%lf", &from, to, &count, &percent) != 4)
			continue;
		ck_assert(from >= last);
		ck_assert_uint_gt(count, 0);
		ck_assert(fabs(percent - 100 * (double)count / (double)result.measured.ops) <
			0.00501);
		last = strcmp(to, "inf") == 0 ? INFINITY : strtod(to, NULL);
		ck_assert(last > from);
		sum += count;
	}
	return sum;
}

START_TEST(rows_sum_up_to_the_count)
{
	struct rng rng;
	rng_create(&rng, 5);
	begin(NB_VERB_GET);
	for (int i = 0; i < 20000; i++) /* of any size: up to two hours */
		add(1, rng_next(&rng) % 7200000000000 >> rng_next(&rng) % 43);
	for (uint32_t flags = 0; flags < 4; flags++) {
		write_text(flags);
		ck_assert_uint_eq(sum_rows(), 20000);
	}
	end();
}
END_TEST

START_TEST(more_than_an_hour_has_a_row_and_an_exact_maximum)
{
	begin(NB_VERB_GET);
	add(1, 7200000000000);
	add(3, 3499999999999); /* the last bound is 3500 s */
	write_text(0);
	ASSERT_HAS("3500000000)                3       75.00\n"
		   "[3500000000,     inf)                1       25.00\n");
	ASSERT_HAS("Max latency       : 7200000000.000000 * 1e-6 sec/op\n");
	ck_assert_uint_eq(sum_rows(), 4);
	end();
}
END_TEST

START_TEST(no_operation_and_no_time_make_no_nonsense)
{
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++)
		for (uint32_t flags = 0; flags < 4; flags++) {
			begin(verb);
			result.measured.is_partial = true;
			result.measured.has_settled = result.measured.has_read_back = false;
			result.measured.usage = (struct sysinfo_usage){5, 5, 5, 5, 5};
			write_text(flags);
			ASSERT_HAS_NOT("nan");
			ASSERT_HAS_NOT("inf)");
			ASSERT_HAS_NOT(": inf");
			ASSERT_HAS("Count: 0\n");
			ASSERT_HAS("Total:           0                0        100%\n");
			ASSERT_HAS("Min latency       : 0.000000 * 1e-6 sec/op\n");
			ASSERT_HAS("Avg latency       : 0.000000 * 1e-6 sec/op\n");
			ASSERT_HAS("50.0000%  latency  : too few samples (0 of at least 20)\n");
			ASSERT_HAS("Avg throughput    :       0 ops/sec\n");
			ck_assert_uint_eq(sum_rows(), 0);
			end();
		}
}
END_TEST

START_TEST(throughput_is_over_wall_time)
{
	begin(NB_VERB_PUT);
	add(1000, 1000000); /* a second of latencies, by ten threads in a tenth */
	result.threads = 10;
	result.measured.wall_ns = 100000000;
	result.measured.value_bytes = 100000;
	result.measured.settle_ns = 300000000;
	result.measured.close_ns = 100000000;
	result.measured.settled = NB_RUN_SETTLE_COMPACT;
	write_text(0);
	ASSERT_HAS("\nAvg throughput    :   10000 ops/sec\n");
	ASSERT_HAS("\nThreads           : 10\n");
	ASSERT_HAS("\nWall time         : 0.100000 sec\n");
	ASSERT_HAS("\nAcked throughput  : 10000 ops/sec\n");
	ASSERT_HAS("\nSettled throughput: 2000 ops/sec (flushed and compacted in 0.300000 sec, "
		   "closed in 0.100000 sec)\n");
	ASSERT_HAS("\nData rate         : 1160000 bytes/sec (keys and values)\n");
	result.measured.settled = NB_RUN_SETTLE_NONE; /* the engine could not */
	write_text(0);
	ASSERT_HAS("\nSettled throughput: 2000 ops/sec (not settled in 0.300000 sec, ");
	result.settle = NB_RUN_SETTLE_NONE; /* then no rate is a settled one */
	write_text(0);
	ASSERT_HAS("\nSettled throughput: not settled, as asked\n");
	end();
	begin(NB_VERB_GET);
	add_thousand();
	write_text(0);
	ASSERT_HAS_NOT("Acked");
	ASSERT_HAS_NOT("Settled");
	end();
	begin(NB_VERB_DELETE); /* an engine that cannot be asked to settle */
	add(1000, 1000000);
	result.measured.wall_ns = 100000000;
	result.measured.close_ns = 100000000;
	write_text(0);
	ASSERT_HAS(
		"\nSettled throughput: 5000 ops/sec (not settled, closed in 0.100000 sec)\n");
	ASSERT_HAS("\nData rate         : 160000 bytes/sec (keys)\n");
	end();
}
END_TEST

START_TEST(partial_result_is_marked)
{
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
		begin(verb);
		add(10, 1000);
		write_text(0);
		ASSERT_HAS_NOT("artial");
		result.measured.is_partial = true;
		result.measured.has_settled = result.measured.has_read_back = false;
		write_text(0);
		ASSERT_HAS("Count: 10\nPartial: yes, a partial result: only 10 of 1000 "
			   "operations were done\n\nHistogram:\n");
		ASSERT_HAS_NOT("Settled");
		end();
	}
}
END_TEST

START_TEST(writes_that_were_not_settled_or_read_back_are_marked)
{
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb += 2) {
		begin(verb);
		add_thousand();
		result.measured.has_read_back = false;
		write_text(0);
		ASSERT_HAS("\nPartial: yes, a partial result: the run ended before it was read "
			   "back\n");
		ASSERT_HAS("\nSettled throughput: ");
		ASSERT_HAS(
			"\nVerified          : 0 of 1000 (not read back: the run ended before "
			"that)\n");
		result.measured.findings.verified = 7;
		write_text(0);
		ASSERT_HAS(
			"\nVerified          : 7 of 1000 (read back until the run ended): 0 ");
		result.measured.has_settled = false;
		write_text(0);
		ASSERT_HAS("\nPartial: yes, a partial result: the run ended before it was "
			   "settled\n");
		ASSERT_HAS_NOT("Settled");
		end();
	}
}
END_TEST

START_TEST(findings_are_told)
{
	begin(NB_VERB_GET);
	add_thousand();
	result.measured.answers[NB_NOT_FOUND] = 12;
	result.measured.answers[NB_CONFLICT] = 3;
	result.measured.findings = (struct worker_findings){
		.verified = 100, .verdicts = {90, 1, 2, 7}};
	result.keys.duplicates = 4;
	result.keys.is_estimate = true;
	result.keys.looked = 300;
	result.workload.count = 1000;
	write_text(0);
	ASSERT_HAS("\nNot found         : 12\n");
	ASSERT_HAS("\nConflicts         : 3 (each tried again, in the same latency)\n");
	ASSERT_HAS(
		"\nVerified          : 100 of 1000 (as they were read): 0 missing, 10 wrong\n");
	ASSERT_HAS("\nDuplicate keys    : about 4, counted in 300 of 1000 keys\n");
	end();
	begin(NB_VERB_DELETE);
	add_thousand();
	result.measured.findings = (struct worker_findings){.verified = 100, .missing = 5};
	write_text(0);
	ASSERT_HAS(
		"\nVerified          : 100 of 1000 (read back after the run): 5 still there, "
		"0 wrong\n");
	ASSERT_HAS_NOT("Conflicts");
	end();
}
END_TEST

START_TEST(nothing_is_said_to_be_right_that_was_not_looked_at)
{
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
		begin(verb);
		add_thousand();
		result.engine.caps = NB_CAP_SYNTHETIC;
		write_text(0);
		ASSERT_HAS("\nVerified          : 0 of 1000 (not possible)\n");
		result.engine.caps = 0;
		result.verify_rate = 0;
		write_text(0);
		ASSERT_HAS("\nVerified          : 0 of 1000 (not asked for)\n");
		end();
	}
}
END_TEST

START_TEST(ratio_of_values_is_told_by_what_makes_them)
{
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
		begin(verb);
		add_thousand();
		write_text(0);
		if (verb == NB_VERB_PUT)
			ASSERT_HAS("\nValue ratio       : 0.5 (size when compressed : size)\n");
		else
			ASSERT_HAS_NOT("Value ratio");
		end();
	}
}
END_TEST

START_TEST(conditions_options_and_notes_are_told)
{
	static struct result_note notes[] = {
		{"a", (char *)(uintptr_t) "first"}, {"b", (char *)(uintptr_t) "second"}};
	static struct result_option options[] = {
		{(char *)(uintptr_t) "sync", (char *)(uintptr_t) "no"}};
	static struct counter counters[] = {{.name = (char *)(uintptr_t) "log_writes",
						    .unit = (char *)(uintptr_t) "writes",
						    .kind = NB_STAT_COUNTER,
						    .value = 1500},
		{.name = (char *)(uintptr_t) "cache",
			.unit = (char *)(uintptr_t) "bytes",
			.kind = NB_STAT_GAUGE,
			.value = 8 << 20}};
	begin(NB_VERB_PUT);
	add_thousand();
	result.notes = notes;
	result.note_count = 2;
	result.options = options;
	result.option_count = 1;
	result.cache_bytes = 8 << 20;
	result.measured.data_bytes = 1 << 30;
	result.measured.usage.user_ns = 3000000;
	result.measured.usage.system_ns = 1000000;
	result.measured.floor_op_ns = 61.26;
	result.measured.floor_call_ns = 17;
	result.measured.phases[0] = (struct phase_time){"start", 7100000};
	result.measured.phases[1] = (struct phase_time){"put", 1250000000};
	result.measured.phase_count = 2;
	write_text(0);
	ASSERT_HAS(
		"\nDurability        : process, by default (writes survive kill -9, not power "
		"loss)\n");
	ASSERT_HAS("\nCache             : 8MiB\n");
	ASSERT_HAS("\nDatabase          : 1GiB on ext4\n");
	ASSERT_HAS("\nCPU time          : 3000 ns/op user, 1000 ns/op system\n");
	result.is_paced = true;
	write_text(0);
	ASSERT_HAS(
		"\nCPU time          : 0.004000 sec in all; not known for an operation, since "
		"the harness's sleeping used part of it\n");
	ASSERT_HAS("\nClock             : monotonic, 1000.000 MHz, in steps of 1 ns, 25.0 ns a "
		   "stamp, two for each "
		   "operation\n");
	ASSERT_HAS(
		"\nHarness           : 61.3 ns/op with the null engine, of which 17 ns inside "
		"each latency\n");
	ASSERT_HAS("\nPhases            : start 7.1ms, put 1.25s\n");
	ASSERT_HAS("\nStream digest     : 0123456789abcdef\n");
	ASSERT_HAS(
		"\nEngine            : leveldb 1.23, BSD-3-Clause, release, /x/leveldb.so\n");
	ASSERT_HAS("\nOption            : sync=no\nmininb            : ");
	result.measured.counters = (struct counters){.items = counters, .count = 2};
	write_text(0);
	ASSERT_HAS("\nOption            : sync=no\n"
		   "Counter           : log_writes 1500 (1.5 per op)\n"
		   "Gauge             : cache 8MiB\n"
		   "mininb            : ");
	result.measured.counters = (struct counters){0};
	ASSERT_HAS("\nNote              : first\nNote              : second\n");
	result.cache_bytes = 0;
	result.is_auto_durability = false;
	result.durability = NB_DUR_COMMIT;
	result.sysinfo.filesystem[0] = '\0';
	write_text(0);
	ASSERT_HAS("\nDurability        : commit (writes survive power loss)\n");
	ASSERT_HAS("\nCache             : engine's default\n");
	ASSERT_HAS("on unknown\n");
	end();
}
END_TEST

START_TEST(result_that_cannot_be_written_fails)
{
	begin(NB_VERB_GET);
	add_thousand();
	FILE *out = fopen("/dev/full", "w");
	ck_assert_ptr_nonnull(out);
	ck_assert_int_eq(nb_result_write_text(&result, out, 0), NB_FAIL);
	rig_assert_told("the result cannot be written: No space left");
	fclose(out);
	out = fopen("/dev/full", "w");
	setvbuf(out, NULL, _IONBF, 0); /* fails long before the end */
	ck_assert_int_eq(nb_result_write_text(&result, out, 0), NB_FAIL);
	fclose(out);
	end();
}
END_TEST

/* --- of a run, to the end --- */

static int
put_stopping(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	if (rig_number(key) == 40)
		nb_stop();
	if (rig_number(key) >= 40)
		return error_set(NB_FAIL, "stopped");
	return rig_right()->put(session, key, value);
}

START_TEST(interrupted_put_is_not_told_to_verify_more)
{
	struct rig rig;
	struct nb_result *of_run;
	size_t size;
	rig_create(&rig, NB_VERB_PUT, 1000);
	struct nb_engine engine = *rig_right();
	engine.put = put_stopping;
	ck_assert_int_eq(rig_run(&rig, &engine), NB_FAIL);
	nb_stop_clear();
	ck_assert_int_eq(nb_result_new(&of_run, rig.run), NB_OK);
	FILE *out = open_memstream(&text, &size);
	ck_assert_int_eq(nb_result_write_text(of_run, out, 0), NB_OK);
	fclose(out);
	ASSERT_HAS("\nPartial: yes, a partial result: only 40 of 1000 operations were done\n");
	ASSERT_HAS("not read back: the run ended before that");
	ASSERT_HAS("Note              : the run ended before any was read back");
	ASSERT_HAS_NOT("verify-rate");
	nb_result_delete(of_run);
	free(text);
	rig_destroy(&rig);
}
END_TEST

int
main(void)
{
	return UNIT_RUN("report_text", classic_block_has_its_form,
		fold_makes_one_bucket_below_a_microsecond, buckets_are_half_open,
		no_text_of_others_moves_the_cursor, bars_are_there_only_if_asked_for,
		rows_sum_up_to_the_count, more_than_an_hour_has_a_row_and_an_exact_maximum,
		no_operation_and_no_time_make_no_nonsense, throughput_is_over_wall_time,
		partial_result_is_marked, writes_that_were_not_settled_or_read_back_are_marked,
		findings_are_told, nothing_is_said_to_be_right_that_was_not_looked_at,
		ratio_of_values_is_told_by_what_makes_them,
		conditions_options_and_notes_are_told, result_that_cannot_be_written_fails,
		interrupted_put_is_not_told_to_verify_more);
}
