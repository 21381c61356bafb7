/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The board: memory that the writing process and the one that ends it both see, so that what
 * was begun and what has returned is known however the writer ends. A store that was done
 * before SIGKILL is there: the page belongs to both.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/process.h"
#include "crash/crash.h"

int
crash_board_new(struct crash_board **out)
{
	void *board = mmap(NULL, sizeof(struct crash_board), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (board == MAP_FAILED)
		return error_system("memory to share with a process cannot be had");
	*out = board;
	return NB_OK;
}

void
crash_board_delete(struct crash_board *board)
{
	if (board != NULL)
		munmap(board, sizeof(*board));
}

void
crash_board_begin(struct crash_board *board, const struct crash_state *state)
{
	*board = (struct crash_board){.failed = NB_OK};
	for (uint32_t i = 0; i < state->plan->sessions; i++)
		board->marks[i].begun = board->marks[i].acked = state->start[i];
}

void
crash_board_describe_end(char text[CRASH_TEXT_SIZE], const struct crash_board *board, int how,
	int status, uint64_t timeout_ns)
{
	process_describe_end(text, CRASH_TEXT_SIZE, how, status, timeout_ns);
	bool is_done = __atomic_load_n(&board->is_done, __ATOMIC_ACQUIRE) != 0;
	if (text[0] == '\0' && !is_done)
		snprintf(text, CRASH_TEXT_SIZE, "the engine ended the process with status 0");
	else if (text[0] != '\0' && board->text[0] != '\0')
		snprintf(text, CRASH_TEXT_SIZE, "%.*s", CRASH_TEXT_SIZE - 1, board->text);
}

int
crash_board_check(
	const struct crash_board *board, const struct crash_state *state, uint64_t ops)
{
	struct crash_moment moment;
	crash_moment_read(&moment, board, state->plan->sessions);
	for (uint32_t i = 0; i < state->plan->sessions; i++) {
		uint64_t acked = moment.acked[i], begun = moment.begun[i];
		/* one that has ended is in the midst of one operation at most */
		if (acked < state->start[i] || begun < acked || begun - acked > 1 ||
			begun - state->start[i] > ops)
			return error_set(NB_ERR_DATA,
				"session %" PRIu32 " has begun %" PRIu64
				" operations and done %" PRIu64 ", and began with %" PRIu64,
				i, begun, acked, state->start[i]);
	}
	return NB_OK;
}
