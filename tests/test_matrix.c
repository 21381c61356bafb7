/* SPDX-License-Identifier: BSD-2-Clause */
#include <mininb/matrix.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

static int
read_plan(struct nb_matrix **out, const char *text)
{
	FILE *file = fopen("plan.ini", "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
	return nb_matrix_read(out, "plan.ini");
}

static void
assert_refused(const char *text, const char *why)
{
	struct nb_matrix *matrix;
	ck_assert_int_eq(read_plan(&matrix, text), NB_ERR_USAGE);
	ck_assert_str_eq(nb_error_text(), why);
}

TEST(every_combination_is_a_cell_once)
{
	scratch_fresh("every");
	struct nb_matrix *matrix;
	ck_assert_int_eq(
		read_plan(&matrix, "[matrix]\ndriver = a, b\nthreads=1,2 , 4\n"), NB_OK);
	ck_assert_uint_eq(nb_matrix_cells(matrix), 6);
	ck_assert_uint_eq(matrix->repetitions, 1);
	char all[64] = "";
	for (size_t i = 0; i < 6; i++)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s ",
			nb_matrix_value(matrix, i, 0), nb_matrix_value(matrix, i, 1));
	ck_assert_str_eq(all, "a1 a2 a4 b1 b2 b4 ");
	nb_matrix_delete(matrix);
}

TEST(single_values_may_contain_commas_and_options_repeat)
{
	scratch_fresh("single");
	struct nb_matrix *matrix;
	ck_assert_int_eq(read_plan(&matrix,
				 "[options]\ncpus = 0,2\noption = a=1\noption = b=2\n"
				 "[matrix]\nrepetitions = 3\ndriver = a\n"),
		NB_OK);
	ck_assert_uint_eq(matrix->setting_count, 3);
	ck_assert_str_eq(matrix->settings[0].value, "0,2");
	ck_assert_str_eq(matrix->settings[2].value, "b=2");
	ck_assert_uint_eq(matrix->repetitions, 3);
	nb_matrix_delete(matrix);
}

TEST(mistakes_are_refused_with_their_line)
{
	scratch_fresh("mistakes");
	assert_refused("driver = a\n",
		"plan.ini:1: 'driver' is before the first section; begin with [matrix]");
	assert_refused("[cells]\n",
		"plan.ini:1: unknown section [cells]; allowed: [matrix] for lists, [options] for single values");
	assert_refused(
		"[matrix]\ndriver = a,,b\n", "plan.ini:2: 'driver' contains an empty value");
	assert_refused("[matrix]\ndriver = a, b, a\n",
		"plan.ini:2: 'driver' contains the value 'a' twice");
	assert_refused("[matrix]\nthreads = 1\n[options]\nthreads = 2\n",
		"plan.ini:4: 'threads' is already a list of [matrix]");
	assert_refused("[options]\npin = yes\npin = no\n",
		"plan.ini:3: 'pin' is already in [options]");
	assert_refused("[matrix]\nrepetitions = 0\n",
		"plan.ini:2: repetitions: 0; allowed: 1 to 100000");
	assert_refused("[matrix]\nrepetitions = 1\nrepetitions = 2\n",
		"plan.ini:3: 'repetitions' is given twice");
	assert_refused("[options]\npin = yes\n",
		"plan.ini: [matrix] has no list; it needs one, for example driver = leveldb, lmdb");
	assert_refused("[matrix]\nrepetitions = 50001\na = 1, 2\n",
		"plan.ini: more than 100000 cells");
}

/* The test vectors of xxHash contain the hash of the empty string. */
TEST(a_name_is_the_hash_of_the_text)
{
	char name[NB_SETTINGS_NAME], other[NB_SETTINGS_NAME];
	nb_settings_name(name, "");
	ck_assert_str_eq(name, "99aa06d3014798d86001c324468d497f");
	nb_settings_name(other, "\n");
	ck_assert_str_ne(name, other);
}

TEST(settings_list_the_options_of_an_engine_in_full)
{
	char *text;
	ck_assert_int_eq(nb_engine_settings(&text, "memory", NULL, 0), NB_OK);
	ck_assert_ptr_nonnull(strstr(text, "engine memory\nengine-version "));
	free(text);
	ck_assert_int_eq(nb_engine_settings(&text, "memori", NULL, 0), NB_ERR_USAGE);
}
