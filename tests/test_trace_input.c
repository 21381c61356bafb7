/* SPDX-License-Identifier: BSD-2-Clause */
#include "workload/trace_format.h"

#include <signal.h>

#include "trace_kit.h"

bool unit_in_scratch = true;

/** Byte i of the input; the bytes identify their places. */
static uint8_t
byte_at(size_t i)
{
	return (uint8_t)(i * 2654435761u >> 24);
}

static uint8_t *
make_bytes(size_t size)
{
	uint8_t *bytes = malloc(size + 1);
	ck_assert_ptr_nonnull(bytes);
	for (size_t i = 0; i < size; i++)
		bytes[i] = byte_at(i);
	return bytes;
}

/** Read everything, requesting `part` bytes at a time. */
static size_t
take_all(struct trace_input *in, size_t part)
{
	size_t taken = 0;
	for (;;) {
		ck_assert_int_eq(trace_input_want(in, part), NB_OK);
		size_t left = trace_input_left(in);
		ck_assert(left >= part || in->is_end);
		if (left == 0)
			return taken;
		size_t size = left < part ? left : part;
		bool is_right = true; /* an assertion for each byte would take a minute */
		for (size_t i = 0; i < size; i++)
			is_right &= in->data[in->pos + i] == byte_at(taken + i);
		ck_assert(is_right);
		trace_input_take(in, size);
		taken += size;
		ck_assert_uint_eq(in->before + in->pos, taken);
	}
}

TEST(a_file_is_read_whole)
{
	enum { SIZE = 40 << 20 }; /* the reader releases pages on the way */
	uint8_t *bytes = make_bytes(SIZE);
	file_put("file", bytes, SIZE);
	free(bytes);
	struct trace_input in;
	ck_assert_int_eq(trace_input_open(&in, "file"), NB_OK);
	ck_assert_uint_eq(take_all(&in, 99991), SIZE);
	ck_assert_uint_ge(in.forgotten, 32 << 20);
	trace_input_close(&in);
}

TEST(a_pipe_is_read_whole_in_parts_of_any_size)
{
	enum { SIZE = 5 << 20 };
	static const size_t parts[] = {1000, 65536, 1 << 20, 3 << 20, 6 << 20};
	uint8_t *bytes = make_bytes(SIZE);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		char path[32];
		int fd;
		pid_t child = feed_pipe(bytes, SIZE, 70001, &fd, path);
		struct trace_input in;
		ck_assert_int_eq(trace_input_open(&in, path), NB_OK);
		ck_assert_uint_eq(take_all(&in, parts[i]), SIZE);
		ck_assert_uint_le(in.room, 2 * parts[i] + (1 << 20));
		trace_input_close(&in);
		close(fd);
		waitpid(child, NULL, 0);
	}
	free(bytes);
}

TEST(files_with_a_reported_size_of_0_are_read)
{
	struct trace_input in;
	ck_assert_int_eq(trace_input_open(&in, "/proc/self/status"), NB_OK);
	ck_assert_int_eq(trace_input_want(&in, 5), NB_OK);
	ck_assert_mem_eq(in.data, "Name:", 5);
	trace_input_close(&in);
	file_put("empty", "", 0);
	ck_assert_int_eq(trace_input_open(&in, "empty"), NB_OK);
	ck_assert_uint_eq(take_all(&in, 10), 0);
	trace_input_close(&in);
}

TEST(unreadable_file_is_reported)
{
	struct trace_input in;
	ck_assert_int_eq(trace_input_open(&in, "none"), NB_FAIL);
	ck_assert_str_eq(nb_error_text(), "none: No such file or directory");
	ck_assert_int_eq(trace_input_open(&in, "."), NB_FAIL);
	ck_assert_str_eq(nb_error_text(), ".: is a directory and no trace");
}

static void
stop(int number)
{
	nb_stop();
}

TEST(waiting_for_a_pipe_can_be_stopped)
{
	int ends[2];
	ck_assert_int_eq(pipe(ends), 0);
	char path[32];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[0]);
	struct sigaction action = {.sa_handler = stop, .sa_flags = SA_RESTART};
	sigaction(SIGALRM, &action, NULL);
	struct trace_input in;
	ck_assert_int_eq(trace_input_open(&in, path), NB_OK);
	alarm(1);
	ck_assert_int_eq(trace_input_want(&in, 1), NB_ERR_INTERRUPTED);
	nb_stop_clear();
	ck_assert_int_eq(write(ends[1], "x", 1), 1);
	ck_assert_int_eq(trace_input_want(&in, 1), NB_OK); /* nothing is lost */
	trace_input_close(&in);
}
