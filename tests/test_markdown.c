/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts that could be markup, and tables that are aligned. */
#include <stdlib.h>

#include "report/markdown.h"
#include "unit.h"

static void
assert_written(void (*write)(FILE *out, const char *text), const char *text, const char *wanted)
{
	char *written;
	size_t size;
	FILE *out = open_memstream(&written, &size);
	write(out, text);
	fclose(out);
	ck_assert_str_eq(written, wanted);
	free(written);
}

START_TEST(what_could_be_markup_is_escaped_and_no_more)
{
	assert_written(markdown_text, "ops/s 12.5 (50 %)", "ops/s 12.5 (50 %)");
	assert_written(markdown_text, "block_size", "block_size");
	assert_written(markdown_text, "_a_ b_", "\\_a\\_ b\\_");
	assert_written(markdown_text, "a|b", "a\\|b");
	assert_written(
		markdown_text, "*x* `y` <z> [l](m)", "\\*x\\* \\`y\\` \\<z\\> \\[l\\](m)");
	assert_written(markdown_text, "~~a~~ &amp; \\", "\\~\\~a\\~\\~ \\&amp; \\\\");
	assert_written(markdown_text, "# no title", "\\# no title");
	assert_written(markdown_text, "- no list - at all", "\\- no list - at all");
	assert_written(markdown_text, "two\nlines", "two lines");
}
END_TEST

START_TEST(code_has_more_backquotes_around_it_than_in_it)
{
	assert_written(markdown_code, "a|b <c>", "`a|b <c>`");
	assert_written(markdown_code, "a`b``c", "``` a`b``c ```");
	assert_written(markdown_block, "a\nb\n", "```\na\nb\n```\n");
	assert_written(markdown_block, "```\n````x", "`````\n```\n````x\n`````\n");
}
END_TEST

START_TEST(columns_are_as_wide_as_what_they_hold)
{
	static const struct markdown_column columns[] = {
		{"name", false}, {"empty", true}, {"ops", true}};
	struct markdown_table table;
	char *written;
	size_t size;
	markdown_table_create(&table, columns, 3);
	FILE *out = open_memstream(&written, &size);
	markdown_table_write(&table, out); /* nothing */
	ck_assert_int_eq(
		markdown_table_add(&table, (const char *const[]){"a|b", NULL, "1"}), NB_OK);
	ck_assert_int_eq(
		markdown_table_add(
			&table, (const char *const[]){"Gr\xc3\xb6\xc3\x9f\x65r", "", "123456"}),
		NB_OK);
	markdown_table_write(&table, out);
	fclose(out);
	ck_assert_str_eq(written,
		"| name   |    ops |\n"
		"| ------ | -----: |\n"
		"| a\\|b   |      1 |\n"
		"| Gr\xc3\xb6\xc3\x9f\x65r | 123456 |\n");
	free(written);
	markdown_table_destroy(&table);
}
END_TEST

int
main(void)
{
	return UNIT_RUN("markdown", what_could_be_markup_is_escaped_and_no_more,
		code_has_more_backquotes_around_it_than_in_it,
		columns_are_as_wide_as_what_they_hold);
}
