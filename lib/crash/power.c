/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rounds of power loss. A round records some hundred operations in a child process. From
 * the recording it computes states that a power loss or a kill may leave (power_draw.c
 * chooses them, image.h makes them), and checks each.
 *
 * Rounds come in threes: on a new database; on the same database, closed; and on a state of
 * the previous round, so that a recovery is recorded and cut as well.
 *
 * After a power failure the machine boots again, and an engine may ask the kernel whether
 * it did. So the recorder simulates the boot id. A state of a kill is opened under the id
 * that its writer had, a state of a power failure under another. A round that begins with
 * such a state is written under that other id.
 */
#include "crash/power.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process.h"
#include "base/rng.h"
#include "base/tree.h"
#include "crash/image.h"
#include "crash/preload.h"
#include "run/procfs.h"

enum { OPS = 300, STATES = 50, ROUNDS_OF_CHAIN = 3 };

/* Address space; only written pages use memory. 300 operations write 1 to 20 MiB. */
#define LOG_BYTES (UINT64_C(1) << 30)

struct power {
	struct crash_run *run;
	struct preload recorder;
	struct record_log *log;
	struct crash_progress *board;
	struct crash_plan plan;
	struct crash_oracle state; /* at the beginning of the round */
	struct crash_oracle found; /* in a checked state */
	struct crash_moment ended; /* the progress of the ended writer */
	struct rng rng;
	char database[PATH_MAX], base[PATH_MAX], copy[PATH_MAX], try[PATH_MAX];
	uint32_t round, chain_round;
	uint32_t boots; /* number of simulated boots before the round */
	bool is_made;   /* the database was open before the round */
	bool is_told;   /* the warning about an incomplete recording was printed */
};

/* ---- one state ---- */

/**
 * The progress of the sessions just before entry `done` was recorded: the operations that
 * had returned when any call so far began, and those that had begun when it was recorded.
 */
static void
find_moment(struct crash_moment *out, const struct power *power, const struct image *image,
	uint64_t done)
{
	uint64_t count = image_count(image);
	*out = (struct crash_moment){.is_made = power->is_made};
	memcpy(out->begun, power->state.start, sizeof(out->begun));
	memcpy(out->acked, power->state.start, sizeof(out->acked));
	for (uint64_t i = 0; i < count && i <= done; i++) {
		const struct crash_moment *moment = &image_entry(image, i)->moment;
		if (image_entry(image, i)->kind == RECORD_BASE)
			continue;
		out->is_made |= moment->is_made;
		for (uint32_t s = 0; s < power->plan.sessions; s++) {
			if (moment->acked[s] > out->acked[s])
				out->acked[s] = moment->acked[s];
			if (moment->begun[s] > out->begun[s])
				out->begun[s] = moment->begun[s];
		}
	}
	if (done >= count && !power->log->is_full) {
		*out = power->ended;
		out->is_made |= power->is_made;
	}
}

static int
check_state(struct power *power, struct image *image, const struct power_draw *draw)
{
	struct crash_run *run = power->run;
	struct crash_subject subject = run->subject;
	struct crash_moment moment;
	struct crash_report report;
	struct nb_crash_args as_kill = *run->args;
	const struct nb_crash_args *args = run->args;
	char when[CRASH_TEXT_SIZE];
	bool is_kill = draw->kind <= IMAGE_PART;
	image_make(image, draw->done,
		&(struct image_choice){.kind = draw->kind,
			.file_system = args->file_system,
			.seed = draw->seed});
	image_tell(image, when, sizeof(when));
	find_moment(&moment, power, image, draw->done);
	subject.how = is_kill ? NB_CRASH_KILL : NB_CRASH_POWER;
	tree_drop(power->try);
	tree_drop(power->copy);
	crash_oracle_copy(&power->found, &power->state);
	int rc = image_write(image, power->try);
	uint32_t boots = power->boots + !is_kill;
	power->recorder.boot(boots);
	if (rc == NB_OK)
		rc = crash_inspect(&report, &subject, &power->found, &moment, power->try);
	bool is_kept = rc == NB_OK && report.wrongs != 0 && args->keep != NULL;
	if (is_kept) /* write it again, unopened: the image is still in memory */
		rc = image_write(image, power->copy);
	if (rc != NB_OK)
		return rc;
	as_kill.how = subject.how; /* a later check must use the kind of this state */
	run->args = &as_kill;
	rc = crash_run_take(run, &report,
		&(struct crash_evidence){.round = power->round,
			.boots = boots,
			.when = when,
			.files = is_kept ? power->copy : NULL,
			.state = &power->state,
			.moment = &moment});
	run->args = args;
	return rc;
}

