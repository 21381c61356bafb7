/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/table.h"

#include <stdlib.h>

#include "unit.h"

static const struct table_column columns[] = {{"name", false}, {"size", true}, {"help", false}};

static void
add(struct table *table, const char *a, const char *b, const char *c)
{
	ck_assert_int_eq(table_add(table, (const char *const[]){a, b, c}), NB_OK);
}

static void
assert_text(struct table *table, const char *expected)
{
	char *text;
	ck_assert_int_eq(table_text(table, &text), NB_OK);
	ck_assert_str_eq(text, expected);
	free(text);
	table_destroy(table);
}

START_TEST(columns_are_as_wide_as_what_they_hold)
{
	struct table table;
	table_create(&table, columns, 3);
	add(&table, "leveldb", "4", "an LSM tree");
	add(&table, "db", "123456", "x");
	assert_text(&table,
		"name       size  help\n"
		"leveldb       4  an LSM tree\n"
		"db       123456  x\n");
}
END_TEST

START_TEST(without_rows_there_are_titles)
{
	struct table table;
	table_create(&table, columns, 3);
	assert_text(&table, "name  size  help\n");
}
END_TEST

START_TEST(a_last_column_to_the_right_is_aligned)
{
	struct table table;
	table_create(&table, columns, 2);
	ck_assert_int_eq(table_add(&table, (const char *const[]){"a", "12345"}), NB_OK);
	ck_assert_int_eq(table_add(&table, (const char *const[]){"abcdef", "7"}), NB_OK);
	assert_text(&table,
		"name     size\n"
		"a       12345\n"
		"abcdef      7\n");
}
END_TEST

START_TEST(null_is_an_empty_cell)
{
	struct table table;
	table_create(&table, columns, 3);
	add(&table, NULL, NULL, "h");
	assert_text(&table,
		"name  size  help\n"
		"            h\n");
}
END_TEST

START_TEST(characters_count_and_not_their_bytes)
{
	struct table table;
	table_create(&table, columns, 3);
	add(&table, "\xc2\xb5\xc2\xb5\xc2\xb5\xc2\xb5\xc2\xb5", "1", "five micro signs");
	add(&table, "abcde", "2", "five letters");
	assert_text(&table,
		"name   size  help\n"
		"\xc2\xb5\xc2\xb5\xc2\xb5\xc2\xb5\xc2\xb5     1  five micro signs\n"
		"abcde     2  five letters\n");
}
END_TEST

START_TEST(rows_are_copied_and_any_number_of_them)
{
	struct table table;
	table_create(&table, columns, 3);
	for (int i = 0; i < 1000; i++) {
		char cell[8];
		snprintf(cell, sizeof(cell), "%d", i);
		add(&table, cell, cell, cell);
	}
	ck_assert_uint_eq(table.cell_count, 3000);
	ck_assert_str_eq(table.cells[0], "0");
	ck_assert_str_eq(table.cells[2999], "999");
	table_destroy(&table);
	ck_assert_uint_eq(table.cell_count, 0);
}
END_TEST

START_TEST(a_full_disk_is_noticed)
{
	FILE *full = fopen("/dev/full", "w");
	ck_assert_ptr_nonnull(full);
	struct table table;
	table_create(&table, columns, 3);
	ck_assert_int_eq(table_write(&table, full), NB_FAIL);
	ck_assert_str_eq(nb_error_text(), "cannot write a table: No space left on device");
	table_destroy(&table);
	fclose(full);
}
END_TEST

int
main(void)
{
	return UNIT_RUN("table", columns_are_as_wide_as_what_they_hold,
		without_rows_there_are_titles, a_last_column_to_the_right_is_aligned,
		null_is_an_empty_cell, characters_count_and_not_their_bytes,
		rows_are_copied_and_any_number_of_them, a_full_disk_is_noticed);
}
