/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rounds of SIGKILL. A block is eight rounds on one database. So old data can be lost, too,
 * and a crash meets the result of the previous recovery. The next block has a new database,
 * so that its creation is tested as well. So does the round after a finding.
 *
 * The moment. Most rounds wait for a number of operations, drawn so that each power of ten
 * is equally likely: the first ten operations on a file can break as much as the last
 * thousand. They then wait a little longer, so that any instruction can be hit, not only
 * the ends of calls. Some rounds kill while the database is created or opened, some in the
 * final flush, checkpoint or close. A quarter of the rounds also kill the recovery once.
 *
 * In every second block the extra delay is a time: up to 500 us. A round takes at most a
 * second, because a level that syncs each write would take very long. In the other blocks
 * the delay is counted (step.c): up to 64 stops at system calls or 8000 instructions, and
 * up to 512 stops in an open or close, which makes many calls. Times vary more, because the
 * threads of an engine run at their own speed; counts repeat. Blocks share nothing, so a
 * timed block does not change the next one.
 *
 * Wrong results: on a very busy host the moment may always come while the writer waits for
 * a CPU, at the end of its time slice. Then only variety is lost.
 */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "base/rng.h"
#include "base/tree.h"
#include "crash/crash.h"

enum {
	ROUNDS_OF_BLOCK = 8,
	OPS_OF_TRIAL = 20,
	OPS = 10000,
	OPS_COUNTED_SYNCED = 1000, /* because ROUND_NS does not limit a count */
	OPS_SYNCED_TO_CLOSE = 100, /* because ROUND_NS would end it before the close */
	STOPS = 64,
	STOPS_OF_FILES = 512, /* in an open or a close */
	STEPS = 8000,
	STEPS_BEHIND_STOPS = 2000,
	ROUND_NS = 1000 * 1000 * 1000,
	DELAY_NS = 500 * 1000,      /* limit from the last operation to the kill */
	LOOK_NS = 1000 * 1000,      /* between checks of a late writer */
	PHASE_NS = 5 * 1000 * 1000, /* for an open or close of unknown duration */
	WHEN_SIZE = 160
};

#define MEET_NS (10 * (uint64_t)ROUND_NS) /* limit to reach the place of a count */

#define OPS_MAX UINT32_MAX /* for a writer that continues until it is killed */

/** The moment of a kill, drawn before the round. */
struct aim {
	struct crash_end end;
	double wait;            /* fraction of the longest wait */
	bool is_twice;          /* the recovery is killed as well */
	struct crash_end again; /* the moment in the recovery */
	double wait_again;
};

struct kills {
	struct crash_run *run;
	struct crash_progress *board;
	struct crash_plan plan;
	struct crash_oracle state, before; /* `before`: the state before the round */
	struct rng rng;
	bool is_counted; /* the ends of this block should be counted */
	/* all ends of this block so far were counted; later rounds depend on them */
	bool was_counted;
	char database[PATH_MAX], copy[PATH_MAX];
	uint32_t chain_round; /* number of rounds on this database */
	uint32_t round;
	bool is_over;      /* the next round needs a new database */
	bool is_made;      /* this database was open once */
	uint64_t open_ns;  /* duration of the last recovery */
	uint64_t close_ns; /* duration of the last complete close */
};

/* ---- the moment ---- */

