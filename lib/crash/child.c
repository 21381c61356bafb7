/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The writing process, and the board: memory that it shares with the process that kills it.
 *
 * The writer executes the operations of the stream and updates the board before and after
 * each call. It never reads its data back: another process does that.
 *
 * The writer stores the begin of an operation before the call, and its return after it,
 * both in release order. Both processes share the memory, so stores before SIGKILL are
 * kept. The writer ends by SIGKILL or _exit(), without exit handlers: an engine must not
 * need them to keep its data.
 *
 * SIGKILL comes from the writer's own timer, which it sets at the drawn place. Or a parent
 * traces the writer from that place and counts (step.c). A parent that only waits would
 * kill when it next gets a CPU: on a busy machine thousands of operations later, and never
 * during the first ones.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "check/suite.h"
#include "crash/crash.h"
#include "crash/syscall_log.h"
#include "run/fault.h"

enum {
	COUNTED_S = 10,  /* limit for counting; after it the timer kills the process */
	WINDOW_OPS = 32, /* limit for the operations during which stops are counted */
	SETTLE_OPS = 256 /* operations between settles, if there is one session */
};

struct writer {
	const struct crash_subject *subject;
	const struct crash_plan *plan;
	struct crash_progress *board;
	struct nb_session *session;
	struct nb_db *db; /* if there is one session; else NULL */
	uint32_t id;
	uint64_t begin, end; /* operations begin .. end-1 */
	uint64_t fatal;      /* set_end() is called before this operation */
	recorder_point_fn point;
	pthread_t thread;
	unsigned char keys[CRASH_BATCH_MAX][CRASH_KEY_MAX];
	unsigned char values[CRASH_BATCH_MAX][CRASH_VALUE_MAX];
	struct nb_write writes[CRASH_BATCH_MAX];
	struct nb_step steps[CRASH_BATCH_MAX];
};

/* ---- processes ---- */

void *
crash_share(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory != MAP_FAILED)
		return memory;
	error_system("cannot allocate shared memory");
	return NULL;
}

pid_t
crash_fork(void)
{
	fflush(NULL); /* else the child would write the buffers again */
	pid_t parent = getpid(), pid = fork();
	if (pid < 0)
		error_system("cannot create a process");
	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* else ^C in a terminal would kill it, which looks like a fault of the engine */
	setpgid(0, 0);
	if (getppid() != parent)
		_exit(EXIT_FAILURE); /* the parent ended before prctl() */
	fault_release();
	process_take_signals_back();
	host_reset(NULL);
	return 0;
}

int
crash_await(pid_t pid, int *status, uint64_t timeout_ns)
{
	int how = process_await(pid, status, timeout_ns);
	if (how != PROCESS_ENDED)
		process_kill(pid, status);
	return how;
}

/* ---- the board ---- */

void
crash_progress_begin(struct crash_progress *board, const struct crash_oracle *state)
{
	*board = (struct crash_progress){.failed = NB_OK};
	for (uint32_t i = 0; i < state->plan->sessions; i++)
		board->marks[i].begun = board->marks[i].acked = state->start[i];
}

void
crash_describe_end(char text[CRASH_TEXT_SIZE], bool is_done, const char *why, int how,
	int status, uint64_t timeout_ns)
{
	process_describe_end(text, CRASH_TEXT_SIZE, how, status, timeout_ns);
	if (text[0] == '\0' && !is_done)
		snprintf(text, CRASH_TEXT_SIZE, "the engine ended the process with status 0");
	else if (text[0] != '\0' && why[0] != '\0')
		snprintf(text, CRASH_TEXT_SIZE, "%.*s", CRASH_TEXT_SIZE - 1, why);
}

int
crash_progress_check(
	const struct crash_progress *board, const struct crash_oracle *state, uint64_t ops)
{
	struct crash_moment moment;
	crash_moment_read(&moment, board, state->plan->sessions);
	for (uint32_t i = 0; i < state->plan->sessions; i++) {
		uint64_t acked = moment.acked[i], begun = moment.begun[i];
		/* a session of an ended writer has at most one operation in flight */
		if (acked < state->start[i] || begun < acked || begun - acked > 1 ||
			begun - state->start[i] > ops)
			return error_set(NB_ERR_DATA,
				"session %" PRIu32 " has begun %" PRIu64
				" operations and done %" PRIu64 ", and started with %" PRIu64,
				i, begun, acked, state->start[i]);
	}
	return NB_OK;
}

/* ---- the writer ---- */

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

