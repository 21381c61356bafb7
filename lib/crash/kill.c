/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rounds of SIGKILL. Some eight of them are done on one database, so that old data is at
 * stake, too, and what a recovery leaves is what the next crash finds; then comes
 * a new one, so that its making is crashed as well.
 *
 * When to kill. Most rounds wait for a number of operations, drawn so that each power of
 * ten is as likely as another (there is as much to be broken in the first ten operations on a file
 * as in the last thousand), and then for up to 500 us, by which it hits any instruction
 * and not only the ends of calls. Some kill while the database is being made or opened, some in
 * the flush, checkpoint or close at the end. In a quarter of the rounds the
 * recovery is killed once, too, before it is let through. A round takes a second at
 * most, whatever was drawn: a level that syncs each write would take for ever.
 *
 * What would make it wrong: a host so busy that the moment comes always when the writer waits
 * for a CPU, at the end of its time slice. Nothing is missed then but variety.
 */
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "base/rng.h"
#include "base/tree.h"
#include "crash/crash.h"

enum {
	ROUNDS_OF_CHAIN = 8,
	OPS = 10000,
	ROUND_NS = 1000 * 1000 * 1000,
	DELAY_NS = 500 * 1000,      /* between a number of operations and the kill */
	PHASE_NS = 5 * 1000 * 1000, /* of an open or close that nothing is known of */
	OPENS_MAX = 10,             /* of ROUND_NS, for an open */
	WHEN_SIZE = 160
};

/** When to kill, drawn before the round. */
struct aim {
	uint32_t where;    /* CRASH_IN_OPEN, ... */
	uint64_t ops;      /* to wait for */
	double wait;       /* and then, share of the longest time to wait */
	bool is_twice;     /* the recovery is killed as well, */
	double wait_twice; /* after that share of the time that one takes */
};

struct kills {
	struct crash_run *run;
	struct crash_board *board;
	struct crash_plan plan;
	struct crash_state state, before; /* `before`: as of before the round */
	struct rng rng;
	char *database, *copy; /* paths */
	uint32_t chain_round;  /* done on this database */
	uint32_t round;
	bool is_made;      /* this database was open once */
	uint64_t open_ns;  /* that the last recovery took */
	uint64_t close_ns; /* that the last close took that came to its end */
};

/* ---- the moment ---- */

static double
draw_share(struct rng *rng)
{
	return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

static void
draw_aim(struct aim *aim, struct rng *rng, uint64_t most)
{
	uint64_t of_hundred = rng_below(rng, 100);
	aim->where = of_hundred < 5 ? CRASH_IN_OPEN
		: of_hundred < 85   ? CRASH_IN_MIDST
				    : CRASH_IN_CLOSE;
	aim->ops = (uint64_t)exp(draw_share(rng) * log((double)most + 1)) - 1;
	aim->wait = draw_share(rng);
	aim->is_twice = rng_below(rng, 4) == 0;
	aim->wait_twice = draw_share(rng);
}

/** The longest time from the place that was drawn to the kill. */
static uint64_t
longest_wait(const struct kills *kills, const struct aim *aim)
{
	if (aim->where == CRASH_IN_MIDST)
		return DELAY_NS;
	uint64_t usual = aim->where == CRASH_IN_OPEN ? kills->open_ns : kills->close_ns;
	usual = usual != 0 ? usual + usual / 4 : PHASE_NS;
	return usual < ROUND_NS ? usual : ROUND_NS;
}

/**
 * Wait until it has been killed, or do it now: after ROUND_NS, or where its open takes that long
 * and is not what is to be killed, when it has had more. NB_ERR_INTERRUPTED: and there is no
 * more.
 */
static int
await_kill(pid_t pid, const struct crash_board *board, int *status)
{
	int how = process_await(pid, status, ROUND_NS);
	for (int i = 1; i < OPENS_MAX && how == PROCESS_LATE &&
		__atomic_load_n(&board->is_open, __ATOMIC_ACQUIRE) == 0;
		i++)
		how = process_await(pid, status, ROUND_NS);
	if (how != PROCESS_ENDED)
		process_kill(pid, status);
	return how == PROCESS_STOPPED ? error_interrupted() : NB_OK;
}

/** "after 713 operations, in put". */
static void
describe_moment(char when[WHEN_SIZE], const struct kills *kills,
	const struct crash_moment *moment, bool is_killed, bool is_twice)
{
	static const char *const verbs[] = {"put", "del", "batch"};
	const struct crash_board *board = kills->board;
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
			flying > 0 ? verbs[op.kind] : "");
	snprintf(when, WHEN_SIZE,
		"round %" PRIu32 " of its database, after %" PRIu64 " operations, %s%s",
		kills->chain_round + 1, done, where,
		is_twice ? "; and once more in the recovery from that" : "");
}

