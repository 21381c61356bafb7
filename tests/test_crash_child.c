/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The writing process: however it ends, the progress that it reports on the board agrees with
 * its database.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/process.h"
#include "check/suite.h"
#include "crash_rig.h"
#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

enum { OPS = 30 };

static struct crash_rig_chain chain;
static struct crash_progress *board;
static const struct nb_engine *right; /* the engine behind the defects below */
static struct nb_engine wrong;
static uint32_t directories;

/** A new database for one session, because the engine supports only one at a time. */
static void
begin_chain(void)
{
	static char path[16];
	snprintf(path, sizeof(path), "database%u", directories++);
	crash_rig_begin(&chain, path);
	chain.plan.sessions = 1;
	chain.subject.engine = &wrong;
	wrong = *right;
}

void
unit_setup(void)
{
	crash_rig_fresh();
	crash_rig_load("keeper", "defect", "none");
	right = crash_rig_engine();
	begin_chain();
	board = crash_share(sizeof(*board));
	ck_assert_ptr_nonnull(board);
}

void
unit_teardown(void)
{
	munmap(board, sizeof(*board));
	crash_rig_end(&chain);
	crash_rig_unload();
}

static int
await(pid_t pid)
{
	int status;
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

/** Let the process write. If it must end early, `where` selects the point. */
static int
write_ops(uint32_t where, uint64_t kill_ops, uint64_t kill_ns, uint64_t ops)
{
	crash_progress_begin(board, &chain.state);
	board->end = (struct crash_end){.where = where, .ops = kill_ops, .ns = kill_ns};
	pid_t pid = crash_fork();
	if (pid == 0)
		crash_child(&chain.subject, &chain.state, board, chain.path, ops);
	int status = await(pid);
	crash_moment_read(&chain.moment, board, chain.plan.sessions);
	return status;
}

static int
write_round(uint32_t where, uint64_t kill_ops, uint64_t kill_ns)
{
	return write_ops(where, kill_ops, kill_ns, OPS);
}

static void
ended_with(int status, int wanted)
{
	ck_assert_msg(WIFEXITED(status), "%d: %s", status, board->text);
	ck_assert_msg(WEXITSTATUS(status) == wanted, "%s", board->text);
}

static void
was_killed(int status)
{
	ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "%d: %s", status,
		board->text);
}

/**
 * Everything that returned according to the board is in the database. The next round continues
 * from it.
 */
static void
has_what_returned(uint64_t from, uint64_t to)
{
	struct crash_report report;
	ck_assert_uint_eq(chain.moment.acked[0], to);
	ck_assert_int_eq(
		crash_inspect(&report, &chain.subject, &chain.state, &chain.moment, chain.path),
		NB_OK);
	ck_assert_msg(report.wrongs == 0, "%s", report.text);
	ck_assert_uint_eq(report.acknowledged, crash_rig_writes(&chain.plan, from, to));
	ck_assert_uint_eq(report.survived, report.acknowledged);
}

TEST(writer_executes_its_operations_and_continues_after_them)
{
	for (uint64_t round = 0; round < 2; round++) {
		ended_with(write_round(CRASH_NEVER, 0, 0), EXIT_SUCCESS);
		ck_assert_int_eq(board->failed, NB_OK);
		ck_assert_uint_eq(board->is_open, 1);
		ck_assert_uint_eq(board->is_closing, 1);
		ck_assert_uint_gt(board->open_ns, 0);
		ck_assert_uint_gt(board->close_ns, 0);
		ck_assert_uint_eq(chain.moment.begun[0], (round + 1) * OPS);
		has_what_returned(round * OPS, (round + 1) * OPS);
	}
}

TEST(writer_ends_at_the_chosen_operation)
{
	was_killed(write_round(CRASH_IN_OPEN, 0, 0));
	ck_assert_uint_eq(board->is_opening, 1);
	ck_assert_uint_eq(board->is_open, 0);
	ck_assert_uint_eq(chain.moment.begun[0], 0);

	was_killed(write_round(CRASH_IN_MIDST, 10, 0));
	ck_assert_uint_eq(board->is_closing, 0);
	ck_assert_uint_eq(chain.moment.begun[0], 10);
	has_what_returned(0, 10);

	was_killed(write_round(CRASH_IN_CLOSE, 0, 0));
	ck_assert_uint_eq(board->is_closing, 1);
	ck_assert_uint_eq(board->close_ns, 0);
	has_what_returned(10, 10 + OPS);
}

