/* SPDX-License-Identifier: BSD-2-Clause */
/* Small foreign files: their values are read, and no content of theirs does harm. */
#include "run/procfs.h"

#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

static void
put(const char *name, const char *text)
{
	file_put(name, text, strlen(text));
}

static const char *
kept(const char *text, size_t size)
{
	static char into[64];
	memset(into, 'x', sizeof(into));
	procfs_keep(into, size, text);
	ck_assert_uint_lt(strlen(into), size);
	return into;
}

TEST(texts_are_kept_printable_and_whole)
{
	static const struct {
		const char *text, *kept;
		size_t size;
	} cases[] = {{"AMD EPYC", "AMD EPYC", 64}, {" \t two  words \n", "two  words", 64},
		{"a\001b\177c", "a b c", 64}, {"", "", 64}, {"  \n", "", 64},
		{"abcdef", "abc", 4}, {"abcdef", "", 1}, {"ab cdef", "ab", 4},
		{"Z\303\274rich", "Z\303\274rich", 64}, {"Z\303\274", "Z", 3},
		{"\360\237\230\200!", "\360\237\230\200!", 64},
		/*
		 * not UTF-8: a single byte, an overlong form, a surrogate, above U+10FFFF,
		 * truncated
		 */
		{"a\374b", "a?b", 64}, {"\300\257", "??", 64}, {"\355\240\200", "???", 64},
		{"\364\220\200\200", "????", 64}, {"a\303", "a?", 64},
		{"\360\237\230", "???", 64},
		/* U+009B starts a control sequence like ESC [; U+00A0 does not */
		{"a\302\2332Jb", "a??2Jb", 64}, {"a\302\240b", "a\302\240b", 64}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		ck_assert_str_eq(kept(cases[i].text, cases[i].size), cases[i].kept);
}

TEST(numbers_have_units_and_bounds)
{
	static const struct {
		const char *text;
		uint64_t number;
	} good[] = {{"0", 0}, {"4096", 4096}, {"32768K", 32768 << 10}, {"16 kB", 16 << 10},
		{"2M", 2 << 20}, {"1 G", 1 << 30}, {"18446744073709551615", UINT64_MAX},
		{"7\t", 7}};
	static const char *const bad[] = {"", "-1", "+1", "x", " 1", "18446744073709551616",
		"18014398509481984K", "99999999999999999999999", "5x", "max"};
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		uint64_t number = 1234567;
		ck_assert_msg(procfs_parse_number(&number, good[i].text), "%s", good[i].text);
		ck_assert_uint_eq(number, good[i].number);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		uint64_t number = 1234567;
		ck_assert_msg(!procfs_parse_number(&number, bad[i]), "%s", bad[i]);
		ck_assert_uint_eq(number, 1234567);
	}
}

