/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A rate divides by the time of the phases in which the thread did such operations: the put
 * phase for puts, the get phase for gets, both for all operations. In a phase of several
 * kinds the time of one kind alone is unknown. So a test with such a phase has a rate only
 * for the sum, as Masstree prints for its own mixed tests.
 */
#include "report/tests.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/threads.h"

/** Append a word; replace slashes, blanks and everything but ASCII. */
static void
append_word(char *name, const char *separator, const char *word)
{
	size_t used = strlen(name) + strlen(separator);
	snprintf(name + strlen(name), TEST_NAME - strlen(name), "%s%s", separator, word);
	for (char *at = name + used; *at != '\0'; at++) {
		if (*at == '/' || (unsigned char)*at <= ' ' || (unsigned char)*at >= 0x7f)
			*at = '_';
	}
}

static void
name_test(struct test_run *test, const char *group, bool is_only)
{
	const struct record *record = test->record;
	const struct nb_result *job = record_job(record);
	test->name[0] = '\0';
	append_word(test->name, "",
		job != NULL && !job->is_replay && job->name[0] != '\0' ? job->name
								       : record_action(record));
	if (job != NULL && (!is_only || job->is_load))
		append_word(test->name, "@", group);
	if (record->label[0] != '\0')
		append_word(test->name, "@", record->label);
}

/** The index of the group before g whose puts group g visits; g: none. */
static size_t
visited_by(const struct record_group *groups, size_t g)
{
	const struct job_result_group *job = groups[g].job;
	for (size_t of = 0; job != NULL && job->again[0] != '\0' && of < g; of++) {
		if (strcmp(groups[of].name, job->again) == 0)
			return of;
	}
	return g;
}

static bool
has_threads(const struct record_group *group)
{
	return group->threads != NULL && group->thread_count > 0 && group->ops > 0;
}

/** Find the kinds that its threads executed, and those of them that have a rate. */
static void
find_kinds(struct test_run *test)
{
	for (uint32_t t = 0; t < test->thread_count; t++) {
		struct test_thread thread = tests_thread(test, t);
		for (uint32_t kind = 0; kind < BOXPLOTS_KINDS; kind++) {
			test->kinds |= (uint32_t)(thread.counts[kind] > 0) << kind;
			test->rated |= (uint32_t)(thread.rates[kind] > 0) << kind;
		}
	}
}

static void
add_group(struct test_run *test, const struct record_group *groups, size_t g)
{
	uint32_t threads = groups[g].thread_count;
	test->has_two_phases |= test->group_count > 0;
	test->groups[test->group_count++] = g;
	if (threads > test->thread_count)
		test->thread_count = threads;
}

size_t
tests_of(const struct record *record, struct test_run *tests)
{
	struct record_group groups[NB_GROUPS_MAX];
	size_t place[NB_GROUPS_MAX], count = 0, all = record_groups(record, groups);
	for (size_t g = 0; g < all; g++) {
		size_t of = visited_by(groups, g);
		bool verifies = of < g && groups[of].job != NULL &&
			groups[of].job->masstree_test > 0;
		place[g] = SIZE_MAX;
		if (!has_threads(&groups[g]) || verifies)
			continue;
		if (of < g && place[of] != SIZE_MAX) {
			place[g] = place[of];
		} else {
			place[g] = count;
			tests[count++] = (struct test_run){.record = record};
		}
		add_group(&tests[place[g]], groups, g);
	}
	for (size_t i = 0; i < count; i++) {
		name_test(&tests[i], groups[tests[i].groups[0]].name, count == 1);
		find_kinds(&tests[i]);
	}
	return count;
}

struct test_thread
tests_thread(const struct test_run *test, uint32_t thread)
{
	struct record_group groups[NB_GROUPS_MAX];
	struct test_thread sum = {.counts = {0}};
	uint64_t ns[BOXPLOTS_KINDS] = {0};
	bool is_mixed = false;
	record_groups(test->record, groups);
	for (size_t i = 0; i < test->group_count; i++) {
		const struct record_group *group = &groups[test->groups[i]];
		uint64_t counts[BOXPLOTS_KINDS];
		uint32_t kinds = threads_kinds(test->record, group) & ~(1u << BOXPLOTS_OPS);
		is_mixed |= (kinds & (kinds - 1)) != 0;
		if (thread >= group->thread_count)
			continue;
		threads_count(test->record, &group->threads[thread], counts);
		for (uint32_t kind = 0; kind < BOXPLOTS_KINDS; kind++) {
			sum.counts[kind] += counts[kind];
			if ((kinds >> kind & 1) != 0 || kind == BOXPLOTS_OPS)
				ns[kind] += group->threads[thread].wall_ns;
		}
	}
	for (uint32_t kind = 0; kind < BOXPLOTS_KINDS; kind++) {
		if (kind == BOXPLOTS_OPS || !is_mixed)
			sum.rates[kind] = result_rate((double)sum.counts[kind], ns[kind]);
	}
	return sum;
}

void
tests_write_figures(const struct test_run *test, const struct test_thread *thread, FILE *out)
{
	for (uint32_t i = 0; i < BOXPLOTS_KINDS; i++) {
		uint32_t kind = (i + 1) % BOXPLOTS_KINDS; /* the sum comes last */
		const char *name = boxplots_names[kind];
		if ((test->kinds >> kind & 1) == 0)
			continue;
		fprintf(out, ",\"%s\":%" PRIu64, name, thread->counts[kind]);
		if ((test->rated >> kind & 1) != 0)
			fprintf(out, ",\"%s_per_sec\":%.12g", name, thread->rates[kind]);
	}
}
