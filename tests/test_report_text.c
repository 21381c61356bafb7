/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The classic report: one complete text with numbers computed by hand, rules of the histogram,
 * and the lines that no stored result has. tests/golden pins the others.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "report/result.h"
#include "unit.h"

static struct nb_result result;
static char *text; /* of the last write() */

static const char *
version(void)
{
	return "1.23";
}

/** A result without operations. */
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

/** 1000 operations in 2.5 seconds; their latencies sum to 5003510250 ns. */
static void
add_thousand(void)
{
	add(1, 150);
	add(4, 999);
	add(495, 1000);
	add(400, 2500);
	add(90, 10000); /* its bucket of 8 ns ends at 10007 */
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

TEST(classic_block_has_its_form)
{
	begin(NB_VERB_GET);
	add_thousand();
	write_text(0);
	char *head = strndup(text, sizeof(classic) - 1);
	ck_assert_str_eq(head, classic);
	free(head);
	end();
}

TEST(buckets_are_half_open)
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

TEST(bars_appear_only_on_request)
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

/**
 * The sum of the rows' counts. Each row must start at an allowed bound after the row before.
 */
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

TEST(rows_sum_up_to_the_count)
{
	struct rng rng;
	rng_create(&rng, 5);
	begin(NB_VERB_GET);
	for (int i = 0; i < 20000; i++) /* of any magnitude, up to two hours */
		add(1, rng_next(&rng) % 7200000000000 >> rng_next(&rng) % 43);
	for (uint32_t flags = 0; flags < 4; flags++) {
		write_text(flags);
		ck_assert_uint_eq(sum_rows(), 20000);
	}
	end();
}

TEST(more_than_an_hour_has_a_row_and_an_exact_maximum)
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

TEST(report_of_an_empty_run_is_sensible)
{
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++)
		for (uint32_t flags = 0; flags < 4; flags++) {
			begin(verb);
			result.measured.is_partial = true;
			result.measured.has_settled = result.measured.has_read_back = false;
			result.measured.usage = (struct system_counts){
				.user_ns = 5, .system_ns = 5};
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
