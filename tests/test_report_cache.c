/* SPDX-License-Identifier: BSD-2-Clause */
/* The line that says how cold a run was, in all the ways in which that can be known. */
#include "doc_rig.h"
#include "report/report.h"

static struct nb_result result;

static struct residency
resident(uint64_t bytes, uint64_t total)
{
	return (struct residency){
		.resident_bytes = bytes, .total_bytes = total, .files = 1, .is_known = 1};
}

static void
assert_line(const char *line)
{
	char expected[512] = "";
	struct doc doc = {0};
	report_cache_state(&doc, &result);
	if (line[0] != '\0')
		snprintf(expected, sizeof(expected), "Cache state       : %s\n", line);
	doc_rig_expect(&doc, DOC_TEXT, expected);
}

TEST(where_nothing_is_known_nothing_is_told)
{
	result = (struct nb_result){0};
	assert_line("");
	result.measured.had_data = true;
	result.measured.residency_before = (struct residency){.unread = 3};
	assert_line("");
}

TEST(cold_run_tells_how_and_what_came_of_it)
{
	result = (struct nb_result){.measured = {.cold = COLD_CACHES, .had_data = true}};
	assert_line("cold: caches dropped; how much stayed resident is not known");
	result.measured.residency_before = resident(0, 312 << 20);
	result.measured.residency_begin = resident(128 << 20, 312 << 20);
	result.measured.residency_after = resident(275 << 20, 312 << 20);
	assert_line(
		"cold: caches dropped; 0.0 % of 312MiB resident before, 41 % when the first "
		"operation began, 88 % after");
	result.measured.cold = COLD_FILES;
	result.measured.residency_before = resident(3 << 20, 312 << 20);
	assert_line("cold: files evicted; 1.0 % of 312MiB resident before, 41 % when the first "
		    "operation began, 88 % after");
}

TEST(other_runs_tell_what_they_found)
{
	result = (struct nb_result){.measured = {.had_data = true}};
	result.measured.residency_before = resident(10, 10);
	assert_line("as it was found; 100 % of 10B resident before");
	result.measured.had_data = false;
	result.measured.residency_before = (struct residency){0};
	result.measured.residency_begin = resident(
		4096, 4096); /* of which little can be said */
	result.measured.residency_after = resident(1 << 20, 1 << 20);
	assert_line("new database; 100 % of 1MiB resident after");
}

TEST(size_that_changed_and_files_that_were_not_seen_are_told)
{
	result = (struct nb_result){.measured = {.had_data = true}};
	result.measured.residency_before = resident(1 << 20, 1 << 20);
	result.measured.residency_begin = resident(1 << 20, (1 << 20) + 1); /* much the same */
	result.measured.residency_after = resident(1 << 20, 2 << 20);
	result.measured.residency_after.unread = 2;
	assert_line("as it was found; 100 % of 1MiB resident before, 100 % when the first "
		    "operation began, 50 % of 2MiB after; of 2 files that is not known");
}
