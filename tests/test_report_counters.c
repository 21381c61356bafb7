/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters in the report: each a line, read without reckoning, and nothing that misleads. */
#include "doc_rig.h"
#include "report/report.h"

static struct nb_result result;
static struct counter items[8];

static void
begin(uint64_t ops)
{
	result = (struct nb_result){.version = nb_version(), .has_counters = true};
	result.measured.ops = result.measured.usage_ops = ops;
	result.measured.counters.items = items;
}

static void
add(const char *name, const char *unit, uint32_t kind, uint64_t value)
{
	struct counters *counters = &result.measured.counters;
	ck_assert_uint_lt(counters->count, sizeof(items) / sizeof(*items));
	items[counters->count++] = (struct counter){.name = (char *)(uintptr_t)name,
		.unit = (char *)(uintptr_t)unit,
		.kind = kind,
		.value = value};
}

static void
assert_text(const char *wanted)
{
	struct doc doc = {0};
	report_counters(&doc, &result);
	doc_rig_expect(&doc, DOC_TEXT, wanted);
}

TEST(bytes_and_times_are_in_human_form)
{
	begin(1000);
	add("log_written", "bytes", NB_STAT_COUNTER, 3 << 20);
	add("waited", "ns", NB_STAT_COUNTER, 1500000);
	add("stalled", "us", NB_STAT_COUNTER, 2500);
	add("map_size", "bytes", NB_STAT_GAUGE, UINT64_C(1) << 40);
	add("recovery_time", "ns", NB_STAT_GAUGE, 12000000);
	assert_text("Counter           : log_written 3MiB (3.07KiB per op)\n"
		    "Counter           : waited 1.5ms (1.5us per op)\n"
		    "Counter           : stalled 2.5ms (2.5us per op)\n"
		    "Gauge             : map_size 1TiB\n"
		    "Gauge             : recovery_time 12ms\n");
}

TEST(share_of_an_operation_is_never_rounded_to_0)
{
	static const struct {
		uint64_t value, ops;
		const char *text;
	} cases[] = {{999, 100000, ""}, {1000, 100000, " (0.01 per op)"}, {1, 1000000, ""},
		{1, 3, " (0.333 per op)"}, {2, 3, " (0.667 per op)"}, {3, 3, " (1 per op)"},
		{999, 8, " (125 per op)"}, {123456789, 2, " (61728394 per op)"},
		{UINT64_MAX, UINT64_MAX, " (1 per op)"}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char line[128];
		begin(cases[i].ops);
		add("its", "its", NB_STAT_COUNTER, cases[i].value);
		snprintf(line, sizeof(line), "Counter           : its %llu%s\n",
			(unsigned long long)cases[i].value, cases[i].text);
		assert_text(line);
	}
}

TEST(share_is_of_the_operations_that_were_counted)
{
	begin(1000);
	result.measured.usage_ops = 2000; /* with those of the warm-up */
	add("fences", "fences", NB_STAT_COUNTER, 2000);
	assert_text("Counter           : fences 2000 (1 per op)\n");
	result.measured.usage_ops = 0;
	assert_text("Counter           : fences 2000\n");
}

TEST(unit_is_told_once)
{
	begin(0);
	add("leaf_pages", "pages", NB_STAT_GAUGE, 2);
	add("cache", "pages", NB_STAT_GAUGE, 2);
	add("bare", "", NB_STAT_GAUGE, 2);
	add("fill", "%", NB_STAT_GAUGE, 70);
	assert_text("Gauge             : leaf_pages 2\n"
		    "Gauge             : cache 2 pages\n"
		    "Gauge             : bare 2\n"
		    "Gauge             : fill 70 %\n");
}

TEST(counter_that_ran_backwards_is_left_out)
{
	begin(10);
	add("wrong", "times", NB_STAT_COUNTER, 7);
	items[0].has_run_back = true;
	assert_text("");
}
