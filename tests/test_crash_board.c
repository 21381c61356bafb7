/* SPDX-License-Identifier: BSD-2-Clause */
/* What a writer has begun and done is known, however it ends. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"
#include "crash/crash.h"
#include "unit.h"

static const struct crash_plan plan = {.sessions = 2, .keys = 1};

TEST(what_was_done_before_a_kill_is_seen)
{
	struct crash_board *board;
	int status;
	ck_assert_int_eq(crash_board_new(&board), NB_OK);
	crash_board_begin(board, &(struct crash_state){.plan = &plan});
	pid_t pid = fork();
	if (pid == 0) {
		__atomic_store_n(&board->marks[1].begun, 7, __ATOMIC_RELEASE);
		__atomic_store_n(&board->marks[1].acked, 6, __ATOMIC_RELEASE);
		raise(SIGKILL);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status));
	ck_assert_uint_eq(board->marks[1].begun, 7);
	ck_assert_uint_eq(board->marks[1].acked, 6);
	ck_assert_uint_eq(board->marks[0].begun, 0);
	crash_board_delete(board);
}

TEST(a_round_begins_where_the_one_before_ended)
{
	struct crash_board *board;
	struct crash_state state = {.plan = &plan, .start = {5, 9}};
	ck_assert_int_eq(crash_board_new(&board), NB_OK);
	board->marks[0].acked = 3;
	board->is_open = board->is_closing = 1;
	board->failed = NB_FAIL;
	crash_board_begin(board, &state);
	for (uint32_t i = 0; i < plan.sessions; i++) {
		ck_assert_uint_eq(board->marks[i].begun, state.start[i]);
		ck_assert_uint_eq(board->marks[i].acked, state.start[i]);
	}
	ck_assert_uint_eq(board->is_open, 0);
	ck_assert_uint_eq(board->is_closing, 0);
	ck_assert_int_eq(board->failed, NB_OK);
	crash_board_delete(board);
}

TEST(only_who_closed_has_ended_well)
{
	char text[CRASH_TEXT_SIZE];
	struct crash_board *board;
	ck_assert_int_eq(crash_board_new(&board), NB_OK);
	crash_board_describe_end(text, board, PROCESS_ENDED, 0, 1);
	ck_assert_str_eq(text, "the engine ended the process with status 0");
	board->is_done = 1;
	crash_board_describe_end(text, board, PROCESS_ENDED, 0, 1);
	ck_assert_str_eq(text, "");
	crash_board_describe_end(text, board, PROCESS_ENDED, SIGTERM, 1);
	ck_assert_ptr_nonnull(strstr(text, "ended by SIGTERM"));
	strcpy(board->text, "put answered NB_FAIL");
	crash_board_describe_end(text, board, PROCESS_ENDED, 1 << 8, 1);
	ck_assert_str_eq(text, board->text);
	crash_board_delete(board);
}

/** How far session 1, which began with 9 operations, may be if it does 3. */
static int
checked(uint64_t acked, uint64_t begun)
{
	struct crash_board *board;
	const struct crash_state state = {.plan = &plan, .start = {5, 9}};
	ck_assert_int_eq(crash_board_new(&board), NB_OK);
	crash_board_begin(board, &state);
	board->marks[1].acked = acked;
	board->marks[1].begun = begun;
	int rc = crash_board_check(board, &state, 3);
	crash_board_delete(board);
	return rc;
}

TEST(what_was_written_over_is_seen)
{
	ck_assert_int_eq(checked(9, 9), NB_OK);
	ck_assert_int_eq(checked(9, 10), NB_OK);
	ck_assert_int_eq(checked(12, 12), NB_OK);
	ck_assert_int_eq(checked(8, 9), NB_ERR_DATA);
	ck_assert_int_eq(checked(10, 9), NB_ERR_DATA);
	ck_assert_int_eq(checked(9, 11), NB_ERR_DATA);
	ck_assert_int_eq(checked(12, 13), NB_ERR_DATA);
	ck_assert_int_eq(checked(UINT64_MAX, UINT64_MAX), NB_ERR_DATA);
	ck_assert_str_eq(nb_error_text(),
		"session 1 has begun 18446744073709551615 operations and done "
		"18446744073709551615, and began with 9");
}