/* ---- the processes ---- */

static pid_t
start_writer(struct kills *kills, const struct aim *aim)
{
	struct crash_board *board = kills->board;
	/* One that is not to close goes on until it is killed. */
	uint64_t ops = aim->where == CRASH_IN_CLOSE ? aim->ops / kills->plan.sessions + 1
						    : UINT32_MAX;
	crash_board_begin(board, &kills->state);
	board->kill_where = aim->where;
	board->kill_ops = aim->ops;
	board->kill_ns = (uint64_t)(aim->wait * (double)longest_wait(kills, aim));
	fflush(NULL); /* or the child would write it again */
	pid_t parent = getpid(), pid = fork();
	if (pid == 0) {
		crash_child_begin(parent);
		crash_child(&kills->run->subject, &kills->state, board, kills->database, ops);
	}
	return pid;
}

/** Kill a recovery; what it has left is for the next one. */
static int
kill_recovery(struct kills *kills, const struct aim *aim)
{
	int status;
	struct crash_board *board;
	int rc = crash_board_new(&board);
	if (rc != NB_OK)
		return rc;
	board->kill_where = CRASH_IN_OPEN;
	board->kill_ns = (uint64_t)(aim->wait_twice *
		(double)longest_wait(kills, &(struct aim){.where = CRASH_IN_OPEN}));
	pid_t parent = getpid(), pid = fork();
	if (pid == 0) {
		crash_child_begin(parent);
		crash_child_recover(&kills->run->subject, board, kills->database);
	}
	rc = pid > 0 ? await_kill(pid, board, &status)
		     : error_system("a process cannot be made");
	crash_board_delete(board);
	return rc;
}

/* ---- databases ---- */

static int
begin_chain(struct kills *kills)
{
	tree_drop(kills->database);
	if (mkdir(kills->database, 0700) != 0)
		return error_system("%s cannot be made", kills->database);
	crash_plan_create(&kills->plan, kills->run->args->engine, kills->run->args->sessions,
		rng_next(&kills->rng));
	memset(kills->state.last, 0, crash_state_keys(&kills->state) * sizeof(uint64_t));
	memset(kills->state.start, 0, sizeof(kills->state.start));
	kills->chain_round = 0;
	kills->is_made = false;
	return NB_OK;
}

/**
 * A writer that has ended by itself, and not well. On a new database that is no finding of a
 * crash but an engine, or an option of it, that does not work.
 */
static int
judge_writer(struct kills *kills, struct crash_report *report, int status)
{
	const struct crash_board *board = kills->board;
	char text[CRASH_TEXT_SIZE];
	if (WIFSIGNALED(status))
		process_describe_end(text, sizeof(text), PROCESS_ENDED, status, 0);
	else
		snprintf(text, sizeof(text), "%s", board->text);
	if (kills->chain_round == 0)
		return error_set(NB_FAIL, "%s, before anything has crashed: %s",
			kills->run->args->engine->name, text);
	*report = (struct crash_report){0};
	crash_report_wrong(report, board->is_open ? NB_CRASH_NOT_WRITABLE : NB_CRASH_NOT_OPENED,
		"the next round of writes: %s", text);
	report->is_broken = crash_promise(kills->run->subject.how,
				    kills->run->subject.durability) != CRASH_PROMISE_NOTHING;
	return NB_OK;
}

