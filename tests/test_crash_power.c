/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rounds of power loss on a correct engine and on the same engine without one necessary step.
 * The correct one passes on both kinds of file systems. Each missing step is found where it is
 * a defect. The recorder is preloaded.
 */
#include "crash/power.h"

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
load(const char *left_out)
{
	crash_rig_load("syncer", "left_out", left_out);
}

static struct nb_crash_args
args_of(uint32_t durability, uint32_t file_system)
{
	struct nb_crash_args args = crash_rig_args(durability);
	args.how = NB_CRASH_POWER;
	args.file_system = file_system;
	args.rounds = 1;
	args.states = 60;
	args.ops = 12;
	return args;
}

/** The number of states that break a promise. */
static uint32_t
broken(const struct nb_crash_args *args)
{
	int rc = crash_rig_call(args);
	ck_assert_msg(rc == 0, "%s", nb_error_text());
	ck_assert_uint_eq(rig_tally.rounds, args->rounds);
	ck_assert_uint_eq(rig_tally.crashes, args->rounds * args->states);
	ck_assert_uint_gt(rig_tally.calls, 0);
	ck_assert_uint_eq(told.is_broken, rig_tally.broken > 0);
	return rig_tally.broken;
}

static bool
is_found(const char *left_out, uint32_t durability, uint32_t file_system, uint32_t wrong)
{
	load(left_out);
	struct nb_crash_args args = args_of(durability, file_system);
	bool is_broken = broken(&args) > 0;
	if (is_broken)
		ck_assert_msg(rig_tally.wrong[wrong] > 0, "%s: %s", left_out, told.text);
	return is_broken;
}

/**
 * The number of broken states, with as many states for each of `rounds` recordings as `mininb
 * crash --power` makes.
 */
static uint32_t
broken_by_default(const char *left_out, uint64_t seed, uint32_t rounds)
{
	load(left_out);
	struct nb_crash_args args = args_of(NB_DUR_COMMIT, NB_CRASH_JOURNALLED);
	args.seed = seed;
	args.rounds = rounds;
	args.states = 50;
	args.ops = 0;
	uint32_t count = broken(&args);
	return count;
}

/** The number of seeds: few by default, more in nightly tests. */
static uint64_t
seeds(void)
{
	const char *asked = getenv("MININB_TEST_SEEDS");
	return asked != NULL ? strtoull(asked, NULL, 10) : 3;
}

/* Three rounds: on a new database, on a closed one, and on one after a power loss. */
TEST(engine_that_syncs_everything_passes)
{
	load("none");
	for (uint32_t system = NB_CRASH_JOURNALLED; system <= NB_CRASH_POSIX; system++) {
		struct nb_crash_args args = args_of(NB_DUR_COMMIT, system);
		args.rounds = 3;
		args.states = 30;
		ck_assert_msg(broken(&args) == 0, "%s: %s", told.when, told.text);
		ck_assert_uint_gt(rig_tally.acknowledged, 0);
		ck_assert_uint_eq(rig_tally.survived, rig_tally.acknowledged);
		ck_assert_uint_ge(rig_tally.syncs, 3 * args.ops);
		ck_assert_uint_eq(rig_tally.mapped_pages, 0);
		ck_assert_str_eq(rig_tally.unseen, "");
	}
	ck_assert_int_eq(entries_of("."), 0);
}

TEST(missing_sync_of_data_is_detected)
{
	ck_assert(is_found("data", NB_DUR_COMMIT, NB_CRASH_JOURNALLED, NB_CRASH_LOST));
	/* this level promises nothing here */
	ck_assert(!is_found("data", NB_DUR_PROCESS, NB_CRASH_JOURNALLED, NB_CRASH_LOST));
}

TEST(missing_sync_of_a_directory_is_detected_only_on_posix)
{
	ck_assert(!is_found("names", NB_DUR_COMMIT, NB_CRASH_JOURNALLED, NB_CRASH_NOT_OPENED));
	ck_assert(is_found("names", NB_DUR_COMMIT, NB_CRASH_POSIX, NB_CRASH_NOT_OPENED));
}

TEST(rename_before_a_sync_is_detected)
{
	ck_assert(is_found("renames", NB_DUR_COMMIT, NB_CRASH_JOURNALLED, NB_CRASH_NOT_OPENED));
}

/* If moments and losses were drawn uniformly, one state in 200 would show it. */
TEST(log_without_checksums_is_detected_with_each_seed)
{
	for (uint64_t seed = 1; seed <= seeds(); seed++)
		ck_assert_msg(broken_by_default("sums", seed, 2) > 0, "seed %d", (int)seed);
}

/* Three moments of some thousand show it. */
TEST(log_cut_before_a_durable_snapshot_is_detected_with_each_seed)
{
	for (uint64_t seed = 1; seed <= seeds(); seed++)
		ck_assert_msg(broken_by_default("order", seed, 2) > 0, "seed %d", (int)seed);
}

TEST(log_with_checksums_and_durable_snapshots_passes_with_each_seed)
{
	for (uint64_t seed = 1; seed <= seeds(); seed++)
		ck_assert_msg(broken_by_default("none", seed, 2) == 0, "seed %d: %s, %s",
			(int)seed, told.when, told.text);
}

/* A process that exits normally after a store through a wild pointer. */
TEST(overwritten_recording_is_reported)
{
	crash_rig_load("syncer", "wild", "recording");
	struct nb_crash_args args = args_of(NB_DUR_COMMIT, NB_CRASH_JOURNALLED);
	ck_assert_int_eq(crash_rig_call(&args), NB_ERR_DATA);
	ck_assert_str_eq(nb_error_text(),
		"syncer overwrote the recording of its calls: it writes to memory that it does not own: it is 18446744073709551615 bytes long");
	ck_assert_int_eq(entries_of("."), 0);
}

