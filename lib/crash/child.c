/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process that writes. It does what the stream says, and tells the board before and
 * after each call; it never looks at what it wrote, which is the business of another process.
 *
 * That an operation was begun is stored before the call and that it has returned after
 * it, both in release order: a call whose return was seen has returned. It is
 * ended by SIGKILL or ends by _exit(), with no handlers run: what an engine would do
 * when a program ends well must not be what keeps its data.
 *
 * SIGKILL comes from a timer of its own that it sets at the place that was drawn, or from a
 * parent that stands beside it from there on and counts (step.c). A parent that only
 * watches would hit what is there when it gets a CPU: on a busy machine
 * thousands of operations later, and never the first ones.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "check/suite.h"
#include "crash/crash.h"
#include "crash/record.h"
#include "run/fault.h"

/* One that answers NB_CONFLICT so often to who writes keys that nobody else writes never will
 * do better. */
enum { RETRIES = 100000 };

enum {
	COUNTED_S = 10,  /* an end that is counted comes before that, or by the timer */
	WINDOW_OPS = 32, /* or after so many operations that made no more system calls */
	SETTLE_OPS = 256 /* of the operations of a session, which has to be the only one */
};

struct writer {
	const struct crash_subject *subject;
	const struct crash_plan *plan;
	struct crash_board *board;
	struct nb_session *session;
	struct nb_db *db; /* of a writer that is alone; else NULL */
	uint32_t id;
	uint64_t begin, end; /* operations */
	uint64_t fatal;      /* the one before which its end begins to run out */
	recorder_point_fn point;
	pthread_t thread;
	unsigned char keys[CRASH_BATCH_MAX][CRASH_KEY_MAX];
	unsigned char values[CRASH_BATCH_MAX][CRASH_VALUE_MAX];
	struct nb_write writes[CRASH_BATCH_MAX];
};

void
crash_child_begin(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0); /* or a terminal's ^C would end it, and look like its own fault */
	if (getppid() != parent)
		_exit(EXIT_FAILURE); /* it ended before that */
	fault_release();
	process_take_signals_back();
	host_reset(NULL);
}

struct nb_open_args
crash_open_args(const struct crash_subject *subject, const char *path, uint32_t sessions,
	uint32_t flags)
{
	return (struct nb_open_args){.size = sizeof(struct nb_open_args),
		.flags = flags,
		.host = &suite_host,
		.path = path,
		.options = subject->options,
		.sessions = sessions,
		.durability = subject->durability};
}

/** Say why the writer ends. Of several threads the first one. */
static void
fail(struct crash_board *board, const char *what, int rc)
{
	int32_t none = NB_OK;
	if (__atomic_compare_exchange_n(
		    &board->failed, &none, rc, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		snprintf(board->text, sizeof(board->text), "%s answered %s%s%.400s%s", what,
			answer_name(rc), host_text()[0] != '\0' ? " (" : "", host_text(),
			host_text()[0] != '\0' ? ")" : "");
}

static _Noreturn void
give_up(struct crash_board *board, const char *what, int rc)
{
	fail(board, what, rc);
	_exit(EXIT_FAILURE);
}

static void
set_timer(uint64_t ns)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
	struct itimerspec after = {.it_value = {.tv_sec = (time_t)(ns / 1000000000),
					   .tv_nsec = (long)(ns % 1000000000)}};
	timer_t timer;
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && ns > 0 &&
		timer_settime(timer, 0, &after, NULL) == 0)
		return;
	kill(getpid(), SIGKILL); /* at once: that is a moment as well */
}

/** Let the end run out, if it is to begin here. Of several threads the first one does. */
static void
set_end(struct crash_board *board, uint32_t where)
{
	if (board->end.where != where)
		return;
	if (board->end.is_counted == 0) {
		set_timer(board->end.ns);
		return;
	}
	/* Before they meet: what comes after it is counted. */
	set_timer(COUNTED_S * UINT64_C(1000000000));
	if (!crash_step_meet(board))
		set_timer(board->end.ns);
}

