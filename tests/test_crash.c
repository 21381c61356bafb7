/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A crash test as a whole: its arguments, its counts, and the findings that it reports and
 * keeps.
 */
#include "crash_rig.h"
#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

static struct crash_oracle state;
static struct crash_plan plan;
static struct nb_crash_args args;
static struct nb_crash_tally tally;
static struct crash_run run;

void
unit_setup(void)
{
	crash_rig_fresh();
	crash_rig_load("keeper", "defect", "none");
	crash_rig_forget();
	args = crash_rig_args(NB_DUR_PROCESS);
	args.keep = "found";
	crash_plan_create(&plan, args.engine, 1, 7);
	ck_assert_int_eq(crash_oracle_create(&state, &plan), NB_OK);
	tally = (struct nb_crash_tally){.size = sizeof(tally)};
	ck_assert_int_eq(nb_histogram_new(&tally.recovery), NB_OK);
	ck_assert_int_eq(nb_histogram_new(&tally.reopening), NB_OK);
	run = (struct crash_run){.args = &args, .tally = &tally, .scratch = scratch_path};
}

void
unit_teardown(void)
{
	nb_crash_tally_clear(&tally);
	crash_oracle_destroy(&state);
	crash_rig_unload();
}

/** Add a crash with this report, and with files to keep. */
static int
take(struct crash_report *report, uint32_t round, bool has_files)
{
	struct crash_moment moment = {.is_made = 1};
	if (has_files)
		ck_assert_int_eq(mkdir("files", 0700), 0);
	int rc = crash_run_take(&run, report,
		&(struct crash_evidence){.round = round,
			.when = "now",
			.files = has_files ? "files" : NULL,
			.state = &state,
			.moment = &moment});
	rmdir("files"); /* if it was not kept */
	return rc;
}

static struct crash_report
report_of(uint32_t wrong, bool is_broken)
{
	struct crash_report report = {.acknowledged = 10,
		.in_flight = 3,
		.in_flight_kept = 2,
		.survived = 6,
		.lost = 4,
		.holes = 1,
		.open_ns = 1000,
		.reopen_ns = 500};
	crash_report_wrong(&report, wrong, "what is wrong");
	report.is_broken = is_broken;
	return report;
}

TEST(crashes_are_added_up)
{
	struct crash_report good = {.acknowledged = 5, .survived = 5, .open_ns = 3000};
	struct crash_report bad = report_of(NB_CRASH_LOST, true);
	crash_report_wrong(&bad, NB_CRASH_SCAN, "and that");
	ck_assert_int_eq(take(&good, 0, false), NB_OK);
	ck_assert_uint_eq(told.count, 0);
	ck_assert_int_eq(take(&bad, 1, false), NB_OK);
	bad.open_ns = 0; /* the database did not open */
	bad.reopen_ns = 0;
	ck_assert_int_eq(take(&bad, 2, false), NB_OK);
	ck_assert_uint_eq(told.count, 2);
	ck_assert_str_eq(told.text, "what is wrong");
	ck_assert_str_eq(told.when, "now");
	ck_assert_uint_eq(tally.crashes, 3);
	ck_assert_uint_eq(tally.broken, 2);
	ck_assert_uint_eq(tally.acknowledged, 25);
	ck_assert_uint_eq(tally.survived, 17);
	ck_assert_uint_eq(tally.lost, 8);
	ck_assert_uint_eq(tally.holes, 2);
	ck_assert_uint_eq(tally.in_flight, 6);
	ck_assert_uint_eq(tally.in_flight_kept, 4);
	ck_assert_uint_eq(tally.wrong[NB_CRASH_LOST], 2);
	ck_assert_uint_eq(tally.wrong[NB_CRASH_SCAN], 2);
	ck_assert_uint_eq(tally.wrong[NB_CRASH_TORN], 0);
	ck_assert_uint_eq(nb_histogram_count(tally.recovery), 2);
	ck_assert_uint_eq(nb_histogram_max(tally.recovery), 3000);
	ck_assert_uint_eq(nb_histogram_count(tally.reopening), 1);
}

TEST(ten_broken_promises_are_kept_and_all_are_reported)
{
	struct crash_report report = report_of(NB_CRASH_LOST, true);
	for (uint32_t round = 0; round < 12; round++) {
		crash_rig_forget();
		ck_assert_int_eq(take(&report, round, true), NB_OK);
		ck_assert_uint_eq(told.count, 1);
		ck_assert_uint_eq(told.is_broken, 1);
		ck_assert_int_eq(told.kept[0] != '\0', round < 10);
	}
	ck_assert_int_eq(entries_of("found"), 10);
	ck_assert_uint_eq(tally.broken, 12);
}

