/* SPDX-License-Identifier: BSD-2-Clause */
/* Python's int.to_bytes() computed the bytes of the numbers. */
#include <signal.h>

#include "trace_kit.h"

bool unit_in_scratch = true;

#define TEXT NB_TRACE_YCSB_TEXT
#define LOG NB_TRACE_YCSB_LOG

TEST(short_lines_are_operations)
{
	static const char text[] = "INSERT 6284781860667377211\n"
				   "READ 0\n"
				   "UPDATE 1\n"
				   "DELETE 256\n"
				   "SCAN 5 100\n"
				   "READMODIFYWRITE 7\n";
	text_reads_as(text, TEXT, 0,
		"I 573807cdd7e5c63b v8\n"
		"R 0000000000000000\n"
		"U 0000000000000001 v8\n"
		"D 0000000000000100\n"
		"S 0000000000000005 s100\n"
		"M 0000000000000007 v8\n");
	reads_as(text, 27, TEXT, NB_TRACE_KEY_LITTLE, "I 3bc6e5d7cd073857 v8\n");
}

TEST(short_lines_may_end_and_be_spaced_in_any_way)
{
	static const char text[] = "READ  12\r\n\r\n\n   \nSCAN\t3\t4 \nREAD 9";
	text_reads_as(text, TEXT, 0,
		"R 000000000000000c\nS 0000000000000003 s4\nR 0000000000000009\n");
	struct outcome found = read_text(text, TEXT, 0);
	ck_assert_uint_eq(found.counts.ignored, 3);
	ck_assert_uint_eq(found.counts.ops, 3);
}

TEST(keys_reach_two_to_the_64)
{
	static const char text[] = "READ 9223372036854775808\nREAD 18446744073709551615\n"
				   "READ 00000000000000000000000000000000000012\n";
	text_reads_as(
		text, TEXT, 0, "R 8000000000000000\nR ffffffffffffffff\nR 000000000000000c\n");
	is_refused("READ 18446744073709551616\n", TEXT, 0,
		"trace:1: 'READ 18446744073709551616' is not an operation: its key is larger than 2^64-1");
}

TEST(damaged_short_lines_are_reported)
{
	static const struct damaged cases[] = {
		{"read 5",
			"expected READ, UPDATE, INSERT, DELETE, SCAN or READMODIFYWRITE in capitals"},
		{"REAP 5",
			"expected READ, UPDATE, INSERT, DELETE, SCAN or READMODIFYWRITE in capitals"},
		{"READ5",
			"expected READ, UPDATE, INSERT, DELETE, SCAN or READMODIFYWRITE in capitals"},
		{"READ", "its key is missing"},
		{"READ ", "its key is missing"},
		{"READ -5", "its key is not a number"},
		{"READ 5x", "its key is not a number"},
		{"READ 0x5", "its key is not a number"},
		{"READ 5 6", "there is text after it"},
		{"SCAN 5", "its number of records is missing"},
		{"SCAN 5 many", "its number of records is not a number"},
		{"SCAN 5 0", "it scans 0 records"},
		{"SCAN 5 6 7", "there is text after it"},
		{"UPDATE user5", "its key is not a number"},
	};
	are_damaged("READ 1", cases, UNIT_COUNT(cases), TEXT);
}

static const char log_text[] =
	"***************** properties *****************\n"
	"\"recordcount\"=\"5\"\n"
	"Loading workload...\n"
	"2024-05-05 10:00:00:000 0 sec: 0 operations; est completion in 0 second\n"
	"INSERT usertable user6284781860667377211 [ field1=ab c field0=d=e] ]\n"
	"READ usertable user6284781860667377211 [ <all fields>]\n"
	"READ usertable user12 [ field0 field1 ]\n"
	"UPDATE usertable user18446744073709551615 [ field9=12345 ]\n"
	"SCAN usertable user0 55 [ <all fields>]\n"
	"DELETE usertable user1\n"
	"READY\n"
	"\tat site.ycsb.Client.main(Client.java:1)\n"
	"\n"
	"[OVERALL], RunTime(ms), 12\n"
	"[READ], Operations, 2\n";

TEST(the_log_of_ycsb_is_read)
{
	text_reads_as(log_text, LOG, 0,
		"I 573807cdd7e5c63b v8\n"
		"R 573807cdd7e5c63b\n"
		"R 000000000000000c\n"
		"U ffffffffffffffff v5\n"
		"S 0000000000000000 s55\n"
		"D 0000000000000001\n");
	struct outcome found = read_text(log_text, LOG, 0);
	ck_assert_uint_eq(found.counts.ignored, 9);
	ck_assert_uint_eq(found.counts.bad, 0);
	ck_assert_uint_eq(found.counts.inserts, 1);
	ck_assert_uint_eq(found.counts.reads, 2);
	ck_assert_uint_eq(found.counts.updates, 1);
	ck_assert_uint_eq(found.counts.scans, 1);
	ck_assert_uint_eq(found.counts.deletes, 1);
}

