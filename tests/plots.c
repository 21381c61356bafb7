/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scripts for test-plots.sh, in the directory given: of results with all that there can be,
 * of results with nothing, and of a notebook.
 */
#include <stdio.h>
#include <string.h>

#include "record_rig.h"
#include "unit.h"

static const char *dir;

static const char *
path_of(const char *name)
{
	static char path[512];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void
write_script(const struct nb_results *results, const char *format, const char *name)
{
	ck_assert_msg(nb_results_write_file(results, format, path_of(name), 0) == NB_OK, "%s",
		nb_error_text());
}

static void
write_notebook(const struct nb_results *results)
{
	ck_assert_int_eq(nb_results_append_notebook(results, path_of("notebook.json")), NB_OK);
	ck_assert_int_eq(nb_results_append_notebook(results, path_of("notebook.json")), NB_OK);
	FILE *out = fopen(path_of("notebook.gp"), "w");
	ck_assert_ptr_nonnull(out);
	ck_assert_int_eq(nb_notebook_write_plot(path_of("notebook.json"), out), NB_OK);
	fclose(out);
}

TEST(scripts_are_written)
{
	struct nb_results *results = record_rig_new();
	record_rig_add_job(results, "leveldb", 1);
	struct record *record = record_rig_add_put(results, "lmdb", 2);
	snprintf(record->label, sizeof(record->label), "50 %% \"a\\b\" 'c' `d` $e @f");
	ck_assert_int_eq(nb_results_add_failure(results, "tdb", "killed"), NB_OK);
	record_rig_add_curve(results);
	write_script(results, "gnuplot", "results.gp");
	write_script(results, "candlestick", "threads.gp");
	write_notebook(results);
	nb_results_delete(results);

	results = record_rig_new();
	ck_assert_int_eq(nb_results_add_failure(results, "tdb", "killed"), NB_OK);
	write_script(results, "gnuplot", "nothing.gp");
	write_script(results, "candlestick", "no-threads.gp");
	nb_results_delete(results);
}

int
main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	dir = argv[1];
	return unit_run();
}