TEST(one_unpromised_loss_of_each_kind_is_kept)
{
	static const uint32_t wrongs[] = {
		NB_CRASH_LOST, NB_CRASH_TORN, NB_CRASH_LOST, NB_CRASH_TORN, NB_CRASH_LOST};
	for (uint32_t i = 0; i < 5; i++) {
		struct crash_report report = report_of(wrongs[i], false);
		crash_rig_forget();
		ck_assert_int_eq(take(&report, i, true), NB_OK);
		ck_assert_uint_eq(told.wrong, wrongs[i]);
		ck_assert_int_eq(told.kept[0] != '\0', i < 2);
	}
	ck_assert_uint_eq(tally.broken, 0);
}

TEST(databases_are_kept_only_on_request)
{
	struct crash_report report = report_of(NB_CRASH_LOST, true);
	args.keep = NULL;
	ck_assert_int_eq(take(&report, 0, true), NB_OK);
	ck_assert_uint_eq(told.count, 1);
	ck_assert_str_eq(told.kept, "");
	ck_assert_int_eq(entries_of("."), 0);
}

TEST(finding_that_cannot_be_kept_is_reported)
{
	struct crash_report report = report_of(NB_CRASH_LOST, true);
	file_put("found", "", 0);
	ck_assert_int_eq(take(&report, 0, true), NB_FAIL);
	ck_assert_ptr_nonnull(
		strstr(nb_error_text(), "found: cannot create a directory in it"));
	ck_assert_uint_eq(told.count, 1);
	ck_assert_str_eq(told.kept, "");
}

/* ---- the call ---- */

static void
is_refused(int rc, const char *part)
{
	struct nb_crash_tally none;
	ck_assert_int_eq(nb_crash(&none, &args), rc);
	ck_assert_msg(strstr(nb_error_text(), part) != NULL, "%s", nb_error_text());
	ck_assert_uint_eq(none.crashes, 0);
	nb_crash_tally_clear(&none);
	args = crash_rig_args(NB_DUR_PROCESS);
}

TEST(arguments_out_of_range_are_refused)
{
	args.rounds = 0;
	is_refused(NB_ERR_USAGE, "are invalid");
	args.timeout_ns = 0;
	is_refused(NB_ERR_USAGE, "are invalid");
	args.how = NB_CRASH_POWER + 1;
	is_refused(NB_ERR_USAGE, "are invalid");
	args.file_system = NB_CRASH_POSIX + 1;
	is_refused(NB_ERR_USAGE, "are invalid");
	args.sessions = 0;
	is_refused(NB_ERR_USAGE, "sessions: 1 to 16");
	args.sessions = CRASH_SESSIONS_MAX + 1;
	is_refused(NB_ERR_USAGE, "sessions: 1 to 16");
	struct nb_engine other = *args.engine;
	other.key_size_max = CRASH_KEY_MIN - 1;
	args.engine = &other;
	is_refused(
		NB_UNSUPPORTED, "keeper allows keys of at most 3 bytes; a crash test needs 4");
}

static void
note_progress(void *to, const struct nb_progress *progress)
{
	uint64_t *next = to;
	ck_assert_str_eq(progress->what, "crash");
	ck_assert_uint_eq(progress->done, (*next)++);
	ck_assert_uint_eq(progress->total, 2);
}

TEST(progress_is_reported_and_an_interruption_ends_the_test)
{
	uint64_t next = 0;
	struct nb_crash_tally whole;
	args.keep = NULL;
	args.rounds = 2;
	args.ops = 20;
	args.progress = note_progress;
	args.progress_arg = &next;
	ck_assert_int_eq(nb_crash(&whole, &args), NB_OK);
	ck_assert_uint_eq(next, 3);
	ck_assert_uint_eq(whole.rounds, 2);
	nb_crash_tally_clear(&whole);
	nb_stop();
	ck_assert_int_eq(nb_crash(&whole, &args), NB_ERR_INTERRUPTED);
	nb_stop_clear();
	ck_assert_uint_eq(next, 3);
	ck_assert_uint_eq(whole.rounds, 0);
	nb_crash_tally_clear(&whole);
	ck_assert_int_eq(entries_of("."), 0);
}