static int
open_hanging(struct nb_db **out, const struct nb_open_args *args)
{
	int rc = right->open(out, args);
	while (rc == NB_OK)
		pause();
	return rc;
}

TEST(writer_ends_in_a_call_that_does_not_return)
{
	wrong.open = open_hanging;
	was_killed(write_round(CRASH_IN_OPEN, 0, 1000 * 1000));
	ck_assert_uint_eq(board->is_open, 0);
	ck_assert_uint_eq(board->open_ns, 0);
}

/* ---- verbs that fail ---- */

static int
out_of_luck(void)
{
	return (suite_host.fail)(NB_FAIL, "out of luck"); /* not Check's macro */
}

static int
open_failing(struct nb_db **out, const struct nb_open_args *args)
{
	return out_of_luck();
}

static int
session_open_failing(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	return out_of_luck();
}

static int
session_close_failing(struct nb_session *session)
{
	return out_of_luck();
}

static int
db_failing(struct nb_db *db)
{
	return out_of_luck();
}

static int
flush_failing(struct nb_db *db, uint32_t upto)
{
	return out_of_luck();
}

static int
flush_unsupported(struct nb_db *db, uint32_t upto)
{
	return NB_UNSUPPORTED;
}

static uint32_t calls; /* in the writing process */

static int
put_failing(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return calls++ < 5 ? right->put(session, key, value) : out_of_luck();
}

static int
put_not_finding(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return NB_NOT_FOUND;
}

static int
put_in_conflict(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return ++calls % 100 == 0 ? right->put(session, key, value) : NB_CONFLICT;
}

static int
del_failing(struct nb_session *session, struct nb_slice key)
{
	return out_of_luck();
}

static int
del_not_finding(struct nb_session *session, struct nb_slice key)
{
	int rc = right->del(session, key);
	return rc == NB_OK ? NB_NOT_FOUND : rc;
}

static int
batch_failing(
	struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	return out_of_luck();
}

/** Replace some verbs by those of `by`. */
static void
replace_verbs(const struct nb_engine *by)
{
	wrong.open = by->open != NULL ? by->open : right->open;
	wrong.session_open = by->session_open != NULL ? by->session_open : right->session_open;
	wrong.put = by->put != NULL ? by->put : right->put;
	wrong.del = by->del != NULL ? by->del : right->del;
	wrong.batch = by->batch != NULL ? by->batch : right->batch;
	wrong.flush = by->flush;
	wrong.checkpoint = by->checkpoint;
	wrong.session_close = by->session_close != NULL ? by->session_close
							: right->session_close;
	wrong.close = by->close != NULL ? by->close : right->close;
}

TEST(failing_verb_is_reported_with_its_text)
{
	static const struct {
		struct nb_engine by;
		const char *text;
		uint64_t flying; /* begun but not returned */
	} failures[] = {
		{{.open = open_failing}, "open answered NB_FAIL (out of luck)", 0},
		{{.session_open = session_open_failing},
			"session_open answered NB_FAIL (out of luck)", 0},
		{{.put = put_failing}, "put answered NB_FAIL (out of luck)", 1},
		{{.put = put_not_finding}, "put answered NB_NOT_FOUND", 1},
		{{.del = del_failing}, "del answered NB_FAIL (out of luck)", 1},
		{{.batch = batch_failing}, "batch answered NB_FAIL (out of luck)", 1},
		{{.flush = flush_failing}, "flush answered NB_FAIL (out of luck)", 0},
		{{.checkpoint = db_failing}, "checkpoint answered NB_FAIL (out of luck)", 0},
		{{.session_close = session_close_failing},
			"session_close answered NB_FAIL (out of luck)", 0},
		{{.close = db_failing}, "close answered NB_FAIL (out of luck)", 0},
	};
	for (size_t i = 0; i < sizeof(failures) / sizeof(*failures); i++) {
		crash_rig_end(&chain);
		begin_chain();
		replace_verbs(&failures[i].by);
		ended_with(write_round(CRASH_NEVER, 0, 0), EXIT_FAILURE);
		ck_assert_int_ne(board->failed, NB_OK);
		ck_assert_str_eq(board->text, failures[i].text);
		ck_assert_uint_eq(
			chain.moment.begun[0] - chain.moment.acked[0], failures[i].flying);
	}
}

