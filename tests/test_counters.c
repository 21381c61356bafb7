/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters are copies, identified by name. An unknown increase is never invented. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "run/counters.h"
#include "unit.h"

enum { MANY = 500 };

struct told {
	const char *name, *unit;
	uint32_t kind;
	uint64_t value;
};

/** The counters that the engine below reports. */
static struct told told[MANY];
static size_t told_count;
static struct nb_db *told_db;

static void
stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	told_db = db;
	for (size_t i = 0; i < told_count; i++) {
		char name[32], unit[32]; /* on the stack: invalid after the return */
		const struct told *it = &told[i];
		snprintf(name, sizeof(name), "%s", it->name != NULL ? it->name : "");
		snprintf(unit, sizeof(unit), "%s", it->unit != NULL ? it->unit : "");
		emit(to, it->name != NULL ? name : NULL, it->unit != NULL ? unit : NULL,
			it->kind, it->value);
		memset(name, 'x', sizeof(name) - 1);
		memset(unit, 'x', sizeof(unit) - 1);
	}
}

static const struct nb_engine engine = {.stats = stats};

static void
tell(const char *name, const char *unit, uint32_t kind, uint64_t value)
{
	ck_assert_uint_lt(told_count, MANY);
	told[told_count++] = (struct told){name, unit, kind, value};
}

static struct counters
collect(void)
{
	struct counters all;
	ck_assert_int_eq(counters_collect(&all, &engine, NULL), NB_OK);
	told_count = 0;
	return all;
}

static struct counters
collect_one(uint32_t kind, uint64_t value)
{
	tell("it", "times", kind, value);
	return collect();
}

static void
add(struct counters *sum, struct counters from, struct counters until)
{
	ck_assert_int_eq(counters_add_growth(sum, &from, &until), NB_OK);
	counters_destroy(&from);
	counters_destroy(&until);
}

TEST(collected_counters_are_copies_in_the_reported_order)
{
	int place;
	struct nb_db *db = (struct nb_db *)(void *)&place;
	struct counters all;
	tell("lines", "lines", NB_STAT_COUNTER, UINT64_MAX);
	tell("size", "bytes", NB_STAT_GAUGE, 7);
	tell("a", "times", NB_STAT_COUNTER, 0);
	ck_assert_int_eq(counters_collect(&all, &engine, db), NB_OK);
	told_count = 0;
	ck_assert_ptr_eq(told_db, db);
	ck_assert_uint_eq(all.count, 3);
	ck_assert_str_eq(all.items[0].name, "lines");
	ck_assert_str_eq(all.items[0].unit, "lines");
	ck_assert_uint_eq(all.items[0].kind, NB_STAT_COUNTER);
	ck_assert_uint_eq(all.items[0].value, UINT64_MAX);
	ck_assert_str_eq(all.items[1].unit, "bytes");
	ck_assert_uint_eq(all.items[1].kind, NB_STAT_GAUGE);
	ck_assert_ptr_eq(counters_find(&all, "a"), &all.items[2]);
	ck_assert_ptr_null(counters_find(&all, "b"));
	counters_destroy(&all);
	ck_assert_uint_eq(all.count, 0);
	counters_destroy(&all);
}

TEST(engine_without_stats_has_no_counters)
{
	static const struct nb_engine silent = {.stats = NULL};
	struct counters all = {.count = 9};
	ck_assert_int_eq(counters_collect(&all, &silent, NULL), NB_OK);
	ck_assert_uint_eq(all.count, 0);
	ck_assert_ptr_null(all.items);
}

TEST(hundreds_are_all_kept)
{
	static char names[MANY][8];
	for (size_t i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "c%zu", i);
		tell(names[i], "times", NB_STAT_COUNTER, i);
	}
	struct counters all = collect();
	ck_assert_uint_eq(all.count, MANY);
	for (size_t i = 0; i < MANY; i++)
		ck_assert_uint_eq(counters_find(&all, names[i])->value, i);
	counters_destroy(&all);
}

