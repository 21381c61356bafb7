/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rounds of SIGKILL on a correct engine and on one with each defect. The correct one must pass.
 * Each defect must be found and classified correctly. A kept crash gives the same finding
 * again.
 */
#include <string.h>

#include "crash_rig.h"
#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

void
unit_setup(void)
{
	crash_rig_fresh();
}

void
unit_teardown(void)
{
	nb_crash_tally_clear(&rig_tally);
	crash_rig_unload();
}

static void
load(const char *defect)
{
	crash_rig_load("keeper", "defect", defect);
}

static struct nb_crash_args
args_of(uint32_t durability, uint32_t rounds)
{
	struct nb_crash_args args = crash_rig_args(durability);
	args.rounds = rounds;
	args.ops = 300;
	return args;
}

/** Make a call. It must leave nothing but the crash that it keeps. */
static int
crash(const struct nb_crash_args *args)
{
	int rc = crash_rig_call(args);
	ck_assert_int_eq(entries_of("."), args->keep != NULL && told.kept[0] != '\0');
	return rc;
}

/** The defect is found as `wrong`, at each level at which it is a defect. */
static void
is_found(const char *defect, uint32_t wrong, const char *part, uint32_t rounds)
{
	scratch_fresh(defect);
	load(defect);
	struct nb_crash_args args = args_of(NB_DUR_PROCESS, rounds);
	if (strcmp(defect, "hangs") == 0) {
		args.rounds = 1;
		/* also limits the trial, which does not hang, on a busy machine */
		args.timeout_ns = 1000 * 1000 * 1000;
	}
	ck_assert_int_eq(crash(&args), 0);
	ck_assert_msg(rig_tally.wrong[wrong] > 0, "%s: %s", defect, told.text);
	ck_assert_uint_gt(rig_tally.broken, 0);
	ck_assert_uint_eq(told.is_broken, 1);
	ck_assert_msg(told.wrong != wrong || strstr(told.text, part) != NULL, "%s", told.text);
}

TEST(correct_engine_passes_at_each_level)
{
	load("none");
	for (uint32_t level = NB_DUR_NONE; level <= NB_DUR_COMMIT; level++) {
		struct nb_crash_args args = args_of(level, 10);
		ck_assert_int_eq(crash(&args), 0);
		ck_assert_msg(rig_tally.broken == 0, "%s", told.text);
		ck_assert_uint_eq(told.count, 0);
		ck_assert_uint_eq(rig_tally.rounds, 10);
		ck_assert_uint_eq(rig_tally.crashes, 10);
		ck_assert_uint_eq(rig_tally.survived + rig_tally.lost, rig_tally.acknowledged);
		ck_assert_uint_eq(rig_tally.holes, 0);
		ck_assert_uint_eq(nb_histogram_count(rig_tally.recovery), 10);
		if (level != NB_DUR_NONE)
			ck_assert_uint_eq(rig_tally.lost, 0);
	}
}

TEST(each_defect_is_detected)
{
	static const struct {
		const char *defect;
		uint32_t wrong;
		const char *part;
	} defects[] = {
		{"buffers", NB_CRASH_LOST, "lost"},
		{"tears", NB_CRASH_TORN, "match no value put there"},
		{"splits", NB_CRASH_SPLIT_BATCH, "is present in part: in key"},
		{"resurrects", NB_CRASH_LOST, "key "},
		{"swaps", NB_CRASH_GHOST, "put under another key"},
		{"refuses", NB_CRASH_NOT_OPENED, "(database was not closed)"},
		{"crashes", NB_CRASH_NOT_OPENED, "in open the process was ended by SIGTERM"},
		{"hangs", NB_CRASH_NOT_OPENED, " it hangs"},
		{"skips", NB_CRASH_SCAN, "a scan left out the key"},
		{"drifts", NB_CRASH_UNSTABLE, "changed by close and open: gone"},
		{"stubborn", NB_CRASH_NOT_WRITABLE, "no write is taken after a recovery"},
		{"reorders", NB_CRASH_REORDERED, "is present and an earlier one is missing"},
	};
	for (size_t i = 0; i < sizeof(defects) / sizeof(*defects); i++)
		is_found(defects[i].defect, defects[i].wrong, defects[i].part, 6);
}

