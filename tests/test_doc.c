/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Documents: the guarantees for builders, and both renderings of cases that the stored results
 * lack: wide characters, empty tables, hostile texts, a full disk.
 */
#include <string.h>

#include "doc_rig.h"

static struct doc doc;

static const struct doc_column columns[] = {
	{"name", DOC_LEFT, 0}, {"size", DOC_RIGHT, 0}, {"help", DOC_LEFT, 0}};

TEST(columns_are_as_wide_as_their_widest_cell_in_characters)
{
	doc_add_table(&doc, columns, 3, 0, 0);
	doc_texts(&doc, "Gr\xc3\xb6\xc3\x9f\x65r", "4", "a|b");
	doc_texts(&doc, "db", "123456", "x");
	doc_rig_expect(&doc, DOC_TEXT,
		"name      size  help\n"
		"Gr\xc3\xb6\xc3\x9f\x65r       4  a|b\n"
		"db      123456  x\n");
	doc_add_table(&doc, columns, 3, 0, 0);
	doc_texts(&doc, "Gr\xc3\xb6\xc3\x9f\x65r", "4", "a|b");
	doc_texts(&doc, "db", "123456", "x");
	doc_rig_expect(&doc, DOC_MARKDOWN,
		"| name   |   size | help |\n"
		"| ------ | -----: | ---- |\n"
		"| Gr\xc3\xb6\xc3\x9f\x65r |      4 | a\\|b |\n"
		"| db     | 123456 | x    |\n");
}

TEST(a_last_column_to_the_right_is_aligned)
{
	doc_add_table(&doc, columns, 2, 0, 0);
	doc_texts(&doc, "a", "12345", "abcdef"); /* the third cell starts the next row */
	doc_cell(&doc, "%d", 7);
	doc_rig_expect(&doc, DOC_TEXT, "name     size\na       12345\nabcdef      7\n");
}

TEST(table_without_rows_has_only_titles_in_text_and_is_empty_in_markdown)
{
	doc_add_table(&doc, columns, 3, 0, 0);
	doc_rig_expect(&doc, DOC_TEXT, "name  size  help\n");
	doc_add_table(&doc, columns, 3, 0, 0);
	doc_rig_expect(&doc, DOC_MARKDOWN, "");
	doc_add_table(&doc, columns, 3, 0, DOC_APART);
	doc_rig_expect(&doc, DOC_TEXT, "");
	doc_add_table(&doc, columns, 1, 0, DOC_APART);
	doc_cell(&doc, "x");
	doc_rig_expect(&doc, DOC_TEXT, "\nname\nx\n");
}

TEST(markdown_omits_columns_without_a_cell)
{
	doc_add_table(&doc, columns, 3, 0, 0);
	doc_texts(&doc, "a", "", "b");
	doc_texts(&doc, "c", "", "");
	doc_rig_expect(&doc, DOC_MARKDOWN,
		"| name | help |\n| ---- | ---- |\n| a    | b    |\n| c    |      |\n");
}

TEST(cells_that_a_row_lacks_are_empty)
{
	doc_add_table(&doc, columns, 3, 0, 0);
	doc_texts(&doc, "a", "1", "x");
	doc_row(&doc);
	doc_cell(&doc, "b");
	doc_texts(&doc, "c", "3", "y");
	doc_row(&doc);
	doc_cell(&doc, "d");
	doc_paragraph(&doc, "end");
	doc_rig_expect(&doc, DOC_TEXT,
		"name  size  help\na        1  x\nb           \nc        3  y\nd           \nend\n");
}

TEST(view_has_only_its_columns)
{
	static const struct doc_column views[] = {
		{"both", DOC_LEFT, 0}, {"one", DOC_RIGHT, 1}, {"two", DOC_LEFT, 2}};
	for (uint32_t view = 1; view <= 2; view++) {
		doc_add_table(&doc, views, 3, view, 0);
		doc_texts(&doc, "a", "b", "c");
		doc_rig_expect(&doc, DOC_TEXT,
			view == 1 ? "both  one\na       b\n" : "both  two\na     c\n");
	}
}

TEST(null_cells_are_empty)
{
	struct nb_histogram *few;
	ck_assert_int_eq(nb_histogram_new(&few), NB_OK);
	nb_histogram_add(few, 1000);
	doc_add_table(&doc, columns, 1, 0, 0);
	doc_cell_ns(&doc, 0);
	doc_cell_bytes(&doc, 0);
	doc_cell_count(&doc, 0);
	doc_cell_rate(&doc, 0);
	doc_cell_percentile(&doc, few, 50);
	doc_rig_expect(&doc, DOC_TEXT, "name\n\n\n\n\n\n");
	doc_add_table(&doc, columns, 1, 0, 0);
	doc_cell_ns(&doc, 1500);
	doc_cell_bytes(&doc, 2048);
	doc_cell_count(&doc, 7);
	doc_cell_rate(&doc, 9.876);
	doc_cell_rate(&doc, 1234.5);
	for (int i = 0; i < 19; i++)
		nb_histogram_add(few, 1000);
	doc_cell_percentile(&doc, few, 50);
	doc_rig_expect(&doc, DOC_TEXT, "name\n1.5us\n2KiB\n7\n9.88\n1234\n1us\n");
	nb_histogram_delete(few);
}

/* ---- lines ---- */

static void
expect_markdown(const char *text, const char *expected)
{
	doc_paragraph(&doc, "%s", text);
	char *written = doc_rig_written(&doc, DOC_MARKDOWN);
	ck_assert_uint_gt(strlen(written), 0);
	written[strlen(written) - 1] = '\0';
	ck_assert_str_eq(written, expected);
	free(written);
}

