/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines as WriteTraceSequence() of RocksDB's tools/trace_analyzer_tool.cc prints them. */
#include <signal.h>

#include "trace_kit.h"

bool unit_in_scratch = true;

#define FORMAT NB_TRACE_ROCKSDB

TEST(each_type_of_the_analyzer_becomes_an_operation)
{
	static const char text[] = "0x61 0 0 0 1600000000000000\n"
				   "0x6162 1 0 10 1600000000000001\n"
				   "0x00FF 2 1 0 1600000000000001\n"
				   "0x61 3 0 0 1600000000000003\n"
				   "0x61 5 0 7 1600000000001000\n"
				   "0x61 6 0 0 1600000000001000\n"
				   "0x61 7 0 0 1600000000001000\n"
				   "0x61 8 0 0 1600000000001000\n"
				   "0xabCD 9 0 20 1600000001000000\n";
	text_reads_as(text, FORMAT, 0,
		"R 61 @0\n"
		"P 6162 v10 @1000\n"
		"D 00ff @1000\n"
		"D 61 @3000\n"
		"M 61 v7 @1000000\n"
		"S 61 s1 @1000000\n"
		"S 61 s1 @1000000\n"
		"R 61 @1000000\n"
		"P abcd v20 @1000000000\n");
}

TEST(a_range_delete_is_counted_with_the_others)
{
	static const char text[] = "0x61 4 0 0 5\n0x61 0x62 4 0 0 6\n\n0x63 0 0 0 7\n";
	text_reads_as(text, FORMAT, 0, "R 63 @0\n");
	struct outcome found = read_text(text, FORMAT, 0);
	ck_assert_uint_eq(found.counts.others, 2);
	ck_assert_uint_eq(found.counts.ignored, 1);
	ck_assert_uint_eq(found.counts.ops, 1);
	ck_assert_uint_eq(found.counts.reads, 1);
}

TEST(time_does_not_go_back)
{
	static const char text[] = "0x61 0 0 0 100\n0x61 0 0 0 300\n0x61 0 0 0 200\n"
				   "0x61 0 0 0 50\n0x61 0 0 0 301";
	text_reads_as(text, FORMAT, 0,
		"R 61 @0\nR 61 @200000\nR 61 @200000\nR 61 @200000\nR 61 @201000\n");
}

TEST(damaged_lines_are_reported)
{
	static const struct damaged cases[] = {
		{"61 0 0 0 5", "its key does not begin with 0x"},
		{"0 0 0 5", "it has no key; was trace_analyzer run with --no_key?"},
		{"0x6 0 0 0 5", "its key has an odd number of digits"},
		{"0x6g 0 0 0 5", "its key is not hexadecimal"},
		{"0x 0 0 0 5", "its key is empty"},
		{"0x61", "its type is missing"},
		{"0x61 0", "its column family is missing"},
		{"0x61 0 0 0", "its time is missing"},
		{"0x61 0 0 0 5 6", "there is text after it"},
		{"0x61 x 0 0 5", "its type is not a number"},
		{"0x61 10 0 0 5", "unknown type 10"},
		{"0x61 0x62 1 0 0 5", "it has two keys but is not a range delete"},
		{"0x61 1 0 1073741825 5",
			"its value of 1073741825 bytes is larger than 1073741824"},
		{"0x61 0 0 0 18446744073709551615",
			"its time is 18446744073709551614 units after the first, more than a trace can hold"},
	};
	are_damaged("0x61 0 0 0 1", cases, UNIT_COUNT(cases), FORMAT);
}

TEST(keys_are_as_large_as_keys_may_be)
{
	struct text text = {0};
	enum { DIGITS = 2 << 20 }; /* in hexadecimal, of a key of 1 MiB */
	char *digits = malloc(DIGITS + 2);
	ck_assert_ptr_nonnull(digits);
	memset(digits, 'A', DIGITS + 2);
	text_put(&text, "0x");
	text_add(&text, digits, DIGITS);
	text_put(&text, " 0 0 0 5\n");
	file_put("trace", text.data, text.size);
	struct nb_trace_options options = trace_at("trace", FORMAT, 0);
	struct outcome found = read_all(&options);
	ck_assert_int_eq(found.rc, NB_NOT_FOUND);
	ck_assert_uint_eq(found.ops.size, DIGITS + 2 + 4);
	text.size = 0;
	text_put(&text, "0x");
	text_add(&text, digits, DIGITS + 2);
	text_put(&text, " 0 0 0 5\n");
	file_put("trace", text.data, text.size);
	found = read_all(&options);
	ck_assert_int_eq(found.rc, NB_ERR_DATA);
	ck_assert_ptr_nonnull(
		strstr(found.error, "its key of 1048577 bytes is larger than 1048576"));
	free(text.data);
	free(digits);
}

TEST(format_cannot_be_written)
{
	struct nb_trace_options options = trace_at("written", FORMAT, 0);
	struct trace_writer *writer;
	ck_assert_int_eq(trace_writer_open(&writer, &options), NB_UNSUPPORTED);
	ck_assert_str_eq(nb_error_text(), "written: mininb reads but does not write rocksdb");
	ck_assert_int_ne(access("written", F_OK), 0);
}