TEST(correct_transactions_and_counters_pass)
{
	load("transactional");
	for (uint32_t level = NB_DUR_NONE; level <= NB_DUR_PROCESS; level++) {
		struct nb_crash_args args = args_of(level, 10);
		ck_assert_int_eq(crash(&args), 0);
		ck_assert_msg(told.count == 0, "%s", told.text);
		ck_assert_uint_eq(rig_tally.survived + rig_tally.lost, rig_tally.acknowledged);
	}
}

static int
execute_unsupported(
	struct nb_session *session, struct nb_step *steps, size_t count, uint32_t flags)
{
	return NB_UNSUPPORTED;
}

TEST(unsupported_execute_is_a_transaction)
{
	load("transactional");
	struct nb_engine other = *crash_rig_engine();
	struct nb_crash_args args = args_of(NB_DUR_PROCESS, 3);
	other.execute = execute_unsupported;
	args.engine = &other;
	ck_assert_int_eq(crash(&args), 0);
	ck_assert_msg(told.count == 0, "%s", told.text);
}

TEST(kept_counters_reproduce_the_finding)
{
	char text[512], path[256];
	load("doubles");
	struct nb_crash_args args = args_of(NB_DUR_PROCESS, 8);
	args.keep = "found";
	ck_assert_int_eq(crash(&args), 0);
	strcpy(text, told.text);
	strcpy(path, told.kept);
	ck_assert_int_eq(crash_rig_again(&args, path), 0);
	ck_assert_uint_eq(rig_tally.broken, 1);
	ck_assert_str_eq(told.text, text);
}

TEST(each_defect_of_transactions_and_counters_is_detected)
{
	static const struct {
		const char *defect;
		uint32_t wrong;
		const char *part;
	} defects[] = {
		{"halves", NB_CRASH_SPLIT_BATCH, "a transaction of"},
		{"postpones", NB_CRASH_LOST, "operation "},
		{"doubles", NB_CRASH_TORN, "which is there twice"},
		{"revives", NB_CRASH_GHOST, "a transaction that was aborted"},
	};
	for (size_t i = 0; i < sizeof(defects) / sizeof(*defects); i++)
		is_found(defects[i].defect, defects[i].wrong, defects[i].part, 8);
}

TEST(level_none_promises_nothing)
{
	load("tears");
	struct nb_crash_args args = args_of(NB_DUR_NONE, 10);
	ck_assert_int_eq(crash(&args), 0);
	ck_assert_uint_eq(rig_tally.broken, 0);
	ck_assert_uint_gt(rig_tally.lost, 0);
	ck_assert_uint_gt(rig_tally.wrong[NB_CRASH_TORN], 0); /* torn values are reported */
	ck_assert_uint_gt(told.count, 0);
	ck_assert_uint_eq(told.is_broken, 0);
}

TEST(kept_database_reproduces_the_finding)
{
	struct nb_crash_kept kept;
	char text[512], when[256], path[256];
	load("tears");
	struct nb_crash_args args = args_of(NB_DUR_PROCESS, 2);
	args.keep = "found";
	args.engine_options = (const char *const[]){"defect=tears"};
	args.engine_option_count = 1;
	args.seed = UINT64_MAX;
	ck_assert_int_eq(crash(&args), 0);
	ck_assert_uint_gt(told.count, 0);
	strcpy(text, told.text);
	strcpy(when, told.when);
	strcpy(path, told.kept);
	ck_assert_int_eq(strncmp(path, "found/keeper-process-", 21), 0);

	ck_assert_int_eq(nb_crash_kept_read(&kept, path), 0);
	ck_assert_str_eq(kept.driver, "keeper");
	ck_assert_uint_eq(kept.engine_option_count, 1);
	ck_assert_str_eq(kept.engine_options[0], "defect=tears");
	ck_assert_uint_eq(kept.durability, NB_DUR_PROCESS);
	ck_assert_uint_eq(kept.how, NB_CRASH_KILL);
	ck_assert_uint_eq(kept.seed, UINT64_MAX);
	nb_crash_kept_clear(&kept);

	for (int i = 0; i < 2; i++) { /* repeated checks do not change it */
		ck_assert_int_eq(crash_rig_again(&args, path), 0);
		ck_assert_uint_eq(rig_tally.rounds, 1);
		ck_assert_uint_eq(rig_tally.broken, 1);
		ck_assert_str_eq(told.text, text);
		ck_assert_str_eq(told.when, when);
	}
}