/** What the crash has left, kept before it is opened. */
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
	crash_moment_read(moment, kills->board, kills->plan.sessions);
	moment->is_made |= kills->is_made;
	bool is_twice = aim->is_twice && moment->is_made;
	describe_moment(when, kills, moment, is_killed, is_twice);
	kills->is_made = moment->is_made;
	int rc = is_twice ? kill_recovery(kills, aim) : NB_OK;
	if (rc == NB_OK)
		rc = copy_database(kills);
	if (rc == NB_OK)
		rc = crash_verify(
			report, &kills->run->subject, &kills->state, moment, kills->database);
	if (rc == NB_OK && report->open_ns != 0)
		kills->open_ns = report->open_ns;
	kills->is_made = true; /* if it was not, it is now, or the chain ends */
	return rc;
}

static int
do_round(struct kills *kills)
{
	struct crash_run *run = kills->run;
	struct aim aim;
	struct crash_report report;
	struct crash_moment moment = {.is_made = 0};
	char when[WHEN_SIZE] = "";
	uint64_t most = run->args->ops != 0 ? run->args->ops : OPS;
	draw_aim(&aim, &kills->rng, most);
	crash_state_copy(&kills->before, &kills->state);
	int status = 0;
	pid_t pid = start_writer(kills, &aim);
	if (pid < 0)
		return error_system("a process cannot be made");
	int rc = await_kill(pid, kills->board, &status);
	if (rc != NB_OK)
		return rc;
	if (kills->board->close_ns != 0)
		kills->close_ns = kills->board->close_ns;
	bool is_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	bool is_bad = !is_killed && !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	rc = is_bad ? judge_writer(kills, &report, status)
		    : check_crash(kills, &aim, &report, &moment, is_killed, when);
	if (rc != NB_OK)
		return rc;
	if (is_bad)
		snprintf(when, sizeof(when), "round %" PRIu32 " of its database",
			kills->chain_round + 1);
	run->tally->rounds++;
	rc = crash_run_take(run, &report,
		&(struct crash_evidence){.round = kills->round,
			.when = when,
			.files = is_bad || run->args->keep == NULL ? NULL : kills->copy,
			.state = &kills->before,
			.moment = &moment});
	kills->chain_round = report.wrongs != 0 ? ROUNDS_OF_CHAIN : kills->chain_round + 1;
	return rc;
}

static int
do_rounds(struct kills *kills)
{
	uint32_t rounds = kills->run->args->rounds;
	kills->chain_round = ROUNDS_OF_CHAIN;
	for (kills->round = 0; kills->round < rounds; kills->round++) {
		int rc = crash_run_progress(kills->run, kills->round, rounds);
		/* Of its own, so that what one finds changes nothing for the next. */
		rng_create(&kills->rng, splitmix64_mix(kills->run->args->seed) + kills->round);
		if (rc == NB_OK && kills->chain_round == ROUNDS_OF_CHAIN)
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
	int rc = NB_FAIL;
	if (asprintf(&kills.database, "%s/database", run->scratch) < 0 ||
		asprintf(&kills.copy, "%s/copy", run->scratch) < 0) {
		error_set(NB_FAIL, "out of memory");
		goto free_paths;
	}
	rc = crash_board_new(&kills.board);
	if (rc != NB_OK)
		goto free_paths;
	rc = crash_state_create(&kills.state, &kills.plan);
	if (rc == NB_OK)
		rc = crash_state_create(&kills.before, &kills.plan);
	if (rc == NB_OK)
		rc = do_rounds(&kills);
	crash_state_destroy(&kills.state);
	crash_state_destroy(&kills.before);
	crash_board_delete(kills.board);
free_paths:
	free(kills.database);
	free(kills.copy);
	return rc;
}