/* The same in the inspecting process. */
TEST(overwritten_finding_is_reported)
{
	crash_rig_load("syncer", "wild", "all");
	struct nb_crash_args args = args_of(NB_DUR_COMMIT, NB_CRASH_JOURNALLED);
	args.states = 30;
	args.rounds = 2;
	ck_assert_uint_gt(broken(&args), 0);
	ck_assert_uint_eq(rig_tally.wrong[NB_CRASH_NOT_OPENED], rig_tally.broken);
	ck_assert_uint_le(rig_tally.in_flight, rig_tally.crashes);
	ck_assert_str_eq(told.text,
		"it overwrote the findings about it: it writes to memory that it does not own");
}

/* The engine is correct, so the report blames the unrecorded writes for the missing data. */
TEST(writes_that_the_recorder_cannot_see_are_reported)
{
	crash_rig_load("syncer", "hidden", "yes");
	struct nb_crash_args args = args_of(NB_DUR_COMMIT, NB_CRASH_JOURNALLED);
	args.states = 20; /* in the first of them, recorded calls are pending */
	ck_assert_uint_gt(broken(&args), 0);
	ck_assert_str_eq(rig_tally.unseen, "log has another size, unlike the recording");
}

TEST(seed_and_kept_recording_reproduce_the_state)
{
	char text[512], when[512], kept[256];
	load("data");
	struct nb_crash_args args = args_of(NB_DUR_COMMIT, NB_CRASH_JOURNALLED);
	args.keep = "kept";
	args.states = 20;
	uint32_t count = broken(&args);
	strcpy(text, told.text);
	strcpy(when, told.when);
	strcpy(kept, told.kept);
	args.keep = NULL;
	ck_assert_uint_eq(broken(&args), count);
	ck_assert_str_eq(told.text, text);
	ck_assert_str_eq(told.when, when);
	ck_assert_int_eq(crash_rig_again(&args, kept), 0);
	ck_assert_uint_eq(rig_tally.broken, 1);
	ck_assert_str_eq(told.text, text);
}

/*
 * The engine then refuses to open. A kill does not restart the machine, but a repeated power
 * loss does.
 */
TEST(engine_sees_a_restarted_machine_after_a_power_failure_only)
{
	char kept[256];
	load("boot");
	struct nb_crash_args args = args_of(NB_DUR_PROCESS, NB_CRASH_JOURNALLED);
	args.states = 20;
	args.rounds = 3;
	ck_assert_msg(broken(&args) == 0, "%s: %s", told.when, told.text);
	args.durability = NB_DUR_COMMIT;
	args.keep = "kept";
	ck_assert_uint_gt(broken(&args), 0);
	ck_assert_uint_eq(rig_tally.wrong[NB_CRASH_NOT_OPENED], rig_tally.broken);
	ck_assert_uint_le(rig_tally.broken, 3 * args.states / 4 * args.rounds);
	ck_assert_ptr_nonnull(strstr(told.text, "the machine was started again"));
	strcpy(kept, told.kept);
	args.keep = NULL;
	ck_assert_int_eq(crash_rig_again(&args, kept), 0);
	ck_assert_uint_eq(rig_tally.broken, 1);
	ck_assert_ptr_nonnull(strstr(told.text, "the machine was started again"));
}

/**
 * The moments of a made-up recording of 100 entries. POWER_ANY and POWER_KILL have all of them,
 * the other classes have `others`.
 */
static void
moments_of(struct power_moments *out, uint64_t any[100], uint64_t *others, uint64_t count)
{
	for (uint64_t i = 0; i < 100; i++)
		any[i] = i;
	*out = (struct power_moments){
		.of = {[POWER_ANY] = {any, 100}, [POWER_KILL] = {any, 100}}};
	for (uint32_t c = 0; c < POWER_ANY; c++)
		out->of[c] = (struct power_list){others, count};
}

TEST(enough_states_include_each_moment_of_a_class)
{
	enum { MOMENTS = 7, STATES = 100 };
	uint64_t any[100], moments_at[MOMENTS] = {3, 5, 8, 20, 21, 50, 99};
	struct power_moments moments;
	struct rng rng;
	rng_create(&rng, 1);
	for (uint32_t class = 0; class < POWER_ANY; class ++) {
		bool is_met[100] = {false};
		moments_of(&moments, any, moments_at, 0);
		moments.of[class] = (struct power_list){moments_at, MOMENTS};
		for (uint64_t i = 0; i < STATES; i++) {
			struct power_draw draw;
			power_draw(&draw, &moments, i, STATES, true, &rng);
			ck_assert_uint_lt(draw.done, 100);
			ck_assert_uint_lt(draw.kind, IMAGE_KINDS);
			ck_assert_int_eq(draw.kind <= IMAGE_PART, i % 4 == 3);
			if (draw.kind > IMAGE_PART)
				is_met[draw.done] = true;
		}
		for (size_t i = 0; i < MOMENTS; i++)
			ck_assert_msg(is_met[moments_at[i]], "class %u: %zu", class, i);
	}
}

TEST(recorder_is_found)
{
	ck_assert_int_eq(nb_crash_recorder_is_loaded(), 1);
	char *path = nb_crash_recorder_path();
	ck_assert_ptr_nonnull(path);
	ck_assert_ptr_nonnull(strstr(path, "libmininb-recorder.so"));
	ck_assert_int_eq(access(path, R_OK), 0);
	free(path);
}