static void
prepare(struct writer *writer, const struct crash_op *op, uint64_t number)
{
	for (uint32_t i = 0; i < op->count; i++) {
		struct nb_write *write = &writer->writes[i];
		*write = (struct nb_write){
			.is_delete = op->writes[i].is_delete, .key.data = writer->keys[i]};
		write->key.size = crash_key_make(
			writer->keys[i], writer->plan, writer->id, op->writes[i].key);
		if (op->writes[i].is_delete)
			continue;
		write->value.data = writer->values[i];
		write->value.size = crash_value_make(writer->values[i], writer->plan,
			writer->id, crash_write_number(number, i));
	}
}

static int
call(struct writer *writer, const struct crash_op *op)
{
	const struct nb_engine *engine = writer->subject->engine;
	const struct nb_write *first = &writer->writes[0];
	if (op->kind == CRASH_BATCH)
		return engine->batch(writer->session, writer->writes, op->count,
			writer->plan->is_atomic ? NB_BATCH_ATOMIC : 0);
	return op->kind == CRASH_DEL ? engine->del(writer->session, first->key)
				     : engine->put(writer->session, first->key, first->value);
}

/** Do one operation. False: it failed. */
static bool
write_one(struct writer *writer, uint64_t number)
{
	static const char *const names[] = {"put", "del", "batch"};
	struct crash_mark *mark = &writer->board->marks[writer->id];
	struct crash_op op;
	crash_op_make(&op, writer->plan, writer->id, number);
	prepare(writer, &op, number);
	int rc = NB_CONFLICT;
	host_forget();
	__atomic_store_n(&mark->begun, number + 1, __ATOMIC_RELEASE);
	for (int i = 0; rc == NB_CONFLICT && i < RETRIES; i++)
		rc = call(writer, &op);
	if (rc != NB_OK && (rc != NB_NOT_FOUND || op.kind != CRASH_DEL)) {
		fail(writer->board, names[op.kind], rc);
		return false;
	}
	__atomic_store_n(&mark->acked, number + 1, __ATOMIC_RELEASE);
	if (writer->point != NULL)
		writer->point();
	return true;
}

/** NB_UNSUPPORTED is no failure of these. */
static int
settle(const struct nb_engine *engine, struct nb_db *db, const char **what)
{
	*what = "flush";
	int rc = engine->flush != NULL ? engine->flush(db, NB_SETTLE_FLUSH) : NB_OK;
	if (rc != NB_OK && rc != NB_UNSUPPORTED)
		return rc;
	*what = "checkpoint";
	rc = engine->checkpoint != NULL ? engine->checkpoint(db) : NB_OK;
	return rc != NB_UNSUPPORTED ? rc : NB_OK;
}

/** What follows a checkpoint goes to a log that was cut or exchanged, so there are some in the
 * midst. No session may be in an operation then. False: it failed. */
static bool
settle_now_and_then(struct writer *writer, uint64_t number)
{
	const char *what;
	if (writer->db == NULL || number % SETTLE_OPS != SETTLE_OPS - 1)
		return true;
	host_forget();
	int rc = settle(writer->subject->engine, writer->db, &what);
	if (rc != NB_OK)
		fail(writer->board, what, rc);
	return rc == NB_OK;
}

static void *
write_all(void *arg)
{
	struct writer *writer = arg;
	for (uint64_t i = writer->begin; i < writer->end; i++) {
		if (i == writer->fatal)
			set_end(writer->board, CRASH_IN_MIDST);
		if (i == writer->fatal + WINDOW_OPS)
			crash_step_out(writer->board);
		if (!write_one(writer, i) || !settle_now_and_then(writer, i))
			break;
	}
	return NULL;
}

