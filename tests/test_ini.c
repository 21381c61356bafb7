/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/ini.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

/** The callbacks as text: "[section]\n" and "NUMBER section.key=value\n". */
static char told[1 << 16];

static int
tell(void *arg, const struct ini_line *line)
{
	size_t used = strlen(told);
	if (line->key == NULL)
		snprintf(told + used, sizeof(told) - used, "%zu [%s]\n", line->number,
			line->section);
	else
		snprintf(told + used, sizeof(told) - used, "%zu %s.%s=%s\n", line->number,
			line->section != NULL ? line->section : "", line->key, line->value);
	return strcmp(line->section != NULL ? line->section : "", "stop") == 0
		? error_set(NB_ERR_USAGE, "stop at '%s'", line->section)
		: NB_OK;
}

/** Parse a copy in a heap block of the exact size, which the parser may modify. */
static int
parse_bytes(const char *bytes, size_t size)
{
	told[0] = '\0';
	char *text = malloc(size + 1);
	ck_assert_ptr_nonnull(text);
	memcpy(text, bytes, size);
	int rc = ini_parse("my.ini", text, size, tell, NULL);
	free(text);
	return rc;
}

static void
assert_told(const char *text, const char *expected)
{
	ck_assert_msg(parse_bytes(text, strlen(text)) == NB_OK, "%s", nb_error_text());
	ck_assert_str_eq(told, expected);
}

static void
assert_refused(const char *text, const char *why)
{
	ck_assert_int_eq(parse_bytes(text, strlen(text)), NB_ERR_USAGE);
	ck_assert_str_eq(nb_error_text(), why);
}

TEST(sections_and_assignments_come_with_their_lines)
{
	assert_told("a = 1\n\n[one]\nb=2\n# no\n; no\n   # no\n[two]\n  c  =  3 4  \n",
		"1 .a=1\n3 [one]\n4 one.b=2\n8 [two]\n9 two.c=3 4\n");
	assert_told("", "");
	assert_told("\n\n \t\n", "");
	assert_told("[ blanks ]", "1 [blanks]\n");
}

TEST(last_line_needs_no_end)
{
	assert_told("[s]\nkey = value", "1 [s]\n2 s.key=value\n");
	assert_told("[s]\nkey =", "1 [s]\n2 s.key=\n");
	assert_told("[s]\n# comment", "1 [s]\n");
}

TEST(line_ends_of_other_systems_are_read)
{
	assert_told("\xef\xbb\xbf[s]\r\nkey = value\r\n\r\nlast=1\r",
		"1 [s]\n2 s.key=value\n4 s.last=1\n");
}

TEST(value_may_contain_special_characters)
{
	assert_told("[s]\nk = a=b ; c # d [e]\n\"k\" = \"q\"\nk=\\n\n",
		"1 [s]\n2 s.k=a=b ; c # d [e]\n3 s.\"k\"=\"q\"\n4 s.k=\\n\n");
	assert_told("[s]\nk=\xc3\xa4 \xff\n", "1 [s]\n2 s.k=\xc3\xa4 \xff\n");
}

TEST(long_line_is_one_line)
{
	static char text[10240 + 64], expected[10240 + 64], value[10240 + 1];
	memset(value, 'x', 10240);
	snprintf(text, sizeof(text), "[s]\nkey = %s\nnext = 1\n", value);
	snprintf(expected, sizeof(expected), "1 [s]\n2 s.key=%s\n3 s.next=1\n", value);
	assert_told(text, expected);
}

TEST(invalid_text_is_refused_with_its_line)
{
	assert_refused("[s]\n\nfoo\n", "my.ini:3: 'foo' is neither [SECTION] nor KEY = VALUE");
	assert_refused("[s\n", "my.ini:1: '[s' lacks its ']'");
	assert_refused("[s] # why\n",
		"my.ini:1: ' # why' after ']' is not allowed; a comment needs a line of its own");
	assert_refused("\n[ ]\n", "my.ini:2: a section without a name");
	assert_refused("[s]\n = 5\n", "my.ini:2: no key before the '='");
}

TEST(byte_of_zero_is_refused_with_its_line)
{
	ck_assert_int_eq(parse_bytes("[s]\nk=1\0\n", 9), NB_ERR_USAGE);
	ck_assert_str_eq(
		nb_error_text(), "my.ini:2: contains a byte of zero; this is not a text file");
	ck_assert_int_eq(parse_bytes("\xff\xfe[\0s\0]\0", 8), NB_ERR_USAGE);
	ck_assert_str_eq(
		nb_error_text(), "my.ini:1: contains a byte of zero; this is not a text file");
	ck_assert_int_eq(parse_bytes("#\0", 2), NB_ERR_USAGE);
}

TEST(long_wrong_line_is_quoted_in_part)
{
	static char text[10241];
	memset(text, 'x', 10240);
	ck_assert_int_eq(parse_bytes(text, 10240), NB_ERR_USAGE);
	ck_assert_uint_lt(strlen(nb_error_text()), 150);
}

TEST(reader_can_refuse_a_line)
{
	assert_refused("[s]\na=1\n[stop]\n[more]\n", "my.ini:3: stop at 'stop'");
	ck_assert_str_eq(told, "1 [s]\n2 s.a=1\n3 [stop]\n");
}

TEST(files_are_read_whole)
{
	scratch_fresh("whole");
	static char text[100000];
	memset(text, '#', sizeof(text));
	memcpy(text + sizeof(text) - 9, "\n[s]\nk=12", 9);
	file_put("f.ini", text, sizeof(text));
	told[0] = '\0';
	ck_assert_int_eq(ini_read("f.ini", tell, NULL), NB_OK);
	ck_assert_str_eq(told, "2 [s]\n3 s.k=12\n");
	file_put("f.ini", "", 0);
	told[0] = '\0';
	ck_assert_int_eq(ini_read("f.ini", tell, NULL), NB_OK);
	ck_assert_str_eq(told, "");
}

TEST(unreadable_file_is_named)
{
	scratch_fresh("unreadable");
	ck_assert_int_eq(ini_read("gone.ini", tell, NULL), NB_FAIL);
	ck_assert_str_eq(nb_error_text(), "gone.ini: No such file or directory");
	ck_assert_int_eq(ini_read("/", tell, NULL), NB_FAIL);
	ck_assert_str_eq(nb_error_text(), "/: Is a directory");
	ck_assert_int_eq(ini_read("/dev/zero", tell, NULL), NB_ERR_USAGE);
	ck_assert_str_eq(nb_error_text(), "/dev/zero: is larger than 256 MiB");
}
