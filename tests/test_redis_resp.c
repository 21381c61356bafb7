/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plugins/redis/resp.h: commands as redis-cli sends them, and replies truncated at every byte.
 */
#include "../plugins/redis/resp.h"
#include "unit.h"

#include <stdlib.h>

static const char *const replies[] = {
	"+OK\r\n",
	"+\r\n",
	"-ERR unknown command 'x'\r\n",
	":0\r\n",
	":-7\r\n",
	":9223372036854775807\r\n",
	"$0\r\n\r\n",
	"$5\r\na\r\nbc\r\n",
	"$-1\r\n",
	"*0\r\n",
	"*-1\r\n",
	"*3\r\n$1\r\na\r\n$-1\r\n:5\r\n",
	"*2\r\n*2\r\n:1\r\n*0\r\n*1\r\n*1\r\n-ERR x\r\n",
};
enum { REPLIES = sizeof(replies) / sizeof(replies[0]) };

/* A copy of exactly this size, so that a sanitizer detects reads beyond it. */
static char *
copy_of(const char *text, size_t size)
{
	char *copy = malloc(size != 0 ? size : 1);
	ck_assert_ptr_nonnull(copy);
	memcpy(copy, text, size);
	return copy;
}

TEST(a_command_is_written_byte_for_byte)
{
	static const char expected[] =
		"*3\r\n$3\r\nSET\r\n$4\r\nk\r\n\n\r\n$11\r\nhello world\r\n";
	char bytes[128];
	char *end = resp_command(bytes, 3);
	end = RESP_TEXT(end, "$3\r\nSET\r\n");
	end = resp_bulk(end, "k\r\n\n", 4);
	end = resp_slice(end, (struct nb_slice){"hello world", 11});
	ck_assert_uint_eq((size_t)(end - bytes), sizeof(expected) - 1);
	ck_assert_mem_eq(bytes, expected, sizeof(expected) - 1);
}

TEST(numbers_are_written_in_full)
{
	char bytes[64];
	char *end = resp_number(bytes, UINT64_MAX);
	*end = '\0';
	ck_assert_str_eq(bytes, "18446744073709551615");
	end = resp_bulk(bytes, NULL, 0);
	*end = '\0';
	ck_assert_str_eq(bytes, "$0\r\n\r\n");
}

TEST_EACH(a_reply_that_is_cut_anywhere_wants_more_bytes, REPLIES)
{
	size_t size = strlen(replies[_i]);
	struct resp_reply reply;
	for (size_t cut = 0; cut < size; cut++) {
		char *part = copy_of(replies[_i], cut);
		ck_assert_int_eq(resp_skip(part, cut), 0);
		if (replies[_i][0] != '*')
			ck_assert_int_eq(resp_read(part, cut, &reply), 0);
		free(part);
	}
	char *whole = copy_of(replies[_i], size);
	ck_assert_int_eq(resp_skip(whole, size), (ptrdiff_t)size);
	free(whole);
}

static struct resp_reply
read_reply(const char *text)
{
	struct resp_reply reply;
	ck_assert_int_gt(resp_read(text, strlen(text), &reply), 0);
	return reply;
}

TEST(each_type_of_reply_is_recognised)
{
	ck_assert_uint_eq(read_reply(replies[0]).type, RESP_STATUS);
	ck_assert(resp_begins(&(struct resp_reply){.text = "OK", .size = 2}, "OK"));
	ck_assert(!resp_begins(&(struct resp_reply){.text = "OKAY", .size = 1}, "OK"));
	struct resp_reply error = read_reply(replies[2]);
	ck_assert_uint_eq(error.type, RESP_ERROR);
	ck_assert(resp_begins(&error, "ERR unknown"));
	ck_assert_int_eq(read_reply(replies[4]).number, -7);
	ck_assert_int_eq(read_reply(replies[5]).number, INT64_MAX);
	struct resp_reply bulk = read_reply(replies[7]);
	ck_assert_uint_eq(bulk.type, RESP_BULK);
	ck_assert_uint_eq(bulk.size, 5);
	ck_assert_mem_eq(bulk.text, "a\r\nbc", 5);
	ck_assert_uint_eq(read_reply(replies[8]).type, RESP_NIL);
	ck_assert_uint_eq(read_reply(replies[10]).type, RESP_NIL);
	ck_assert_int_eq(read_reply(replies[11]).number, 3);
}

TEST(invalid_RESP_is_detected)
{
	static const char *const broken[] = {"HTTP/1.1 400 Bad Request\r\n", "\r\n",
		"$5\r\nabcdef\r\n", "$a\r\n", ":\r\n", ":1x\r\n", "$1\rx", "+a\rb\r\n",
		"$-2\r\n", "*-2\r\n", ":99999999999999999999\r\n", ":9223372036854775808\r\n",
		"$536870913\r\n", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"};
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
		ck_assert_msg(resp_skip(broken[i], strlen(broken[i])) == RESP_BROKEN, "%s",
			broken[i]);
	char *line = malloc(RESP_LINE_MAX + 2);
	memset(line, '+', RESP_LINE_MAX + 2);
	ck_assert_int_eq(resp_skip(line, RESP_LINE_MAX + 2), RESP_BROKEN);
	free(line);
}