TEST(only_text_that_could_be_markup_is_escaped)
{
	expect_markdown("ops/s 12.5 (50 %)", "ops/s 12.5 (50 %)");
	expect_markdown("block_size", "block_size");
	expect_markdown("_a_ b_", "\\_a\\_ b\\_");
	expect_markdown("*x* `y` <z> [l](m)", "\\*x\\* \\`y\\` \\<z\\> \\[l\\](m)");
	expect_markdown("~~a~~ &amp; \\ |", "\\~\\~a\\~\\~ \\&amp; \\\\ \\|");
	expect_markdown("# no title", "\\# no title");
	expect_markdown("- no list - at all", "\\- no list - at all");
	expect_markdown("two\nlines", "two lines");
}

TEST(code_has_more_backquotes_around_it_than_in_it)
{
	doc_bullet(&doc, "", "%s", "a|b <c>");
	doc_bullet(&doc, "a*", "a`b``c");
	doc_add(&doc, DOC_BLOCK, "", "%s", "a\nb\n");
	doc_add(&doc, DOC_BLOCK, "", "%s", "```\n````x");
	doc_paragraph(&doc, "held ");
	doc_code(&doc, "p99<1ms", ": 5*");
	doc_rig_expect(&doc, DOC_MARKDOWN,
		"- `a|b <c>`\n"
		"- ``` a`b``c ```: a\\*\n"
		"```\na\nb\n```\n"
		"`````\n```\n````x\n`````\n"
		"held `p99<1ms`: 5\\*\n");
}

TEST(line_is_printable_in_text_and_escaped_in_markdown)
{
	for (uint32_t rendering = DOC_TEXT; rendering <= DOC_MARKDOWN; rendering++) {
		doc_line(&doc, "Engine", "%s", "/x\033[2J/\177caf\303\251\302\233.so\n");
		doc_line(&doc, "Ops/s", "1");
		doc_of(&doc, "a|b");
		doc_rig_expect(&doc, rendering,
			rendering == DOC_TEXT
				? "Engine            : /x?[2J/?caf\303\251??.so?\n"
				  "Ops/s             : 1\n"
				: "- **Engine**: /x \\[2J/\177caf\303\251\302\233.so \n"
				  "- **Ops/s** of a\\|b: 1\n");
	}
}

TEST(consecutive_items_form_one_line)
{
	doc_list(&doc, "Phases", "a %d", 1);
	doc_list(&doc, "Phases", "b");
	doc_more(&doc, " %d", 2);
	doc_list(&doc, "Disk", "c");
	doc_show(&doc, DOC_TEXT);
	doc_list(&doc, "Disk", "d");
	doc_rig_expect(&doc, DOC_TEXT,
		"Phases            : a 1, b 2\nDisk              : c\nDisk              : d\n");
}

TEST(item_may_belong_to_one_rendering_only)
{
	for (uint32_t rendering = DOC_TEXT; rendering <= DOC_MARKDOWN; rendering++) {
		doc_show(&doc, DOC_TEXT);
		doc_paragraph(&doc, "text");
		doc_show(&doc, DOC_MARKDOWN);
		doc_paragraph(&doc, "markdown");
		doc_show(&doc, 0);
		doc_paragraph(&doc, "both");
		doc_rig_expect(&doc, rendering,
			rendering == DOC_TEXT ? "text\nboth\n" : "markdown\nboth\n");
	}
}

TEST(words_are_wrapped_at_80_columns_in_text)
{
	for (uint32_t rendering = DOC_TEXT; rendering <= DOC_MARKDOWN; rendering++) {
		char word[79] = "";
		memset(word, 'x', 78);
		doc_wrapped(&doc, "- ", "a  %s %s c", word, word);
		char *text = doc_rig_written(&doc, rendering);
		ck_assert_uint_eq(strlen(text), rendering == DOC_TEXT ? 166 : 164);
		ck_assert_int_eq(text[80], rendering == DOC_TEXT ? '\n' : 'x');
		ck_assert(strstr(text, "  ") == (rendering == DOC_TEXT ? text + 81 : NULL));
		free(text);
	}
}

TEST(any_number_of_cells_and_items_is_kept)
{
	doc_add_table(&doc, columns, 3, 0, 0);
	for (int i = 0; i < 3000; i++)
		doc_cell(&doc, "%d", i);
	for (int i = 0; i < 1000; i++)
		doc_paragraph(&doc, "%d", i);
	ck_assert_uint_eq(doc.items[0].cells, 3003);
	ck_assert_str_eq(doc.items[3003].text, "2999");
	ck_assert_uint_eq(doc.count, 4004);
	ck_assert_str_eq(doc.items[4003].text, "999");
	doc_destroy(&doc);
	ck_assert_uint_eq(doc.count, 0);
}

TEST(a_full_disk_and_an_earlier_failure_are_reported)
{
	FILE *full = fopen("/dev/full", "w");
	ck_assert_ptr_nonnull(full);
	doc_paragraph(&doc, "x");
	ck_assert_int_eq(
		doc_finish(&doc, NB_OK, DOC_TEXT, full, "cannot write a table"), NB_FAIL);
	ck_assert_str_eq(nb_error_text(), "cannot write a table: No space left on device");
	fclose(full);
	doc_paragraph(&doc, "x");
	ck_assert_int_eq(
		doc_finish(&doc, NB_ERR_DATA, DOC_TEXT, stdout, "cannot write a table"),
		NB_ERR_DATA);
}