/* ---- the recording ---- */

/** Record in the child; never returns. */
static _Noreturn void
write_recorded(struct power *power, uint64_t ops)
{
	int error = power->recorder.begin(
		power->database, power->log, power->board, power->plan.sessions);
	if (error != 0) {
		power->board->failed = NB_FAIL;
		snprintf(power->board->text, sizeof(power->board->text),
			"the recorder cannot start: %s", strerror(error));
		_exit(EXIT_FAILURE);
	}
	crash_child(&power->run->subject, &power->state, power->board, power->database, ops);
}

static int
judge_writer(const struct power *power, int how, int status, uint64_t timeout_ns)
{
	char text[CRASH_TEXT_SIZE];
	crash_describe_end(
		text, power->board->is_done, power->board->text, how, status, timeout_ns);
	if (text[0] == '\0')
		return NB_OK;
	/* Each call compares all mappings, so the delay may not be the engine's fault. */
	if (how == PROCESS_LATE)
		return error_set(NB_FAIL,
			"%s: recording its writes took more than %.3g s; use fewer operations, smaller maps (their contents are compared at each sync) or more time",
			power->run->args->engine->name, (double)timeout_ns / 1e9);
	return error_set(
		NB_FAIL, "%s, while it was recorded: %s", power->run->args->engine->name, text);
}

/** Validate the memory that the writer could have overwritten. */
static int
check_shared(struct power *power, uint64_t ops)
{
	int rc = crash_progress_check(power->board, &power->state, ops);
	power->ended = (struct crash_moment){0};
	crash_moment_read(&power->ended, power->board, power->plan.sessions);
	if (rc == NB_OK)
		rc = record_check(power->log,
			&(struct record_limits){.capacity = LOG_BYTES,
				.sessions = power->plan.sessions,
				.start = power->state.start,
				.ops = ops});
	return rc == NB_OK
		? NB_OK
		: error_prefix(rc,
			  "%s overwrote the recording of its calls: it writes to memory that it does not own",
			  power->run->args->engine->name);
}

static int
record(struct power *power)
{
	struct crash_run *run = power->run;
	uint64_t ops = run->args->ops != 0 ? run->args->ops : OPS;
	uint64_t timeout_ns = run->subject.timeout_ns;
	int status = 0;
	record_create(power->log, LOG_BYTES);
	crash_progress_begin(power->board, &power->state);
	madvise(power->log, LOG_BYTES, MADV_DOFORK);
	power->recorder.boot(power->boots);
	pid_t pid = crash_fork();
	if (pid == 0)
		write_recorded(power, ops);
	if (pid < 0)
		return NB_FAIL;
	int how = crash_await(pid, &status, timeout_ns);
	/* children that check states could overwrite it */
	madvise(power->log, LOG_BYTES, MADV_DONTFORK);
	int rc = how == PROCESS_STOPPED ? error_interrupted()
					: judge_writer(power, how, status, timeout_ns);
	return rc == NB_OK ? check_shared(power, ops) : rc;
}

static void
count_calls(struct power *power, const struct image *image)
{
	struct nb_crash_tally *tally = power->run->tally;
	for (uint64_t i = 0; i < image_count(image); i++) {
		const struct record_entry *entry = image_entry(image, i);
		tally->mapped_pages += entry->kind == RECORD_MAPPED;
		tally->syncs += record_is_sync(entry);
		tally->calls += entry->kind != RECORD_MAPPED && entry->kind != RECORD_BASE &&
			entry->kind != RECORD_POINT;
	}
}