TEST(lists_are_counted_and_gone_through_round_and_round)
{
	static const struct {
		const char *list;
		uint64_t count, numbers[6];
	} cases[] = {{"0", 1, {0, 0, 0}}, {"0-3,8", 5, {0, 1, 2, 3, 8, 0}},
		{"0,64", 2, {0, 64, 0}}, {"", 0}, {"x", 0}, {"3-1", 0}, {"0-99999999999", 0},
		{"0-3;", 0}, {"0-3,x", 0}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (uint64_t n = 0; n <= cases[i].count; n++) {
			uint64_t nth = n;
			ck_assert_msg(procfs_list(cases[i].list, &nth) == cases[i].count, "%s",
				cases[i].list);
			ck_assert_uint_eq(nth, cases[i].count > 0 ? cases[i].numbers[n] : n);
		}
}

TEST(lines_and_numbers_come_from_files_below_a_root)
{
	char text[16] = "before";
	uint64_t number = 0;
	scratch_fresh("lines");
	put("one", "first line\nsecond\n");
	put("chosen", "always [madvise] never\n");
	put("plain", "none\n");
	put("number", "12\n");
	ck_assert(procfs_line(text, sizeof(text), ".", "/%s", "one"));
	ck_assert_str_eq(text, "first line");
	ck_assert(procfs_chosen(text, sizeof(text), ".", "/chosen"));
	ck_assert_str_eq(text, "madvise");
	ck_assert(procfs_chosen(text, sizeof(text), ".", "/plain"));
	ck_assert_str_eq(text, "none");
	ck_assert(procfs_number(&number, ".", "/number"));
	ck_assert_uint_eq(number, 12);
	ck_assert(procfs_exists(".", "/number"));
	ck_assert(!procfs_exists(".", "/no"));
}

TEST(values_are_found_by_their_key)
{
	char value[32];
	scratch_fresh("values");
	put("info",
		"cpu MHz\t\t: 2000\nmodel\t\t: 1\nmodel name\t: AMD EPYC\n"
		"model name\t: other\n");
	put("release", "NAME=x\nPRETTY_NAME=\"Debian \\ 12\"\nQ='a'\nOPEN=\"b\n");
	ck_assert(procfs_value(value, sizeof(value), ".", "/info", "model name"));
	ck_assert_str_eq(value, "AMD EPYC");
	ck_assert(procfs_value(value, sizeof(value), ".", "/info", "model"));
	ck_assert_str_eq(value, "1");
	ck_assert(procfs_value(value, sizeof(value), ".", "/release", "PRETTY_NAME"));
	ck_assert_str_eq(value, "Debian \\ 12");
	ck_assert(procfs_value(value, sizeof(value), ".", "/release", "Q"));
	ck_assert_str_eq(value, "a");
	ck_assert(procfs_value(value, sizeof(value), ".", "/release", "OPEN"));
	ck_assert_str_eq(value, "\"b");
	ck_assert(!procfs_value(value, sizeof(value), ".", "/release", "NA"));
	ck_assert(!procfs_value(value, sizeof(value), ".", "/none", "NAME"));
}

TEST(irregular_files_are_ignored_without_blocking)
{
	char text[16] = "before", *path = malloc(9000);
	uint64_t number = 7;
	scratch_fresh("strange");
	ck_assert_ptr_nonnull(path);
	memset(path, 'a', 8999);
	path[0] = '/';
	path[8999] = '\0';
	ck_assert_int_eq(mkdir("dir", 0700), 0);
	ck_assert_int_eq(mkfifo("pipe", 0600), 0);
	ck_assert_int_eq(symlink("/dev/zero", "zero"), 0);
	put("empty", "");
	put("blank", " \t\n");
	file_put("nul", "\0\0\0", 3);
	static const char *const names[] = {
		"/dir", "/pipe", "/zero", "/empty", "/blank", "/nul", "/none"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		ck_assert_msg(
			!procfs_line(text, sizeof(text), ".", "%s", names[i]), "%s", names[i]);
		ck_assert(!procfs_chosen(text, sizeof(text), ".", "%s", names[i]));
		ck_assert(!procfs_number(&number, ".", "%s", names[i]));
		ck_assert(!procfs_value(text, sizeof(text), ".", names[i], "a"));
	}
	ck_assert(!procfs_line(text, sizeof(text), ".", "%s", path));
	ck_assert(!procfs_line(text, sizeof(text), path, "/a"));
	ck_assert(!procfs_exists(path, "/a"));
	ck_assert_str_eq(text, "before");
	ck_assert_uint_eq(number, 7);
	free(path);
}

TEST(lines_may_be_of_any_length)
{
	enum { SIZE = 1 << 20 };
	char *text = malloc(SIZE), value[8];
	scratch_fresh("long");
	ck_assert_ptr_nonnull(text);
	memset(text, 'a', SIZE);
	memcpy(text + SIZE - 8, "\nk=last\n", 8);
	file_put("long", text, SIZE);
	ck_assert(procfs_line(value, sizeof(value), ".", "/long"));
	ck_assert_str_eq(value, "aaaaaaa");
	ck_assert(procfs_value(value, sizeof(value), ".", "/long", "k"));
	ck_assert_str_eq(value, "last");
	free(text);
}