TEST(keys_of_the_log_are_numbers_or_text)
{
	static const char text[] = "READ usertable user6284781860667377211 [ <all fields>]\r\n"
				   "DELETE usertable user00012\n";
	text_reads_as(
		text, LOG, NB_TRACE_KEY_LITTLE, "R 3bc6e5d7cd073857\nD 0c00000000000000\n");
	text_reads_as(text, LOG, NB_TRACE_KEY_TEXT,
		"R 7573657236323834373831383630363637333737323131\n"
		"D 757365723030303132\n");
	static const char other[] = "DELETE usertable acct:7\n";
	text_reads_as(other, LOG, NB_TRACE_KEY_TEXT, "D 616363743a37\n");
	is_refused(other, LOG, 0,
		"trace:1: 'DELETE usertable acct:7' is not an operation: its key 'acct:7' is not user<number>; --key-bytes=text keeps such keys");
}

/** Check the size of an INSERT with these fields. */
static void
value_is(const char *fields, uint64_t size)
{
	char text[256], ops[64];
	snprintf(text, sizeof(text), "INSERT usertable user1 [ %s]\n", fields);
	snprintf(ops, sizeof(ops), "I 0000000000000001 v%llu\n", (unsigned long long)size);
	reads_as(text, strlen(text), LOG, 0, ops);
}

TEST(the_size_of_a_value_is_that_of_all_fields)
{
	value_is("", 0);
	value_is("field0= ", 0);
	value_is("field0=abc ", 3);
	value_is("field0=abc field1=defg ", 7);
	value_is("field1=abc field10=defg field0= ", 7);
	value_is("field0=  ", 1);                       /* a blank */
	value_is("field0=a b=c ] [ =] x ", 14);         /* any printable characters */
	value_is("field0=field1=x field1=y ", 9);       /* no blank: part of the value */
	value_is("field0=a fieldx=b field=c 1=d ", 22); /* these names do not count either */
	value_is("f7=ab f8=c ", 3);                     /* another fieldnameprefix */
	value_is("data=a data=b c9=d ", 13);            /* no number: the only field */
	value_is("field0=\xc3\xa9\x7f ", 3);
}

TEST(a_line_of_ten_megabytes_is_one_line)
{
	enum { SIZE = 10 << 20 };
	struct text text = {0};
	text_put(&text, "READ usertable user1 [ <all fields>]\n");
	text_put(&text, "INSERT usertable user2 [ field0=");
	char *filler = malloc(SIZE);
	ck_assert_ptr_nonnull(filler);
	memset(filler, 'y', SIZE);
	text_add(&text, filler, SIZE);
	text_put(&text, " ]\nDELETE usertable user3");
	file_put("trace", text.data, text.size);
	struct nb_trace_options options = trace_at("trace", NB_TRACE_AUTO, 0);
	for (int i = 0; i < 2; i++) {
		struct outcome found = i == 0
			? read_all(&options)
			: read_piped(&options, text.data, text.size, 1 << 16);
		ck_assert_int_eq(found.rc, NB_NOT_FOUND);
		ck_assert_str_eq(found.ops.data,
			"R 0000000000000001\nI 0000000000000002 v10485760\n"
			"D 0000000000000003\n");
	}
	/* the same line alone, and damaged: the message truncates it, too */
	text.size = 0;
	text_put(&text, "INSERT usertable user2 [ field0=");
	text_add(&text, filler, SIZE);
	file_put("trace", text.data, text.size);
	struct outcome found = read_all(&options);
	ck_assert_int_eq(found.rc, NB_ERR_DATA);
	ck_assert_str_eq(found.error,
		"trace:1: 'INSERT usertable user2 [ field0=yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy...' is not an operation: its fields from '[' to ']' are incomplete");
	free(filler);
	free(text.data);
}

