/* SPDX-License-Identifier: BSD-2-Clause */
#include <signal.h>

#include "trace_kit.h"

bool unit_in_scratch = true;

static const char three[] = "\x3b\xc6\xe5\xd7\xcd\x07\x38\x57"
			    "\0\0\0\0\0\0\0\x80"
			    "\1\0\0\0\0\0\0\0";

TEST(a_u64_is_numbers_with_the_lowest_byte_first)
{
	reads_as(three, 24, NB_TRACE_U64, 0,
		"- 573807cdd7e5c63b\n- 8000000000000000\n- 0000000000000001\n");
	reads_as(three, 24, NB_TRACE_U64, NB_TRACE_KEY_LITTLE,
		"- 3bc6e5d7cd073857\n- 0000000000000080\n- 0100000000000000\n");
	reads_as("", 0, NB_TRACE_U64, 0, "");
}

TEST(keys_are_bytes_of_one_size)
{
	file_put("trace", three, 24);
	struct nb_trace_options options = trace_at("trace", NB_TRACE_KEYS, 0);
	options.key_size = 12;
	struct outcome found = read_all(&options);
	ck_assert_str_eq(
		found.ops.data, "- 3bc6e5d7cd07385700000000\n- 000000800100000000000000\n");
	options.key_size = 1;
	found = read_piped(&options, three, 24, 5);
	ck_assert_uint_eq(found.counts.ops, 24);
}

TEST(partial_key_is_not_an_operation)
{
	file_put("trace", three, 21);
	struct nb_trace_options options = trace_at("trace", NB_TRACE_U64, 0);
	struct outcome found = read_all(&options);
	ck_assert_int_eq(found.rc, NB_ERR_DATA);
	ck_assert_str_eq(found.ops.data, ""); /* reported before the first operation */
	ck_assert_str_eq(found.error, "trace: key 3: only 5 of its 8 bytes are there");
	found = read_piped(&options, three, 21, 100);
	ck_assert_int_eq(found.rc, NB_ERR_DATA);
	ck_assert_uint_eq(found.counts.ops, 2);
	ck_assert_ptr_nonnull(strstr(found.error, ": key 3: only 5 of its 8 bytes are there"));
	options.flags = NB_TRACE_SKIP_BAD;
	found = read_all(&options);
	ck_assert_int_eq(found.rc, NB_NOT_FOUND);
	ck_assert_uint_eq(found.counts.ops, 2);
	ck_assert_uint_eq(found.counts.bad, 1);
	ck_assert_str_eq(found.counts.first_bad, "key 3: only 5 of its 8 bytes are there");
}

TEST(options_determine_the_value_size)
{
	file_put("trace", three, 24);
	struct nb_trace_options options = trace_at("trace", NB_TRACE_U64, 0);
	options.value_size = 77;
	struct trace_reader *reader;
	struct trace_op op;
	ck_assert_int_eq(trace_reader_open(&reader, &options), NB_OK);
	ck_assert_int_eq(trace_reader_next(reader, &op), NB_OK);
	ck_assert_uint_eq(op.kind, TRACE_NO_KIND);
	ck_assert(!op.has_value_size && !op.has_due);
	ck_assert_uint_eq(op.value_size, 77);
	trace_reader_close(reader);
}

TEST(bare_keys_are_written)
{
	static const struct trace_op ops[] = {
		{.kind = NB_OP_INSERT, .key = {"\x57\x38\x07\xcd\xd7\xe5\xc6\x3b", 8}},
		{.kind = NB_OP_SCAN, .key = {"\x80\0\0\0\0\0\0\0", 8}, .scan_length = 5},
		{.kind = TRACE_NO_KIND, .key = {"\0\0\0\0\0\0\0\1", 8}},
	};
	struct nb_trace_options options = trace_at("written", NB_TRACE_U64, 0);
	ck_assert_int_eq(write_ops(&options, ops, 3), NB_OK);
	file_is("written", three, 24);
	options.flags = NB_TRACE_KEY_LITTLE;
	ck_assert_int_eq(write_ops(&options, ops, 1), NB_OK);
	file_is("written", "\x57\x38\x07\xcd\xd7\xe5\xc6\x3b", 8);
	options = trace_at("written", NB_TRACE_KEYS, 0);
	options.key_size = 8;
	ck_assert_int_eq(write_ops(&options, ops, 1), NB_OK);
	file_is("written", "\x57\x38\x07\xcd\xd7\xe5\xc6\x3b", 8);
}

TEST(keys_of_another_size_are_refused)
{
	struct trace_op op = {.kind = NB_OP_READ, .key = slice("abc")};
	is_not_written(&op, NB_TRACE_U64, 0,
		"written: operation 1 cannot be written: its key has 3 bytes, but keys of u64 have 8 bytes");
	is_not_written(&op, NB_TRACE_KEYS, 0,
		"written: operation 1 cannot be written: its key has 3 bytes, not 16 (--klen)");
}