/** Whether the level promises something about a power loss. */
static bool
has_losses(const struct power *power)
{
	return crash_promise(NB_CRASH_POWER, power->run->subject.durability) !=
		CRASH_PROMISE_NOTHING;
}

/** Whether operations rely on stores into mappings that are never synced. */
static bool
is_without_syncs(const struct power *power, const struct image *image)
{
	uint64_t points = 0, stores = 0, syncs = 0;
	for (uint64_t i = 0; i < image_count(image); i++) {
		const struct record_entry *entry = image_entry(image, i);
		bool is_in_midst = points > 0 && entry->moment.is_made != 0;
		points += entry->kind == RECORD_POINT;
		stores += is_in_midst && entry->kind == RECORD_MAPPED;
		syncs += is_in_midst && record_is_sync(entry);
	}
	return power->run->subject.durability == NB_DUR_COMMIT && stores >= points &&
		syncs < points / 2;
}

/** Warn once if the recording is incomplete. */
static int
tell_gaps(struct power *power, struct image *image)
{
	char text[CRASH_TEXT_SIZE] = "";
	if (power->log->is_full) {
		snprintf(text, sizeof(text), "the recording needs more memory");
	} else {
		image_make(
			image, image_count(image), &(struct image_choice){.kind = IMAGE_WHOLE});
		int rc = image_differs(image, power->database, text, sizeof(text));
		if (rc < 0)
			return rc;
		if (rc > 0)
			strncat(text, ", unlike the recording",
				sizeof(text) - strlen(text) - 1);
	}
	bool is_without = is_without_syncs(power, image);
	/* An engine that adapts to the medium is correct, but each state would look wrong. */
	if (is_without && power->run->args->engine->auto_durability_at != NULL)
		return error_set(NB_UNSUPPORTED,
			"%s stores into a mapping here without a call to sync it, as on persistent memory; mininb simulates power loss only for disks: use a directory on a disk",
			power->run->args->engine->name);
	if (text[0] == '\0' && is_without)
		snprintf(text, sizeof(text),
			"it stores into a mapping without a call to sync it, as on persistent memory");
	if (power->log->is_blind)
		snprintf(text, sizeof(text), "%s", power->log->blind);
	if (text[0] != '\0' && !power->is_told) {
		log_message(NB_LOG_WARNING,
			"%s: the recording misses some of its writes (%s): findings, and missing findings, may be caused by that",
			power->run->args->engine->name, text);
		procfs_keep(power->run->tally->unseen, sizeof(power->run->tally->unseen), text);
	}
	power->is_told |= text[0] != '\0';
	return NB_OK;
}

/* ---- rounds ---- */

static int
begin_chain(struct power *power)
{
	power->chain_round = 0;
	power->boots = 0;
	power->is_made = false;
	return crash_run_begin_chain(power->run, power->database, &power->plan, &power->state,
		rng_next(&power->rng));
}

/**
 * Prepare the next round: its database is that of this round after its close or a crash.
 * Check a copy of it; if that gives a finding, the next round has a new database.
 */
static int
go_on(struct power *power, struct image *image)
{
	struct crash_report report;
	struct crash_moment moment;
	uint64_t done = image_count(image);
	uint32_t kind = IMAGE_WHOLE;
	if (++power->chain_round == ROUNDS_OF_CHAIN)
		return NB_OK;
	if (power->chain_round == ROUNDS_OF_CHAIN - 1) {
		done -= rng_below(&power->rng, done / 2 + 1);
		while (!power_is_moment(image, done))
			done++;
		kind = has_losses(power) ? IMAGE_RANDOM : IMAGE_WHOLE;
	}
	image_make(image, done,
		&(struct image_choice){.kind = kind,
			.file_system = power->run->args->file_system,
			.seed = rng_next(&power->rng)});
	find_moment(&moment, power, image, done);
	tree_drop(power->try);
	tree_drop(power->database);
	crash_oracle_copy(&power->found, &power->state);
	int rc = image_write(image, power->try);
	if (rc == NB_OK)
		rc = image_write(image, power->database);
	power->boots += kind == IMAGE_RANDOM;
	power->recorder.boot(power->boots);
	if (rc == NB_OK)
		rc = crash_inspect(
			&report, &power->run->subject, &power->found, &moment, power->try);
	if (rc != NB_OK)
		return rc;
	if (report.wrongs != 0 || !moment.is_made)
		power->chain_round = ROUNDS_OF_CHAIN;
	crash_oracle_copy(&power->state, &power->found);
	memcpy(power->state.start, moment.begun, sizeof(moment.begun));
	power->is_made = true;
	return NB_OK;
}