TEST(impossible_tests_are_refused)
{
	load("none");
	struct nb_engine other = *crash_rig_engine();
	struct nb_crash_args args = args_of(NB_DUR_PROCESS, 1);
	args.sessions = 2;
	ck_assert_int_eq(crash_rig_call(&args), NB_ERR_USAGE);
	args = args_of(NB_DUR_PROCESS, 1);
	args.engine = &other;
	other.caps &= ~NB_CAP_PERSISTENT;
	ck_assert_int_eq(crash_rig_call(&args), NB_UNSUPPORTED);
	other.caps |= NB_CAP_PERSISTENT;
	other.durabilities = NB_DUR_BIT(NB_DUR_COMMIT);
	ck_assert_int_eq(crash_rig_call(&args), NB_UNSUPPORTED); /* same as a run */
	ck_assert_str_eq(
		nb_error_text(), "durability process: keeper cannot give it; it gives: commit");
	args = args_of(NB_DUR_PROCESS, 1);
	args.scratch = "/nowhere";
	ck_assert_int_eq(crash_rig_call(&args), NB_FAIL);
}

static int
put_failing(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return NB_FAIL;
}

TEST(engine_that_fails_before_a_crash_is_not_a_finding)
{
	load("none");
	struct nb_engine other = *crash_rig_engine();
	struct nb_crash_args args = args_of(NB_DUR_PROCESS, 3);
	args.engine = &other;
	other.put = put_failing;
	ck_assert_int_eq(crash(&args), NB_FAIL);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "before the first crash: put"));
	ck_assert_uint_eq(rig_tally.crashes, 0);
}

TEST(engine_that_exits_with_status_0_has_not_finished_its_writes)
{
	static const char wanted[] = "the engine ended the process with status 0";
	load("leaves");
	struct nb_crash_args args = args_of(NB_DUR_PROCESS, 30);
	int rc = crash(&args); /* on a new database or on a crashed one */
	ck_assert(rc == NB_FAIL || rig_tally.wrong[NB_CRASH_NOT_WRITABLE] > 0);
	ck_assert_ptr_nonnull(strstr(rc == NB_FAIL ? nb_error_text() : told.text, wanted));
}

TEST(hanging_writer_is_reported)
{
	load("blocks");
	struct nb_crash_args args = args_of(NB_DUR_PROCESS, 30);
	args.moment = NB_CRASH_TIMED;
	args.timeout_ns = 100 * 1000 * 1000;
	int rc = crash(&args);
	ck_assert(rc == NB_FAIL || rig_tally.wrong[NB_CRASH_NOT_WRITABLE] > 0);
	const char *text = rc == NB_FAIL ? nb_error_text() : told.text;
	ck_assert_msg(strstr(text, "it hangs: no end after 0.1 s") != NULL, "%s", text);
}

TEST(every_kind_of_finding_has_a_name)
{
	for (uint32_t i = 0; i < NB_CRASH_WRONGS; i++)
		ck_assert_ptr_nonnull(nb_crash_wrong_name(i));
	ck_assert_ptr_null(nb_crash_wrong_name(NB_CRASH_WRONGS));
}
