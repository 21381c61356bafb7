/* SPDX-License-Identifier: BSD-2-Clause */
/* The set of CSV files. tests/golden pins their content. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record_rig.h"
#include "unit.h"

static char dir[64];

static const char *
path_of(const char *name)
{
	static char path[128];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void
begin(void)
{
	snprintf(dir, sizeof(dir), "/tmp/test_report_csv.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void
end(void)
{
	static const char *const names[] = {
		"a-operations.csv", "a-series.csv", "a-latency.csv", "a-counters.csv"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		remove(path_of(names[i]));
	ck_assert_int_eq(rmdir(dir), 0);
}

TEST(all_files_or_none_are_written)
{
	struct stat status;
	struct nb_results *results = record_rig_new();
	record_rig_add_put(results, "lmdb", 1);
	begin();
	ck_assert_int_eq(mkdir(path_of("a-counters.csv"), 0700), 0);
	ck_assert_int_eq(nb_results_write_csv_files(results, path_of("a")), NB_FAIL);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "a-counters.csv"));
	ck_assert_int_ne(stat(path_of("a-operations.csv"), &status), 0);
	ck_assert_int_eq(nb_results_write_csv_files(results, "/nowhere/a"), NB_FAIL);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "/nowhere/a-operations.csv"));
	end();
	nb_results_delete(results);
}

TEST(files_of_vs_have_a_row_for_each_operation_of_each_run)
{
	char line[64];
	struct nb_results *results = record_rig_new();
	record_rig_add_versus(results);
	begin();
	ck_assert_int_eq(nb_results_write_csv_files(results, path_of("a")), NB_OK);
	FILE *in = fopen(path_of("a-operations.csv"), "r");
	ck_assert_ptr_nonnull(in);
	while (fgetc(in) != '\n')
		;
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), in));
	ck_assert_int_eq(strncmp(line, "0,lmdb put #1,", 14), 0);
	fclose(in);
	end();
	nb_results_delete(results);
}

TEST(the_time_of_batches_has_a_column_where_there_are_any)
{
	struct nb_results *results = record_rig_new();
	record_rig_add_put(results, "lmdb", 1);
	record_rig_add_job(results, "leveldb", 1);
	char *text = record_rig_written(results, "csv", 0);
	ck_assert_ptr_null(strstr(text, "batch_p50_ns"));
	free(text);
	struct nb_histogram *batch;
	ck_assert_int_eq(nb_histogram_new(&batch), NB_OK);
	for (uint64_t i = 0; i < 100; i++)
		nb_histogram_add(batch, 1234);
	results->records[0].run->measured.batch = batch;
	text = record_rig_written(results, "csv", 0);
	ck_assert_ptr_nonnull(strstr(text, ",batch_p50_ns\n"));
	ck_assert_ptr_nonnull(strstr(text, ",1234\n"));
	free(text);
	nb_results_delete(results);
}
