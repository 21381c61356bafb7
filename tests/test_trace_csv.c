/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines of Twitter's format follow README.md of github.com/twitter/cache-trace. Lines of Meta's
 * format follow the two samples in CacheLib's cachebench/test_configs/trace_replay/kvcache.
 */
#include <signal.h>

#include "trace_kit.h"

bool unit_in_scratch = true;

#define FORMAT NB_TRACE_CACHE_CSV

TEST(each_request_of_twitter_becomes_an_operation)
{
	static const char text[] = "7,a,1,10,1,get,0\n"
				   "7,b,1,10,2,gets,0\n"
				   "7,c,1,11,3,set,3600\n"
				   "8,d,1,12,3,add,1\n"
				   "8,e,1,13,3,replace,1\n"
				   "10,f,1,14,3,cas,1\n"
				   "10,g,1,15,3,append,1\n"
				   "10,h,1,16,3,prepend,1\n"
				   "10,i,1,0,3,delete,0\n"
				   "10,j,1,17,3,incr,0\n"
				   "604807,k,1,18,3,decr,0";
	text_reads_as(text, FORMAT, 0,
		"R 61 @0\n"
		"R 62 @0\n"
		"P 63 v11 @0\n"
		"I 64 v12 @1000000000\n"
		"U 65 v13 @1000000000\n"
		"U 66 v14 @3000000000\n"
		"M 67 v15 @3000000000\n"
		"M 68 v16 @3000000000\n"
		"D 69 @3000000000\n"
		"M 6a v17 @3000000000\n"
		"M 6b v18 @604800000000000\n");
}

TEST(keys_may_hold_commas_and_are_as_long_as_they_were)
{
	static const char text[] = "0,a,b,3,10,1,get,0\r\n"
				   "0,,,,3,10,1,get,0\n"
				   "0,ab,5,10,1,get,0\n"
				   "0,abcdef,2,10,1,get,0\n";
	text_reads_as(text, FORMAT, 0,
		"R 612c62 @0\nR 2c2c30 @0\nR 6162303030 @0\nR 616263646566 @0\n");
}

TEST(columns_of_meta_are_found_by_their_names)
{
	static const char first[] =
		"op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase,sub_usecase\n"
		"604038471,82131353f9ddc8c6,16,GET,1,87,1,0,366387042,3003229276\n"
		"604038472,ab,4,GET_LEASE,3,0,0,0,699950563,699950563\n"
		"604038472,ab,2,SET,2,30,0,0,699950563,699950563\n"
		"604038473,ab,2,SET_LEASE,1,31,0,0,1,1\n"
		"604038473,ab,2,DELETE,1,,0,0,1,1\n";
	text_reads_as(first, FORMAT, 0,
		"R 38323133313335336639646463386336 @0\n"
		"R 61623030 @1000000000\nR 61623030 @1000000000\nR 61623030 @1000000000\n"
		"P 6162 v30 @1000000000\nP 6162 v30 @1000000000\n"
		"P 6162 v31 @2000000000\n"
		"D 6162 @2000000000\n");
	static const char second[] = "size,op,key\r\n5,SET,a\r\n,GET,b\r\n";
	text_reads_as(second, FORMAT, 0, "P 61 v5\nR 62\n");
	static const char third[] = "a,SET,5,2,1\nb,GET,0,1,1,60\n";
	text_reads_as(third, FORMAT, 0, "P 61 v5\nP 61 v5\nR 62\n");
}

TEST(a_header_may_come_again_and_differ)
{
	static const char text[] = "key,op,size,op_count,key_size\na,SET,5,1,1\n"
				   "op,key,size\nSET,b,6\n";
	text_reads_as(text, FORMAT, 0, "P 61 v5\nP 62 v6\n");
	struct outcome found = read_text(text, FORMAT, 0);
	ck_assert_uint_eq(found.counts.ignored, 2);
	ck_assert_uint_eq(found.counts.upserts, 2);
}

TEST(only_a_header_is_a_trace_without_operations)
{
	static const char text[] = "op_time,key,key_size,op,op_count,size,cache_hits,ttl\n";
	text_reads_as(text, FORMAT, 0, "");
	text_reads_as(text, NB_TRACE_AUTO, 0, "");
}

TEST(damaged_lines_are_reported)
{
	static const struct damaged cases[] = {
		{"1,a,1,0,1,get", "it has too few columns"},
		{"1", "it has too few columns"},
		{"x,a,1,0,1,get,0", "its time is not a number"},
		{",a,1,0,1,get,0", "its time is missing"},
		{"99999999999,a,1,0,1,get,0",
			"its time is 99999999999 units after the first, more than a trace can hold"},
		{"1,a,1,0,1,take,0", "unknown request 'take'"},
		{"1,a,1,x,1,set,0", "its size is not a number"},
		{"1,a,1,,1,set,0", "its size is missing"},
		{"1,a,,0,1,set,0", "its key size is missing"},
		{"1,a,1048577,0,1,get,0", "its key of 1048577 bytes is larger than 1048576"},
		{"1,,1,0,1,get,0", "its key is empty"},
		{"1,a,1,2000000000,1,set,0",
			"its value of 2000000000 bytes is larger than 1073741824"},
	};
	are_damaged("0,a,1,0,1,get,0", cases, UNIT_COUNT(cases), FORMAT);
	is_refused("key,op,size,op_count\na,GET,0,0\n", FORMAT, 0,
		"trace:2: 'a,GET,0,0' is not an operation: its op_count is not 1 to 4294967295");
	is_refused("key,op,size,op_count\na,GET,0,4294967296\n", FORMAT, 0,
		"trace:2: 'a,GET,0,4294967296' is not an operation: its op_count is not 1 to 4294967295");
	is_refused("key,size\na,5\n", FORMAT, 0,
		"trace:1: 'key,size' is not an operation: expected Twitter's columns or a header with 'key' and 'op'");
}

TEST(trace_is_written_in_twitters_format)
{
	static const struct trace_op ops[] = {
		{.kind = NB_OP_READ, .key = {"nz:u:1", 6}},
		{.kind = NB_OP_UPSERT,
			.key = {"b", 1},
			.value_size = 213,
			.due_ns = 1999999999},
		{.kind = NB_OP_INSERT, .key = {"c", 1}, .due_ns = 2000000000},
		{.kind = NB_OP_UPDATE, .key = {"d", 1}, .due_ns = 2000000000},
		{.kind = NB_OP_RMW, .key = {"e", 1}, .due_ns = 2000000000},
		{.kind = NB_OP_DELETE, .key = {"f", 1}, .due_ns = 2000000000},
		{.kind = TRACE_NO_KIND, .key = {"g", 1}, .due_ns = 2000000000},
	};
	writes_as(ops, 7, FORMAT, 0,
		"0,nz:u:1,6,0,0,get,0\n"
		"1,b,1,213,0,set,0\n"
		"2,c,1,0,0,add,0\n"
		"2,d,1,0,0,replace,0\n"
		"2,e,1,0,0,incr,0\n"
		"2,f,1,0,0,delete,0\n"
		"2,g,1,0,0,get,0\n");
}

TEST(operations_without_a_csv_form_are_refused)
{
	struct trace_op op = {.kind = NB_OP_SCAN, .key = slice("a"), .scan_length = 5};
	is_not_written(&op, FORMAT, 0,
		"written: operation 1 cannot be written: cache-csv cannot hold scans");
	op = (struct trace_op){.kind = NB_OP_READ, .key = slice("a,b")};
	is_not_written(&op, FORMAT, 0,
		"written: operation 1 cannot be written: its key contains byte 0x2c, which cache-csv cannot hold");
}