static int
check_states(struct power *power, struct image *image)
{
	struct power_moments moments;
	const struct nb_crash_args *args = power->run->args;
	uint64_t states = args->states != 0 ? args->states : STATES;
	int rc = power_moments_create(&moments, image, power->log->is_coarse != 0);
	moments.turn = power->round;
	for (uint64_t i = 0; rc == NB_OK && i < states; i++) {
		struct power_draw draw;
		power_draw(&draw, &moments, i, states, has_losses(power), &power->rng);
		rc = crash_run_progress(
			power->run, power->round * states + i, (uint64_t)args->rounds * states);
		if (rc == NB_OK)
			rc = check_state(power, image, &draw);
	}
	power_moments_destroy(&moments);
	return rc;
}

static int
do_round(struct power *power)
{
	struct image *image = NULL;
	int rc = NB_OK;
	if (power->chain_round == ROUNDS_OF_CHAIN)
		rc = begin_chain(power);
	tree_drop(power->base);
	if (rc == NB_OK)
		rc = process_copy_tree(power->base, power->database);
	if (rc == NB_OK)
		rc = record(power);
	if (rc == NB_OK)
		rc = image_new(&image, power->log, power->base);
	if (rc != NB_OK)
		return rc;
	count_calls(power, image);
	rc = tell_gaps(power, image);
	if (rc == NB_OK)
		rc = check_states(power, image);
	if (rc == NB_OK)
		rc = go_on(power, image);
	power->run->tally->rounds += rc == NB_OK;
	image_delete(image);
	return rc;
}

static int
do_rounds(struct power *power)
{
	const struct nb_crash_args *args = power->run->args;
	uint64_t states = args->states != 0 ? args->states : STATES;
	power->chain_round = ROUNDS_OF_CHAIN;
	for (power->round = 0; power->round < args->rounds; power->round++) {
		int rc = do_round(power);
		if (rc != NB_OK)
			return rc;
	}
	return crash_run_progress(power->run, args->rounds * states, args->rounds * states);
}

static void
make_paths(struct power *power)
{
	const char *scratch = power->run->scratch;
	snprintf(power->database, PATH_MAX, "%s/database", scratch);
	snprintf(power->base, PATH_MAX, "%s/base", scratch);
	snprintf(power->copy, PATH_MAX, "%s/copy", scratch);
	snprintf(power->try, PATH_MAX, "%s/try", scratch);
}

int
crash_run_power(struct crash_run *run)
{
	struct power power = {.run = run};
	if (!preload_find(&power.recorder))
		return error_set(NB_UNSUPPORTED,
			"the simulation of power loss needs the recorder in LD_PRELOAD, which is not loaded");
	rng_create(&power.rng, run->args->seed);
	crash_plan_create(&power.plan, run->args->engine, run->args->sessions, 0);
	make_paths(&power);
	power.log = crash_share(LOG_BYTES);
	power.board = crash_share(sizeof(*power.board));
	int rc = power.log != NULL && power.board != NULL
		? crash_oracle_create(&power.state, &power.plan)
		: NB_FAIL;
	if (rc == NB_OK)
		rc = crash_oracle_create(&power.found, &power.plan);
	if (rc == NB_OK)
		rc = do_rounds(&power);
	power.recorder.boot(0);
	crash_oracle_destroy(&power.state);
	crash_oracle_destroy(&power.found);
	if (power.board != NULL)
		munmap(power.board, sizeof(*power.board));
	if (power.log != NULL)
		munmap(power.log, LOG_BYTES);
	return rc;
}
