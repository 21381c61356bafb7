/* SPDX-License-Identifier: BSD-2-Clause */
/* Why the numbers of a job may be wrong: each note comes where it should, and only there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mininb/results.h>

#include "report/result.h"
#include "unit.h"

static struct job_result_group group;
static struct nb_result result;

static void
begin(void)
{
	group = (struct job_result_group){.name = "readers",
		.threads = 2,
		.measured = {.ops = 1000,
			.done = 1000,
			.wall_ns = 1000000000,
			.span_ns = 1000000000}};
	result = (struct nb_result){
		.threads = 2, .is_job = true, .groups = &group, .group_count = 1};
	ck_assert_int_eq(nb_histogram_new(&result.response), NB_OK);
}

static void
end(void)
{
	nb_histogram_delete(result.response);
	nb_histogram_delete(group.measured.lateness);
	for (size_t i = 0; i < result.note_count; i++)
		free(result.notes[i].text);
	free(result.notes);
}

static void
assert_is_kind(const char *id)
{
	const struct nb_note_kind *kind = nb_note_kinds();
	while (kind->id != NULL && strcmp(kind->id, id) != 0)
		kind++;
	ck_assert_msg(kind->id != NULL, "%s", id);
}

static void
assert_notes(const char *only)
{
	result_add_job_notes(&result);
	for (size_t i = 0; i < result.note_count; i++)
		assert_is_kind(result.notes[i].id);
	ck_assert_uint_eq(result.note_count, only != NULL);
	if (only != NULL)
		ck_assert_str_eq(result.notes[0].text, only);
	end();
}

TEST(where_nothing_is_wrong_nothing_is_noted)
{
	begin();
	assert_notes(NULL);
}

TEST(a_queue_that_grew_is_noted)
{
	begin();
	group.arrivals = NB_ARRIVAL_FIXED;
	group.is_paced = true;
	group.measured.offered_ops = 2000;
	group.measured.lag_ns = 500000000;
	assert_notes("readers: the offered rate is above what could be done: the queue grew to "
		     "1000 operations, and the last one began 500ms late. Its response times "
		     "tell how long the run was, not how fast the engine is; take a lower "
		     "--rate, or --sweep");
}

TEST(lateness_of_the_harness_is_noted_where_it_can_be_seen)
{
	for (int is_seen = 0; is_seen < 2; is_seen++) {
		begin();
		ck_assert_int_eq(nb_histogram_new(&group.measured.lateness), NB_OK);
		nb_histogram_add(group.measured.lateness, 1000);
		nb_histogram_add(result.response, is_seen ? 9000 : 10000);
		assert_notes(is_seen ? "readers: the harness itself began half of its "
				       "operations 1us late or later, which is in their "
				       "response times"
				     : NULL);
	}
}

TEST(waits_for_inserts_of_others_are_noted)
{
	begin();
	group.measured.waited_ns = 20000000; /* a hundredth of two seconds of threads */
	assert_notes(NULL);
	begin();
	group.measured.waited_ns = 50000000;
	assert_notes(
		"readers: threads waited 2.5 % of the time for inserts of others that they "
		"were to read; raise lag above 256");
}

TEST(kinds_of_operations_that_found_nothing_are_noted)
{
	for (int is_noted = 0; is_noted < 2; is_noted++) {
		begin();
		result.workload.verb = NB_VERB_DELETE; /* it writes as well */
		group.measured.kinds[NB_OP_READ].ops = 1000;
		group.measured.kinds[NB_OP_READ].answers[NB_NOT_FOUND] = is_noted ? 501 : 500;
		assert_notes(is_noted ? "readers: 50 % of the read operations found nothing: "
					"what was measured of them is how fast that is told"
				      : NULL);
	}
	begin(); /* which the notes of every run have */
	result.workload.verb = NB_VERB_GET;
	group.measured.kinds[NB_OP_READ].ops = 10;
	group.measured.kinds[NB_OP_READ].answers[NB_NOT_FOUND] = 10;
	assert_notes(NULL);
}

TEST(values_of_an_earlier_run_or_point_are_noted)
{
	begin();
	group.measured.findings.foreign = 7;
	group.measured.findings.verified = 100;
	assert_notes("readers: 7 of 100 values that were verified are an earlier run's: the "
		     "database was not as the loading left it");
	begin();
	group.measured.findings.foreign = 7;
	group.measured.findings.verified = 100;
	result.is_point = true;
	assert_notes(
		"readers: 7 of 100 values that were verified are those of an earlier point "
		"of this sweep, whose points share one database");
}

TEST(gaps_of_scans_that_were_not_looked_for_are_noted)
{
#define GAPS \
	"readers: mininb checked the order and the values of scans, but not whether they " \
	"skip " \
	"records, because "
	begin();
	group.is_blind_to_gaps = true;
	result.key_order = "hashed";
	assert_notes(GAPS "the keys are not in the order of the records; --key-order=ordered "
			  "looks for gaps");
	begin();
	group.is_blind_to_gaps = result.is_replay = true;
	assert_notes(GAPS "it does not know all keys of a trace");
	begin();
	group.is_blind_to_gaps = true;
	result.key_order = "ordered";
	assert_notes(GAPS "records may be missing or keys differ in length");
}

TEST(what_never_was_steady_is_noted_if_that_was_asked)
{
	begin();
	result.was_steady_asked = true;
	result.steady_slope = -0.123;
	result.steady_band = 0.25;
	assert_notes("never steady: over the last window the rate changed by 12.3 % and was up "
		     "to 25.0 % off its mean; run longer, or ask for less");
	begin();
	result.was_steady_asked = result.is_steady = true;
	assert_notes(NULL);
}