TEST(single_session_settles_between_operations)
{
	wrong.checkpoint = db_failing;
	ended_with(write_ops(CRASH_NEVER, 0, 0, 300), EXIT_FAILURE);
	ck_assert_str_eq(board->text, "checkpoint answered NB_FAIL (out of luck)");
	ck_assert_uint_eq(board->is_closing, 0);
	ck_assert_uint_eq(chain.moment.begun[0], 256);
	wrong = *right;
	has_what_returned(0, 256);
}

TEST(answer_that_is_not_a_failure_continues)
{
	wrong.put = put_in_conflict; /* retried */
	wrong.del = del_not_finding;
	wrong.flush = flush_unsupported;
	ended_with(write_round(CRASH_NEVER, 0, 0), EXIT_SUCCESS);
	wrong = *right;
	has_what_returned(0, OPS);
}

/* ---- a killed recovery ---- */

static pid_t
start_recovery(uint32_t where)
{
	crash_progress_begin(board, &chain.state);
	board->end.where = where;
	pid_t pid = crash_fork();
	if (pid == 0)
		crash_child_recover(&chain.subject, board, chain.path);
	return pid;
}

TEST(recovered_database_stays_open_until_the_kill)
{
	ended_with(await(start_recovery(CRASH_NEVER)), EXIT_FAILURE); /* no recovery */
	ck_assert_str_eq(board->text, "open answered NB_FAIL (there is no log)");
	was_killed(write_round(CRASH_IN_CLOSE, 0, 0));

	pid_t pid = start_recovery(CRASH_NEVER);
	while (__atomic_load_n(&board->is_open, __ATOMIC_ACQUIRE) == 0) {
		ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
		usleep(200);
	}
	ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
	kill(pid, SIGKILL);
	was_killed(await(pid));

	was_killed(await(start_recovery(CRASH_IN_OPEN)));
	ck_assert_uint_eq(board->is_open, 0);
	has_what_returned(0, OPS);
}

/* ---- the board ---- */

TEST(board_describes_the_end_of_a_writer)
{
	static const struct {
		bool is_done;
		const char *why;
		int status;
		const char *text;
	} ends[] = {
		{false, "", 0, "the engine ended the process with status 0"},
		{true, "", 0, ""},
		{true, "", SIGTERM, "ended by SIGTERM"},
		{true, "put answered NB_FAIL", 1 << 8, "put answered NB_FAIL"},
	};
	char text[CRASH_TEXT_SIZE];
	for (size_t i = 0; i < UNIT_COUNT(ends); i++) {
		crash_describe_end(
			text, ends[i].is_done, ends[i].why, PROCESS_ENDED, ends[i].status, 1);
		ck_assert_msg(strstr(text, ends[i].text) != NULL, "%zu: %s", i, text);
		ck_assert_int_eq(text[0] == '\0', ends[i].text[0] == '\0');
	}
}

TEST(board_with_impossible_counts_is_refused)
{
	static const struct crash_plan plan = {.sessions = 2, .keys = 1};
	static const struct crash_oracle state = {
		.plan = &plan, .start = {5, 9}}; /* and at most 3 more operations */
	static const struct {
		uint64_t acked, begun;
		int rc;
	} counts[] = {{9, 9, NB_OK}, {9, 10, NB_OK}, {12, 12, NB_OK}, {8, 9, NB_ERR_DATA},
		{10, 9, NB_ERR_DATA}, {9, 11, NB_ERR_DATA}, {12, 13, NB_ERR_DATA},
		{UINT64_MAX, UINT64_MAX, NB_ERR_DATA}};
	struct crash_progress marked = {.is_open = 1, .failed = NB_FAIL};
	crash_progress_begin(&marked, &state);
	ck_assert_uint_eq(marked.is_open, 0);
	ck_assert_int_eq(marked.failed, NB_OK);
	ck_assert_int_eq(crash_progress_check(&marked, &state, 0), NB_OK);
	for (size_t i = 0; i < UNIT_COUNT(counts); i++) {
		marked.marks[1].acked = counts[i].acked;
		marked.marks[1].begun = counts[i].begun;
		ck_assert_msg(
			crash_progress_check(&marked, &state, 3) == counts[i].rc, "%zu", i);
	}
	ck_assert_str_eq(nb_error_text(),
		"session 1 has begun 18446744073709551615 operations and done 18446744073709551615, and started with 9");
}