TEST(damaged_lines_of_the_log_are_reported)
{
	static const struct damaged cases[] = {
		{"READ", "its table is missing"},
		{"READ:usertable", "expected a blank and a table"},
		{"READ usertable", "its key is missing"},
		{"READ usertable user1", "its fields from '[' to ']' are incomplete"},
		{"READ usertable user1 [ <all fields>",
			"its fields from '[' to ']' are incomplete"},
		{"INSERT usertable user1 [ field0=ab",
			"its fields from '[' to ']' are incomplete"},
		{"INSERT usertable user1 [ <all fields>]", "its fields are not NAME=VALUE"},
		{"INSERT usertable user1 [ =5 ]", "its fields are not NAME=VALUE"},
		{"SCAN usertable user1 [ <all fields>]",
			"its number of records is not a number"},
		{"SCAN usertable user1", "its number of records is missing"},
		{"SCAN usertable user1 0 [ <all fields>]", "it scans 0 records"},
		{"SCAN usertable user1 99999999999999999999 [ <all fields>]",
			"its number of records is larger than 2^64-1"},
		{"DELETE usertable user1 [ ]", "there is text after it"},
		{"DELETE usertable user",
			"its key 'user' is not user<number>; --key-bytes=text keeps such keys"},
		{"DELETE usertable user1x",
			"its key 'user1x' is not user<number>; --key-bytes=text keeps such keys"},
		{"DELETE usertable user18446744073709551616",
			"the number of its key is larger than 2^64-1"},
	};
	are_damaged("a status line", cases, UNIT_COUNT(cases), LOG);
}

/* Its bytes as a number: 6162636465666768 in hexadecimal. */
static const struct trace_op eight[] = {
	{.kind = NB_OP_READ, .key = {"abcdefgh", 8}},
	{.kind = NB_OP_UPDATE, .key = {"\0\0\0\0\0\0\0\1", 8}, .value_size = 3},
	{.kind = NB_OP_INSERT, .key = {"\xff\xff\xff\xff\xff\xff\xff\xff", 8}},
	{.kind = NB_OP_UPSERT, .key = {"\0\0\0\0\0\0\0\2", 8}, .value_size = 1},
	{.kind = NB_OP_DELETE, .key = {"\0\0\0\0\0\0\0\3", 8}},
	{.kind = NB_OP_SCAN, .key = {"\0\0\0\0\0\0\0\4", 8}, .scan_length = 100},
	{.kind = NB_OP_RMW, .key = {"\0\0\0\0\0\0\0\5", 8}, .value_size = 2},
	{.kind = TRACE_NO_KIND, .key = {"\0\0\0\0\0\0\0\6", 8}},
};
enum { EIGHT = sizeof(eight) / sizeof(eight[0]) };

TEST(short_lines_are_written)
{
	writes_as(eight, EIGHT, TEXT, 0,
		"READ 7017280452245743464\n"
		"UPDATE 1\n"
		"INSERT 18446744073709551615\n"
		"UPDATE 2\n"
		"DELETE 3\n"
		"SCAN 4 100\n"
		"READMODIFYWRITE 5\n"
		"READ 6\n");
	writes_as(eight + 1, 1, TEXT, NB_TRACE_KEY_LITTLE, "UPDATE 72057594037927936\n");
	struct trace_op nine = {.kind = NB_OP_READ, .key = slice("123456789")};
	is_not_written(&nine, TEXT, 0,
		"written: operation 1 cannot be written: its key has 9 bytes, but keys of ycsb-text have 8 bytes");
}

TEST(the_log_is_written_as_ycsb_prints_it)
{
	writes_as(eight, EIGHT, LOG, 0,
		"READ usertable user7017280452245743464 [ <all fields>]\n"
		"UPDATE usertable user1 [ field0=xxx ]\n"
		"INSERT usertable user18446744073709551615 [ field0= ]\n"
		"UPDATE usertable user2 [ field0=x ]\n"
		"DELETE usertable user3\n"
		"SCAN usertable user4 100 [ <all fields>]\n"
		"READ usertable user5 [ <all fields>]\n"
		"UPDATE usertable user5 [ field0=xx ]\n"
		"READ usertable user6 [ <all fields>]\n");
	writes_as(
		eight, 1, LOG, NB_TRACE_KEY_TEXT, "READ usertable abcdefgh [ <all fields>]\n");
	struct trace_op blank = {.kind = NB_OP_READ, .key = slice("a b")};
	is_not_written(&blank, LOG, NB_TRACE_KEY_TEXT,
		"written: operation 1 cannot be written: its key contains byte 0x20, which ycsb-log cannot hold");
}

TEST(bare_keys_become_the_requested_operation)
{
	struct nb_trace_options options = trace_at("written", TEXT, 0);
	options.bare_kind = NB_OP_INSERT;
	ck_assert_int_eq(write_ops(&options, eight + 7, 1), NB_OK);
	file_is("written", "INSERT 6\n", 9);
	options.format = LOG;
	options.bare_kind = NB_OP_RMW;
	ck_assert_int_eq(write_ops(&options, eight + 7, 1), NB_OK);
	static const char text[] = "READ usertable user6 [ <all fields>]\n"
				   "UPDATE usertable user6 [ field0= ]\n";
	file_is("written", text, sizeof(text) - 1);
}