static double
draw_share(struct rng *rng)
{
	return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

/** A number from 0 to `most`, with each power of ten equally likely. */
static uint64_t
draw_number(struct rng *rng, uint64_t most)
{
	return (uint64_t)exp(draw_share(rng) * log((double)most + 1)) - 1;
}

/** Draw the count after the place. */
static void
draw_count(struct crash_end *end, struct rng *rng)
{
	uint32_t stops = end->where == CRASH_IN_MIDST ? STOPS : STOPS_OF_FILES;
	bool has_stops = rng_below(rng, 2) == 0, has_steps = rng_below(rng, 2) == 0;
	uint32_t steps = has_stops ? STEPS_BEHIND_STOPS : STEPS;
	end->stops = has_stops ? (uint32_t)draw_number(rng, stops) : 0;
	end->steps = !has_stops || has_steps ? (uint32_t)draw_number(rng, steps) : 0;
}

/** Limit for the operations before the place: an engine that syncs each would not reach it. */
static uint64_t
most_ops(const struct kills *kills, uint32_t where)
{
	const struct nb_crash_args *args = kills->run->args;
	uint64_t most = args->ops != 0 ? args->ops : OPS;
	uint64_t limit = where == CRASH_IN_CLOSE ? OPS_SYNCED_TO_CLOSE
		: kills->is_counted              ? OPS_COUNTED_SYNCED
						 : most;
	return args->durability == NB_DUR_COMMIT && most > limit ? limit : most;
}

/** Draw the aim except for times, which depend on measured ones: set_time(). */
static void
draw_aim(struct aim *aim, struct kills *kills)
{
	struct rng *rng = &kills->rng;
	bool is_counted = kills->is_counted;
	uint64_t of_hundred = rng_below(rng, 100);
	*aim = (struct aim){.end = {.is_counted = is_counted,
				    .where = of_hundred < 5   ? CRASH_IN_OPEN
					    : of_hundred < 85 ? CRASH_IN_MIDST
							      : CRASH_IN_CLOSE}};
	aim->end.ops = draw_number(rng, most_ops(kills, aim->end.where));
	aim->wait = draw_share(rng);
	aim->is_twice = rng_below(rng, 4) == 0;
	aim->again = (struct crash_end){.where = CRASH_IN_OPEN, .is_counted = is_counted};
	aim->wait_again = draw_share(rng);
	draw_count(&aim->end, rng);
	draw_count(&aim->again, rng);
}

/** The longest time from the drawn place to the kill. */
static uint64_t
longest_wait(const struct kills *kills, uint32_t where)
{
	if (where == CRASH_IN_MIDST)
		return DELAY_NS;
	uint64_t usual = where == CRASH_IN_OPEN ? kills->open_ns : kills->close_ns;
	usual = usual != 0 ? usual + usual / 4 : PHASE_NS;
	return usual < ROUND_NS ? usual : ROUND_NS;
}

static void
set_time(struct crash_end *end, const struct kills *kills, double share)
{
	end->ns = (uint64_t)(share * (double)longest_wait(kills, end->where));
}

/** The number of returned operations, plus 1 if all have returned. */
static uint64_t
progress_of(const struct kills *kills, const struct crash_progress *board)
{
	uint64_t sum = __atomic_load_n(&board->is_closing, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < kills->plan.sessions; i++)
		sum += __atomic_load_n(&board->marks[i].acked, __ATOMIC_ACQUIRE);
	return sum;
}

/**
 * Find out whether a late writer is slow or hangs. It hangs if no operation returns any
 * more; a slow one is killed. Returns PROCESS_LATE if it hangs, PROCESS_ENDED if it ended
 * or was killed, or PROCESS_STOPPED.
 */
static int
see_whether_it_hangs(
	const struct kills *kills, pid_t pid, const struct crash_progress *board, int *status)
{
	uint64_t begin = clock_monotonic(), before = progress_of(kills, board);
	if (__atomic_load_n(&board->is_closing, __ATOMIC_ACQUIRE) != 0)
		before--; /* do not wait for progress: the timer ends the close */
	while (progress_of(kills, board) == before &&
		__atomic_load_n(&board->meeting, __ATOMIC_ACQUIRE) != CRASH_MEETS) {
		int how = process_await(pid, status, LOOK_NS);
		if (how != PROCESS_LATE)
			return how;
		if (clock_monotonic() - begin > kills->run->args->timeout_ns)
			return PROCESS_LATE;
	}
	process_kill(pid, status);
	return PROCESS_ENDED;
}

/**
 * Wait until the process was killed. Kills it after ROUND_NS, or after its open if the open
 * takes longer and is not the place of the kill. *hangs: it made no progress.
 * NB_ERR_INTERRUPTED: stop.
 */
static int
await_kill(
	struct kills *kills, pid_t pid, struct crash_progress *board, int *status, bool *hangs)
{
	bool is_counted = false;
	uint64_t begin = clock_monotonic();
	int how = board->end.is_counted != 0
		? crash_step_await(pid, status, board, MEET_NS, &is_counted)
		: process_await(pid, status, ROUND_NS);
	kills->was_counted &= is_counted;
	if (kills->run->args->moment == NB_CRASH_COUNTED && board->meeting == CRASH_ALONE) {
		if (how != PROCESS_ENDED)
			process_kill(pid, status);
		return error_set(NB_UNSUPPORTED,
			"ptrace() is not permitted here, so mininb cannot count moments; use --moment=timed");
	}
	while (how == PROCESS_LATE && __atomic_load_n(&board->is_open, __ATOMIC_ACQUIRE) == 0 &&
		clock_monotonic() - begin <= kills->run->args->timeout_ns)
		how = process_await(pid, status, LOOK_NS);
	if (how == PROCESS_LATE && __atomic_load_n(&board->is_open, __ATOMIC_ACQUIRE) != 0)
		how = see_whether_it_hangs(kills, pid, board, status);
	*hangs = how == PROCESS_LATE;
	if (how != PROCESS_ENDED)
		process_kill(pid, status);
	return how == PROCESS_STOPPED ? error_interrupted() : NB_OK;
}

/** Describe the moment: "after 713 operations, in put". */
static void
describe_moment(char when[WHEN_SIZE], const struct kills *kills,
	const struct crash_moment *moment, bool is_killed, bool is_twice)
{
	const struct crash_progress *board = kills->board;
	uint64_t done = 0, flying = 0;
	struct crash_op op = {.kind = CRASH_PUT};
	for (uint32_t i = 0; i < kills->plan.sessions; i++) {
		done += moment->acked[i] - kills->before.start[i];
		flying += moment->begun[i] - moment->acked[i];
		if (moment->begun[i] > moment->acked[i])
			crash_op_make(&op, &kills->plan, i, moment->acked[i]);
	}
	char where[64];
	if (!board->is_open)
		snprintf(where, sizeof(where), "while %s",
			kills->is_made ? "it was opened" : "it was made");
	else if (board->is_closing)
		snprintf(where, sizeof(where), "%s",
			is_killed ? "in flush, checkpoint or close" : "after close");
	else if (flying > 1)
		snprintf(where, sizeof(where), "in %" PRIu64 " at once", flying);
	else
		snprintf(where, sizeof(where), "%s%s", flying > 0 ? "in " : "between two",
			flying > 0 ? crash_op_name(op.kind) : "");
	snprintf(when, WHEN_SIZE,
		"round %" PRIu32 " of its database, after %" PRIu64 " operations, %s%s%s",
		kills->chain_round + 1, done, where,
		is_twice ? "; and once more in the recovery from that" : "",
		kills->was_counted ? "; counted" : "");
}

/* ---- the processes ---- */

static pid_t
start_writer(struct kills *kills, const struct aim *aim)
{
	struct crash_progress *board = kills->board;
	/* A writer that should not reach its close continues until it is killed. */
	bool closes = aim->end.where == CRASH_IN_CLOSE || aim->end.where == CRASH_NEVER;
	uint64_t ops = closes ? aim->end.ops / kills->plan.sessions + 1 : OPS_MAX;
	crash_progress_begin(board, &kills->state);
	board->end = aim->end;
	set_time(&board->end, kills, aim->wait);
	pid_t pid = crash_fork();
	if (pid == 0)
		crash_child(&kills->run->subject, &kills->state, board, kills->database, ops);
	return pid;
}

/** Kill a recovery; the next recovery starts from the result. */
static int
kill_recovery(struct kills *kills, const struct aim *aim)
{
	struct crash_progress *board = crash_share(sizeof(*board));
	int status;
	if (board == NULL)
		return NB_FAIL;
	board->end = aim->again;
	set_time(&board->end, kills, aim->wait_again);
	pid_t pid = crash_fork();
	if (pid == 0)
		crash_child_recover(&kills->run->subject, board, kills->database);
	bool hangs; /* ignored, because crash_inspect() tests it */
	int rc = pid > 0 ? await_kill(kills, pid, board, &status, &hangs) : NB_FAIL;
	munmap(board, sizeof(*board));
	return rc;
}

/* ---- databases ---- */

static void
begin_block(struct kills *kills)
{
	const struct nb_crash_args *args = kills->run->args;
	bool is_even = kills->round / ROUNDS_OF_BLOCK % 2 == 0;
	kills->is_counted = args->moment == NB_CRASH_COUNTED ||
		(args->moment == NB_CRASH_BOTH && is_even && args->sessions == 1);
	kills->was_counted = kills->is_counted;
	kills->is_over = true;
}

static int
begin_chain(struct kills *kills)
{
	kills->chain_round = 0;
	kills->is_over = false;
	kills->is_made = false;
	return crash_run_begin_chain(kills->run, kills->database, &kills->plan, &kills->state,
		rng_next(&kills->rng));
}

/**
 * Before the first round, write and close without a crash. A failure means that the engine
 * or its options do not work, which is not a finding.
 */
static int
try_engine(struct kills *kills)
{
	static const struct aim none = {.end = {.where = CRASH_NEVER, .ops = OPS_OF_TRIAL}};
	uint64_t timeout_ns = kills->run->args->timeout_ns;
	char text[CRASH_TEXT_SIZE];
	rng_create(&kills->rng, splitmix64_mix(kills->run->args->seed));
	int status = 0, rc = begin_chain(kills);
	pid_t pid = rc == NB_OK ? start_writer(kills, &none) : -1;
	if (pid < 0)
		return rc != NB_OK ? rc : NB_FAIL;
	int how = crash_await(pid, &status, timeout_ns);
	if (how == PROCESS_STOPPED)
		return error_interrupted();
	kills->close_ns = kills->board->close_ns;
	crash_describe_end(
		text, kills->board->is_done, kills->board->text, how, status, timeout_ns);
	return text[0] == '\0' ? NB_OK
			       : error_set(NB_FAIL, "%s, before the first crash: %s",
					 kills->run->args->engine->name, text);
}

/** Report a writer that failed without a kill, on a database after an earlier crash. */
static int
judge_writer(struct kills *kills, struct crash_report *report, const char *text)
{
	const struct crash_progress *board = kills->board;
	if (kills->chain_round == 0)
		return error_set(NB_FAIL, "%s, on a new database: %s",
			kills->run->args->engine->name, text);
	*report = (struct crash_report){0};
	crash_report_wrong(report, board->is_open ? NB_CRASH_NOT_WRITABLE : NB_CRASH_NOT_OPENED,
		"the next round of writes: %s", text);
	report->is_broken = crash_promise(kills->run->subject.how,
				    kills->run->subject.durability) != CRASH_PROMISE_NOTHING;
	return NB_OK;
}

/** Copy the database after the crash, before it is opened. */
static int
copy_database(struct kills *kills)
{
	if (kills->run->args->keep == NULL)
		return NB_OK;
	tree_drop(kills->copy);
	return process_copy_tree(kills->copy, kills->database);
}

static int
check_crash(struct kills *kills, const struct aim *aim, struct crash_report *report,
	struct crash_moment *moment, bool is_killed, char when[WHEN_SIZE])
{
	int rc = crash_progress_check(kills->board, &kills->state, OPS_MAX);
	if (rc != NB_OK)
		return error_prefix(rc,
			"%s overwrote the progress counters in shared memory: it writes to memory that it does not own",
			kills->run->args->engine->name);
	crash_moment_read(moment, kills->board, kills->plan.sessions);
	moment->is_made |= kills->is_made;
	bool is_twice = aim->is_twice && moment->is_made;
	rc = is_twice ? kill_recovery(kills, aim) : NB_OK;
	/* Only now is it known whether everything was counted. */
	describe_moment(when, kills, moment, is_killed, is_twice);
	if (rc == NB_OK)
		rc = copy_database(kills);
	if (rc == NB_OK)
		rc = crash_inspect(
			report, &kills->run->subject, &kills->state, moment, kills->database);
	if (rc == NB_OK && report->open_ns != 0)
		kills->open_ns = report->open_ns;
	kills->is_made = true; /* from now on, or the chain ends */
	return rc;
}

static int
do_round(struct kills *kills)
{
	struct crash_run *run = kills->run;
	struct aim aim;
	struct crash_report report;
	struct crash_moment moment = {.is_made = 0};
	char when[WHEN_SIZE] = "", text[CRASH_TEXT_SIZE];
	draw_aim(&aim, kills);
	crash_oracle_copy(&kills->before, &kills->state);
	int status = 0;
	pid_t pid = start_writer(kills, &aim);
	if (pid < 0)
		return NB_FAIL;
	bool hangs = false;
	int rc = await_kill(kills, pid, kills->board, &status, &hangs);
	if (rc != NB_OK)
		return rc;
	if (kills->board->close_ns != 0)
		kills->close_ns = kills->board->close_ns;
	bool is_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	crash_describe_end(text, kills->board->is_done, kills->board->text,
		hangs ? PROCESS_LATE : PROCESS_ENDED, status, run->args->timeout_ns);
	bool is_bad = hangs || (!is_killed && text[0] != '\0');
	rc = is_bad ? judge_writer(kills, &report, text)
		    : check_crash(kills, &aim, &report, &moment, is_killed, when);
	if (rc != NB_OK)
		return rc;
	if (is_bad)
		snprintf(when, sizeof(when), "round %" PRIu32 " of its database",
			kills->chain_round + 1);
	run->tally->rounds++;
	run->tally->counted += kills->was_counted;
	rc = crash_run_take(run, &report,
		&(struct crash_evidence){.round = kills->round,
			.when = when,
			.is_counted = kills->was_counted,
			.files = is_bad || run->args->keep == NULL ? NULL : kills->copy,
			.state = &kills->before,
			.moment = &moment});
	kills->chain_round++;
	kills->is_over = report.wrongs != 0;
	return rc;
}

static int
do_rounds(struct kills *kills)
{
	uint32_t rounds = kills->run->args->rounds;
	int rc = try_engine(kills);
	if (rc != NB_OK)
		return rc;
	for (kills->round = 0; kills->round < rounds; kills->round++) {
		rc = crash_run_progress(kills->run, kills->round, rounds);
		/*
		 * A generator for each round, so that a finding does not change later
		 * rounds.
		 */
		rng_create(&kills->rng, splitmix64_mix(kills->run->args->seed) + kills->round);
		if (rc == NB_OK && kills->round % ROUNDS_OF_BLOCK == 0)
			begin_block(kills);
		if (rc == NB_OK && kills->is_over)
			rc = begin_chain(kills);
		if (rc == NB_OK)
			rc = do_round(kills);
		if (rc != NB_OK)
			return rc;
	}
	return crash_run_progress(kills->run, rounds, rounds);
}

int
crash_run_kills(struct crash_run *run)
{
	struct kills kills = {.run = run};
	crash_plan_create(&kills.plan, run->args->engine, run->args->sessions, 0);
	snprintf(kills.database, sizeof(kills.database), "%s/database", run->scratch);
	snprintf(kills.copy, sizeof(kills.copy), "%s/copy", run->scratch);
	kills.board = crash_share(sizeof(*kills.board));
	if (kills.board == NULL)
		return NB_FAIL;
	int rc = crash_oracle_create(&kills.state, &kills.plan);
	if (rc == NB_OK)
		rc = crash_oracle_create(&kills.before, &kills.plan);
	if (rc == NB_OK)
		rc = do_rounds(&kills);
	crash_oracle_destroy(&kills.state);
	crash_oracle_destroy(&kills.before);
	munmap(kills.board, sizeof(*kills.board));
	return rc;
}
