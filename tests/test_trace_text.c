/* SPDX-License-Identifier: BSD-2-Clause */
#include <signal.h>

#include "trace_kit.h"
#include "workload/trace_format.h"

bool unit_in_scratch = true;

#define FORMAT NB_TRACE_YCSB_TEXT

TEST(numbers_are_read_to_their_last_value)
{
	static const struct {
		const char *text;
		bool is_number;
		uint64_t number;
		size_t size;
	} cases[] = {
		{"0", true, 0, 1},
		{"7 8", true, 7, 1},
		{"7\t", true, 7, 1},
		{"9999999999999999999", true, UINT64_C(9999999999999999999), 19},
		{"10000000000000000000", true, UINT64_C(10000000000000000000), 20},
		{"18446744073709551615", true, UINT64_MAX, 20},
		{"18446744073709551616", false, 0, 0},
		{"18446744073709551620", false, 0, 0},
		{"99999999999999999999", false, 0, 0},
		{"100000000000000000000", false, 0, 0},
		{"000000000000000000000000018446744073709551615", true, UINT64_MAX, 45},
		{"", false, 0, 0},
		{" 1", false, 0, 0},
		{"+1", false, 0, 0},
		{"-1", false, 0, 0},
		{"1,", false, 0, 0},
		{"1a", false, 0, 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *text = cases[i].text;
		struct trace_text rest = {text, text + strlen(text)};
		uint64_t number = 4711;
		bool is_number = trace_text_number(&rest, &number);
		ck_assert_msg(is_number == cases[i].is_number, "'%s'", text);
		ck_assert_uint_eq(number, is_number ? cases[i].number : 4711);
		ck_assert_uint_eq((size_t)(rest.at - text), cases[i].size);
	}
}

TEST(lines_end_at_a_newline_or_with_the_file)
{
	reads_as("READ 1", 6, FORMAT, 0, "R 0000000000000001\n");
	reads_as("READ 1\r", 7, FORMAT, 0, "R 0000000000000001\n");
	reads_as("READ 1\n", 7, FORMAT, 0, "R 0000000000000001\n");
	reads_as("\n\r\n\nREAD 1\r\n", 12, FORMAT, 0, "R 0000000000000001\n");
	reads_as("", 0, FORMAT, 0, "");
	reads_as("\n", 1, FORMAT, 0, "");
}

TEST(a_damaged_line_is_shown_cut_and_escaped)
{
	static const char odd[] = "READ 1\nREAD\x01\xff\x7f\x1b[31m\xc3\xa9\n";
	file_put("trace", odd, sizeof(odd) - 1);
	struct nb_trace_options options = trace_at("trace", FORMAT, 0);
	struct outcome found = read_all(&options);
	ck_assert_str_eq(found.ops.data, "R 0000000000000001\n");
	ck_assert_ptr_nonnull(strstr(found.error,
		"trace:2: 'READ\\x01\\xff\\x7f\\x1b[31m\\xc3\\xa9' is not an operation: "));
	char text[200] = "READ ";
	memset(text + 5, 'z', 190);
	file_put("trace", text, 195);
	found = read_all(&options);
	char wanted[128];
	snprintf(wanted, sizeof(wanted), "trace:1: '%.80s...' is no", text);
	ck_assert_int_eq(strncmp(found.error, wanted, strlen(wanted)), 0);
	/* NUL bytes, the longest line after escaping */
	memset(text, 0, sizeof(text));
	file_put("trace", text, sizeof(text));
	options.flags = NB_TRACE_SKIP_BAD;
	found = read_all(&options);
	ck_assert_int_eq(found.rc, NB_NOT_FOUND);
	ck_assert_uint_eq(found.counts.bad, 1);
	ck_assert_int_eq(strncmp(found.counts.first_bad, "line 1: '\\x00\\x00", 17), 0);
	ck_assert_uint_lt(strlen(found.counts.first_bad), sizeof(found.counts.first_bad));
}

TEST(damaged_lines_can_be_skipped_and_are_counted)
{
	static const char text[] = "READ 1\nREAD x\nREAD 2\nWRITE 3\n\nREAD 4\nREAD";
	text_reads_as(text, FORMAT, NB_TRACE_SKIP_BAD,
		"R 0000000000000001\nR 0000000000000002\nR 0000000000000004\n");
	struct outcome found = read_text(text, FORMAT, NB_TRACE_SKIP_BAD);
	ck_assert_uint_eq(found.counts.bad, 3);
	ck_assert_uint_eq(found.counts.ignored, 1);
	ck_assert_uint_eq(found.counts.ops, 3);
	ck_assert_str_eq(found.counts.first_bad,
		"line 2: 'READ x' is not an operation: its key is not a number");
}

TEST(reading_continues_after_a_damaged_line)
{
	static const char text[] = "READ x\nREAD 2\n";
	file_put("trace", text, sizeof(text) - 1);
	struct nb_trace_options options = trace_at("trace", FORMAT, 0);
	struct trace_reader *reader;
	struct trace_op op;
	ck_assert_int_eq(trace_reader_open(&reader, &options), NB_OK);
	ck_assert_int_eq(trace_reader_next(reader, &op), NB_ERR_DATA);
	ck_assert_int_eq(trace_reader_next(reader, &op), NB_OK);
	ck_assert_int_eq(trace_reader_next(reader, &op), NB_NOT_FOUND);
	ck_assert_int_eq(trace_reader_next(reader, &op), NB_NOT_FOUND);
	trace_reader_close(reader);
}
