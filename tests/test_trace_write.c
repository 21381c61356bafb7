/* SPDX-License-Identifier: BSD-2-Clause */
#include <signal.h>
#include <sys/resource.h>

#include "trace_kit.h"

bool unit_in_scratch = true;

static const struct trace_op good = {.kind = NB_OP_READ, .key = {"abcdefgh", 8}};

TEST(old_file_stays_until_the_new_one_is_complete)
{
	file_put("written", "old", 3);
	struct nb_trace_options options = trace_at("written", NB_TRACE_YCSB_TEXT, 0);
	struct trace_writer *writer;
	ck_assert_int_eq(trace_writer_open(&writer, &options), NB_OK);
	for (int i = 0; i < 200000; i++)
		ck_assert_int_eq(trace_writer_add(writer, &good), NB_OK);
	file_is("written", "old", 3);
	trace_writer_abandon(writer);
	file_is("written", "old", 3);
	trace_writer_abandon(NULL);
	ck_assert_int_eq(write_ops(&options, &good, 1), NB_OK);
	file_is("written", "READ 7017280452245743464\n", 25);
}

TEST(abandoned_trace_leaves_no_file)
{
	scratch_fresh("left");
	struct nb_trace_options options = trace_at("written", NB_TRACE_MININB, 0);
	struct trace_writer *writer;
	ck_assert_int_eq(trace_writer_open(&writer, &options), NB_OK);
	ck_assert_int_eq(trace_writer_add(writer, &good), NB_OK);
	trace_writer_abandon(writer);
	ck_assert_int_eq(entries_of("."), 0);
}

TEST(the_operation_that_cannot_be_written_is_named)
{
	struct trace_op ops[] = {good, good, {.kind = NB_OP_READ, .key = slice("abc")}};
	struct nb_trace_options options = trace_at("written", NB_TRACE_U64, 0);
	ck_assert_int_eq(write_ops(&options, ops, 3), NB_ERR_USAGE);
	ck_assert_str_eq(nb_error_text(),
		"written: operation 3 cannot be written: its key has 3 bytes, but keys of u64 have 8 bytes");
	struct trace_op op = good;
	op.kind = NB_OP_BATCH;
	is_not_written(&op, NB_TRACE_MININB, 0,
		"written: operation 1 cannot be written: traces cannot hold operations of kind 7");
	op = good;
	op.key.size = 0;
	is_not_written(&op, NB_TRACE_MININB, 0,
		"written: operation 1 cannot be written: its key has 0 bytes; allowed: 1 to 1048576");
	op = good;
	op.value_size = (1 << 30) + 1;
	is_not_written(&op, NB_TRACE_MININB, 0,
		"written: operation 1 cannot be written: its value has 1073741825 bytes; allowed: 0 to 1073741824");
	op = (struct trace_op){.kind = NB_OP_SCAN, .key = good.key};
	is_not_written(&op, NB_TRACE_MININB, 0,
		"written: operation 1 cannot be written: it scans 0 records");
}

TEST(empty_trace_is_valid)
{
	static const uint32_t formats[] = {NB_TRACE_YCSB_TEXT, NB_TRACE_YCSB_LOG, NB_TRACE_U64,
		NB_TRACE_KEYS, NB_TRACE_CACHE_CSV, NB_TRACE_MININB};
	for (size_t i = 0; i < 6; i++) {
		struct nb_trace_options options = trace_at("written", formats[i], 0);
		ck_assert_int_eq(write_ops(&options, NULL, 0), NB_OK);
		struct outcome found = read_all(&options);
		ck_assert_int_eq(found.rc, NB_NOT_FOUND);
		ck_assert_uint_eq(found.counts.ops, 0);
	}
}

TEST(keys_and_values_larger_than_the_buffer_are_whole)
{
	enum { KEY = 1 << 20, VALUE = 3 << 20 };
	char *key = malloc(KEY);
	ck_assert_ptr_nonnull(key);
	memset(key, 'k', KEY);
	struct trace_op op = {.kind = NB_OP_INSERT,
		.key = {key, KEY},
		.has_value_size = true,
		.value_size = VALUE};
	struct nb_trace_options options = trace_at(
		"written", NB_TRACE_YCSB_LOG, NB_TRACE_KEY_TEXT);
	struct trace_op two[] = {op, op};
	for (int i = 0; i < 2; i++) {
		options.format = i == 0 ? NB_TRACE_YCSB_LOG : NB_TRACE_MININB;
		ck_assert_int_eq(write_ops(&options, two, 2), NB_OK);
		struct trace_reader *reader;
		struct trace_op found;
		ck_assert_int_eq(trace_reader_open(&reader, &options), NB_OK);
		for (int n = 0; n < 2; n++) {
			ck_assert_int_eq(trace_reader_next(reader, &found), NB_OK);
			ck_assert_uint_eq(found.key.size, KEY);
			ck_assert_mem_eq(found.key.data, key, KEY);
			ck_assert_uint_eq(found.value_size, VALUE);
		}
		ck_assert_int_eq(trace_reader_next(reader, &found), NB_NOT_FOUND);
		trace_reader_close(reader);
	}
	free(key);
}

TEST(pipe_is_written_directly)
{
	ck_assert_int_eq(mkfifo("fifo", 0600), 0);
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		struct nb_trace_options options = trace_at("fifo", NB_TRACE_YCSB_TEXT, 0);
		_exit(write_ops(&options, &good, 1) == NB_OK ? 0 : 1);
	}
	char text[64];
	int fd = open("fifo", O_RDONLY);
	ck_assert_int_eq(read(fd, text, sizeof(text)), 25);
	ck_assert_mem_eq(text, "READ 7017280452245743464\n", 25);
	close(fd);
	int status;
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	struct stat st;
	ck_assert_int_eq(lstat("fifo", &st), 0);
	ck_assert(S_ISFIFO(st.st_mode));
}

TEST(failed_write_is_reported)
{
	struct nb_trace_options options = trace_at("none/written", NB_TRACE_U64, 0);
	ck_assert_int_eq(write_ops(&options, &good, 1), NB_FAIL);
	options.path = "/dev/full";
	ck_assert_int_eq(write_ops(&options, &good, 1), NB_FAIL);
	ck_assert_str_eq(nb_error_text(), "/dev/full: write: No space left on device");
	scratch_fresh("limited");
	signal(SIGXFSZ, SIG_IGN);
	struct rlimit limit = {.rlim_cur = 1 << 20, .rlim_max = 1 << 20};
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	options.path = "written";
	struct trace_writer *writer;
	int rc = trace_writer_open(&writer, &options);
	ck_assert_int_eq(rc, NB_OK);
	for (int i = 0; rc == NB_OK && i < 1000000; i++)
		rc = trace_writer_add(writer, &good);
	ck_assert_int_eq(rc, NB_FAIL);
	trace_writer_abandon(writer);
	ck_assert_int_eq(entries_of("."), 0);
}