static void
run_writers(struct writer *writers, uint32_t count, struct crash_board *board)
{
	for (uint32_t i = 1; i < count; i++)
		if (pthread_create(&writers[i].thread, NULL, write_all, &writers[i]) != 0) {
			host_forget();
			give_up(board, "pthread_create", NB_FAIL);
		}
	write_all(&writers[0]);
	for (uint32_t i = 1; i < count; i++)
		pthread_join(writers[i].thread, NULL);
	if (__atomic_load_n(&board->failed, __ATOMIC_ACQUIRE) != NB_OK)
		_exit(EXIT_FAILURE);
}

/** What a program does that ends well. */
static void
finish(struct writer *writers, uint32_t count, struct nb_db *db, struct crash_board *board)
{
	const struct nb_engine *engine = writers[0].subject->engine;
	__atomic_store_n(&board->is_closing, 1, __ATOMIC_RELEASE);
	host_forget();
	uint64_t begin = clock_monotonic();
	set_end(board, CRASH_IN_CLOSE);
	const char *what;
	int rc = settle(engine, db, &what);
	if (rc != NB_OK)
		give_up(board, what, rc);
	for (uint32_t i = 0; i < count; i++) {
		rc = engine->session_close(writers[i].session);
		if (rc != NB_OK)
			give_up(board, "session_close", rc);
	}
	rc = engine->close(db);
	if (rc != NB_OK)
		give_up(board, "close", rc);
	board->close_ns = clock_monotonic() - begin;
	if (writers[0].point != NULL)
		writers[0].point();
}

_Noreturn void
crash_child(const struct crash_subject *subject, const struct crash_state *state,
	struct crash_board *board, const char *path, uint64_t ops)
{
	uint32_t count = state->plan->sessions;
	struct nb_open_args args = crash_open_args(subject, path, count, NB_OPEN_CREATE);
	struct writer *writers = calloc(count, sizeof(*writers));
	struct nb_db *db = NULL;
	void *point = dlsym(RTLD_DEFAULT, "nb_recorder_point");
	if (writers == NULL)
		give_up(board, "calloc", NB_FAIL);
	__atomic_store_n(&board->is_opening, 1, __ATOMIC_RELEASE);
	host_forget();
	uint64_t begin = clock_monotonic();
	set_end(board, CRASH_IN_OPEN);
	int rc = subject->engine->open(&db, &args);
	if (rc != NB_OK)
		give_up(board, "open", rc);
	board->open_ns = clock_monotonic() - begin;
	for (uint32_t i = 0; i < count; i++) {
		writers[i] = (struct writer){.subject = subject,
			.plan = state->plan,
			.board = board,
			.db = count == 1 ? db : NULL,
			.id = i,
			.begin = state->start[i],
			.end = state->start[i] + ops,
			.fatal = state->start[i] + board->end.ops / count};
		memcpy(&writers[i].point, &point, sizeof(point));
		rc = subject->engine->session_open(&writers[i].session, db, i);
		if (rc != NB_OK)
			give_up(board, "session_open", rc);
	}
	__atomic_store_n(&board->is_open, 1, __ATOMIC_RELEASE);
	run_writers(writers, count, board);
	finish(writers, count, db, board);
	__atomic_store_n(&board->is_done, 1, __ATOMIC_RELEASE);
	_exit(EXIT_SUCCESS);
}

_Noreturn void
crash_child_recover(
	const struct crash_subject *subject, struct crash_board *board, const char *path)
{
	struct nb_open_args args = crash_open_args(subject, path, 1, 0);
	struct nb_db *db = NULL;
	__atomic_store_n(&board->is_opening, 1, __ATOMIC_RELEASE);
	host_forget();
	set_end(board, CRASH_IN_OPEN);
	int rc = subject->engine->open(&db, &args);
	if (rc != NB_OK)
		give_up(board, "open", rc);
	__atomic_store_n(&board->is_open, 1, __ATOMIC_RELEASE);
	/* A parent that counts would wait for ever for the next stop. */
	if (__atomic_load_n(&board->meeting, __ATOMIC_ACQUIRE) == CRASH_FOLLOWED)
		_exit(EXIT_SUCCESS);
	for (;;)
		pause();
}