TEST(first_of_two_counters_with_one_name_is_kept)
{
	tell("it", "times", NB_STAT_COUNTER, 1);
	tell("it", "bytes", NB_STAT_GAUGE, 2);
	struct counters all = collect();
	ck_assert_uint_eq(all.count, 1);
	ck_assert_uint_eq(all.items[0].value, 1);
	ck_assert_str_eq(all.items[0].unit, "times");
	counters_destroy(&all);
}

TEST(unreadable_counters_are_omitted)
{
	tell(NULL, "times", NB_STAT_COUNTER, 1);
	tell("", "times", NB_STAT_COUNTER, 2);
	tell("new", "times", NB_STAT_GAUGE + 1, 3);
	tell("bare", NULL, NB_STAT_GAUGE, 4);
	struct counters all = collect();
	ck_assert_uint_eq(all.count, 1);
	ck_assert_str_eq(all.items[0].name, "bare");
	ck_assert_str_eq(all.items[0].unit, "");
	counters_destroy(&all);
}

TEST(growth_is_a_difference_and_a_gauge_is_its_last_value)
{
	struct counters sum = {0};
	tell("grew", "times", NB_STAT_COUNTER, 100);
	tell("level", "files", NB_STAT_GAUGE, 9);
	struct counters from = collect();
	tell("level", "files", NB_STAT_GAUGE, 4);
	tell("grew", "times", NB_STAT_COUNTER, 130);
	add(&sum, from, collect());
	ck_assert_uint_eq(sum.count, 2);
	ck_assert_uint_eq(counters_find(&sum, "grew")->value, 30);
	ck_assert_uint_eq(counters_find(&sum, "level")->value, 4);
	counters_destroy(&sum);
}

TEST(growth_of_spans_adds_up_without_the_gaps)
{
	struct counters sum = {0};
	add(&sum, collect_one(NB_STAT_COUNTER, 10), collect_one(NB_STAT_COUNTER, 13));
	add(&sum, collect_one(NB_STAT_COUNTER, 1000), collect_one(NB_STAT_COUNTER, 1004));
	ck_assert_uint_eq(sum.count, 1);
	ck_assert_uint_eq(sum.items[0].value, 7);
	ck_assert(!sum.items[0].has_run_back);
	counters_destroy(&sum);
	add(&sum, collect_one(NB_STAT_GAUGE, 1), collect_one(NB_STAT_GAUGE, 2));
	add(&sum, collect_one(NB_STAT_GAUGE, 8), collect_one(NB_STAT_GAUGE, 3));
	ck_assert_uint_eq(sum.items[0].value, 3);
	counters_destroy(&sum);
}

TEST(counter_without_an_earlier_value_began_at_0)
{
	struct counters sum = {0};
	add(&sum, collect(), collect_one(NB_STAT_COUNTER, 5));
	ck_assert_uint_eq(sum.items[0].value, 5);
	ck_assert(!sum.items[0].has_run_back);
	add(&sum, collect_one(NB_STAT_COUNTER, 9), collect()); /* absent at the end: unknown */
	ck_assert_uint_eq(sum.items[0].value, 5);
	counters_destroy(&sum);
}

TEST(counter_that_decreased_once_stays_marked)
{
	struct counters sum = {0};
	add(&sum, collect_one(NB_STAT_COUNTER, 10), collect_one(NB_STAT_COUNTER, 9));
	ck_assert(sum.items[0].has_run_back);
	add(&sum, collect_one(NB_STAT_COUNTER, 9), collect_one(NB_STAT_COUNTER, 50));
	ck_assert(sum.items[0].has_run_back);
	counters_destroy(&sum);
	add(&sum, collect_one(NB_STAT_GAUGE, 10), collect_one(NB_STAT_GAUGE, 9));
	ck_assert(!sum.items[0].has_run_back); /* a gauge may decrease */
	counters_destroy(&sum);
}