/** Store the reason why the writer ends. The first thread to call it wins. */
static void
fail(struct crash_progress *board, const char *what, int rc)
{
	int32_t none = NB_OK;
	if (__atomic_compare_exchange_n(
		    &board->failed, &none, rc, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		snprintf(board->text, sizeof(board->text), "%s answered %s%s%.400s%s", what,
			answer_name(rc), host_text()[0] != '\0' ? " (" : "", host_text(),
			host_text()[0] != '\0' ? ")" : "");
}

static _Noreturn void
give_up(struct crash_progress *board, const char *what, int rc)
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
	kill(getpid(), SIGKILL);
}

/** Start the timer or the count if `where` is the drawn place. */
static void
set_end(struct crash_progress *board, uint32_t where)
{
	if (board->end.where != where)
		return;
	if (board->end.is_counted == 0) {
		set_timer(board->end.ns);
		return;
	}
	/* Set it before the meeting, because later system calls are counted. */
	set_timer(COUNTED_S * UINT64_C(1000000000));
	if (!crash_step_meet(board))
		set_timer(board->end.ns);
}

/** Make the value of write `i`; for a counter, its operand. */
static size_t
make_value(struct writer *writer, uint32_t i, uint32_t key, uint64_t write)
{
	uint64_t operand = crash_operand(writer->plan, writer->id, write);
	if (!crash_is_counter(writer->plan, key))
		return crash_value_make(writer->values[i], writer->plan, writer->id, write);
	memcpy(writer->values[i], &operand, sizeof(operand));
	return sizeof(operand);
}

static void
prepare(struct writer *writer, const struct crash_op *op, uint64_t number)
{
	for (uint32_t i = 0; i < op->count; i++) {
		uint64_t each = crash_write_number(number, i);
		struct nb_write *write = &writer->writes[i];
		*write = (struct nb_write){
			.is_delete = op->writes[i].is_delete, .key.data = writer->keys[i]};
		write->key.size = crash_key_make(
			writer->keys[i], writer->plan, writer->id, op->writes[i].key);
		if (!write->is_delete) {
			write->value.data = writer->values[i];
			write->value.size = make_value(writer, i, op->writes[i].key, each);
		}
		writer->steps[i] = (struct nb_step){.key = write->key,
			.value = write->value,
			.operand = crash_operand(writer->plan, writer->id, each),
			.verb = write->is_delete       ? NB_STEP_DEL
				: op->writes[i].is_add ? NB_STEP_MERGE
						       : NB_STEP_PUT};
	}
}

static int
call_verb(const struct writer *writer, const struct nb_step *step)
{
	const struct nb_engine *engine = writer->subject->engine;
	if (step->verb == NB_STEP_MERGE)
		return engine->merge(
			writer->session, step->key, NB_MERGE_ADD_U64, step->operand);
	if (step->verb == NB_STEP_PUT)
		return engine->put(writer->session, step->key, step->value);
	int rc = engine->del(writer->session, step->key);
	return rc == NB_NOT_FOUND ? NB_OK : rc;
}

static int
transact(const struct writer *writer, const struct crash_op *op)
{
	const struct nb_engine *engine = writer->subject->engine;
	int rc = engine->begin(writer->session, 0);
	if (rc != NB_OK)
		return rc;
	for (uint32_t i = 0; i < op->count && rc == NB_OK; i++)
		rc = call_verb(writer, &writer->steps[i]);
	if (rc == NB_OK && op->kind != CRASH_ABORT)
		return engine->commit(writer->session);
	engine->abort(writer->session);
	return rc;
}

static int
call(struct writer *writer, const struct crash_op *op)
{
	const struct nb_engine *engine = writer->subject->engine;
	int rc = NB_UNSUPPORTED;
	if (op->kind == CRASH_BATCH)
		return engine->batch(writer->session, writer->writes, op->count,
			writer->plan->is_atomic ? NB_BATCH_ATOMIC : 0);
	if (op->kind < CRASH_BATCH)
		return call_verb(writer, &writer->steps[0]);
	if (op->kind == CRASH_EXECUTE)
		rc = engine->execute(writer->session, writer->steps, op->count, NB_EXEC_ATOMIC);
	return rc == NB_UNSUPPORTED && writer->plan->has_txns ? transact(writer, op) : rc;
}

/** Execute one operation. False: it failed. */
static bool
write_one(struct writer *writer, uint64_t number)
{
	struct crash_mark *mark = &writer->board->marks[writer->id];
	struct crash_op op;
	crash_op_make(&op, writer->plan, writer->id, number);
	prepare(writer, &op, number);
	int rc = NB_CONFLICT;
	host_forget();
	__atomic_store_n(&mark->begun, number + 1, __ATOMIC_RELEASE);
	for (uint32_t i = 0; rc == NB_CONFLICT && suite_may_retry(i); i++)
		rc = call(writer, &op);
	if (rc != NB_OK) {
		fail(writer->board, crash_op_name(op.kind), rc);
		return false;
	}
	__atomic_store_n(&mark->acked, number + 1, __ATOMIC_RELEASE);
	if (writer->point != NULL)
		writer->point();
	return true;
}

/** Call flush and checkpoint; NB_UNSUPPORTED counts as NB_OK. *call is the last verb called. */
static int
settle(const struct nb_engine *engine, struct nb_db *db, const char **call)
{
	*call = "flush";
	host_forget();
	int rc = engine->flush != NULL ? engine->flush(db, NB_SETTLE_FLUSH) : NB_OK;
	if (rc != NB_OK && rc != NB_UNSUPPORTED)
		return rc;
	*call = "checkpoint";
	host_forget();
	rc = engine->checkpoint != NULL ? engine->checkpoint(db) : NB_OK;
	return rc != NB_UNSUPPORTED ? rc : NB_OK;
}

/**
 * Settle regularly, because later writes then go to a log that was truncated or replaced.
 * No other session may be in an operation. False: it failed.
 */
static bool
settle_now_and_then(struct writer *writer, uint64_t number)
{
	const char *call;
	if (writer->db == NULL || number % SETTLE_OPS != SETTLE_OPS - 1)
		return true;
	int rc = settle(writer->subject->engine, writer->db, &call);
	if (rc != NB_OK)
		fail(writer->board, call, rc);
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
run_writers(struct writer *writers, uint32_t count, struct crash_progress *board)
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

static void
check(struct crash_progress *board, const char *call, int rc)
{
	if (rc != NB_OK)
		give_up(board, call, rc);
}

/**
 * The time; 0 if the end is counted. Reading the clock takes a varying number of steps,
 * because it is retried if the kernel updates the time meanwhile.
 */
static uint64_t
now(const struct crash_progress *board)
{
	return board->end.is_counted != 0 ? 0 : clock_monotonic();
}

/** Flush, checkpoint and close, like a program before a normal end. */
static void
finish(struct writer *writers, uint32_t count, struct nb_db *db, struct crash_progress *board)
{
	const struct nb_engine *engine = writers[0].subject->engine;
	const char *call;
	__atomic_store_n(&board->is_closing, 1, __ATOMIC_RELEASE);
	uint64_t begin = now(board);
	set_end(board, CRASH_IN_CLOSE);
	int rc = settle(engine, db, &call);
	check(board, call, rc);
	for (uint32_t i = 0; i < count; i++)
		check(board, "session_close", engine->session_close(writers[i].session));
	check(board, "close", engine->close(db));
	board->close_ns = now(board) - begin;
	if (writers[0].point != NULL)
		writers[0].point();
}

_Noreturn void
crash_child(const struct crash_subject *subject, const struct crash_oracle *state,
	struct crash_progress *board, const char *path, uint64_t ops)
{
	uint32_t count = state->plan->sessions;
	struct nb_open_args args = crash_open_args(subject, path, count, NB_OPEN_CREATE);
	struct writer *writers = calloc(count, sizeof(*writers));
	struct nb_db *db = NULL;
	void *point = dlsym(RTLD_DEFAULT, RECORDER_POINT);
	if (writers == NULL)
		give_up(board, "calloc", NB_FAIL);
	__atomic_store_n(&board->is_opening, 1, __ATOMIC_RELEASE);
	host_forget();
	uint64_t begin = now(board);
	set_end(board, CRASH_IN_OPEN);
	check(board, "open", subject->engine->open(&db, &args));
	board->open_ns = now(board) - begin;
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
		check(board, "session_open",
			subject->engine->session_open(&writers[i].session, db, i));
	}
	__atomic_store_n(&board->is_open, 1, __ATOMIC_RELEASE);
	run_writers(writers, count, board);
	finish(writers, count, db, board);
	__atomic_store_n(&board->is_done, 1, __ATOMIC_RELEASE);
	_exit(EXIT_SUCCESS);
}

_Noreturn void
crash_child_recover(
	const struct crash_subject *subject, struct crash_progress *board, const char *path)
{
	struct nb_open_args args = crash_open_args(subject, path, 1, 0);
	struct nb_db *db = NULL;
	__atomic_store_n(&board->is_opening, 1, __ATOMIC_RELEASE);
	host_forget();
	set_end(board, CRASH_IN_OPEN);
	check(board, "open", subject->engine->open(&db, &args));
	__atomic_store_n(&board->is_open, 1, __ATOMIC_RELEASE);
	/* Else a parent that counts would wait for ever for another stop. */
	if (__atomic_load_n(&board->meeting, __ATOMIC_ACQUIRE) == CRASH_FOLLOWED)
		_exit(EXIT_SUCCESS);
	for (;;)
		pause();
}
