/* SPDX-License-Identifier: BSD-2-Clause */
/* CSV: one table, and four files that belong together. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record_rig.h"
#include "unit.h"

enum { LINES_MAX = 8192, FIELDS_MAX = 256 };

/** A table without quoted fields that hold a comma or a line's end. */
struct table {
	char *text;
	char *lines[LINES_MAX];
	size_t count;
};

static void
split(struct table *table, char *text)
{
	*table = (struct table){.text = text};
	for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
		ck_assert_uint_lt(table->count, LINES_MAX);
		table->lines[table->count++] = line;
	}
}

static char *
field(const struct table *table, size_t line, size_t column)
{
	static char kept[4][256];
	static size_t next;
	const char *at = table->lines[line];
	for (; column > 0; column--) {
		at = strchr(at, ',');
		ck_assert_ptr_nonnull(at);
		at++;
	}
	char *cell = kept[next++ % 4];
	snprintf(cell, sizeof(kept[0]), "%.*s", (int)strcspn(at, ","), at);
	return cell;
}

static size_t
column_of(const struct table *table, const char *name)
{
	size_t columns = 1;
	for (const char *at = table->lines[0]; *at != '\0'; at++)
		columns += *at == ',';
	for (size_t i = 0; i < columns; i++)
		if (strcmp(field(table, 0, i), name) == 0)
			return i;
	ck_abort_msg("no column %s", name);
}

static char *
cell(const struct table *table, size_t line, const char *name)
{
	return field(table, line, column_of(table, name));
}

/** All lines have as many fields as the first. */
static void
assert_even(const struct table *table)
{
	size_t fields[2];
	for (size_t i = 0; i < table->count; i++) {
		size_t *count = &fields[i > 0];
		*count = 1;
		for (const char *at = table->lines[i]; *at != '\0'; at++)
			*count += *at == ',';
		ck_assert_uint_eq(fields[0], *count);
	}
}

TEST(table_has_a_row_for_each_kind_and_series)
{
	struct table table;
	struct nb_results *results = record_rig_new();
	struct record *record = record_rig_add_job(results, "leveldb", 1);
	split(&table, record_rig_written(results, "csv", 0));
	assert_even(&table);
	ck_assert_uint_eq(table.count, 12);
	ck_assert_str_eq(cell(&table, 1, "driver"), "leveldb");
	ck_assert_str_eq(cell(&table, 1, "kind"), "read");
	ck_assert_str_eq(cell(&table, 2, "series"), "response");
	ck_assert_str_eq(cell(&table, 1, "ops"), "50400");
	ck_assert_str_eq(cell(&table, 1, "rate_ops_s"), "1800"); /* in 28 s */
	ck_assert_str_eq(cell(&table, 1, "not_found"), "2");
	ck_assert_str_eq(cell(&table, 3, "records"), "280000");
	ck_assert_str_eq(cell(&table, 7, "kind"), "harness");
	ck_assert_str_eq(cell(&table, 7, "ops"), "");
	ck_assert_str_eq(cell(&table, 11, "kind"), "hiccups");
	ck_assert_str_eq(cell(&table, 1, "stream_digest"), "0123456789abcdef");
	const struct nb_histogram *service =
		record->run->groups[0].measured.kinds[NB_OP_READ].service;
	ck_assert_uint_eq(strtoull(cell(&table, 1, "p99_ns"), NULL, 10),
		nb_histogram_percentile(service, 99));
	ck_assert_double_eq_tol(
		strtod(cell(&table, 1, "mean_ns"), NULL), nb_histogram_mean(service), 1e-6);
	ck_assert_str_eq(cell(&table, 1, "p99.999_ns"), ""); /* needs a million */
	free(table.text);
	nb_results_delete(results);
}

TEST(run_without_a_result_has_one_row)
{
	struct table table;
	struct nb_results *results = record_rig_new();
	ck_assert_int_eq(nb_results_add_failure(results, "lmdb", "killed by signal 9"), NB_OK);
	split(&table, record_rig_written(results, "csv", 0));
	assert_even(&table);
	ck_assert_uint_eq(table.count, 2);
	ck_assert_str_eq(cell(&table, 1, "driver"), "lmdb");
	ck_assert_str_eq(cell(&table, 1, "end"), "killed by signal 9");
	ck_assert_str_eq(cell(&table, 1, "max_ns"), "");
	ck_assert_str_eq(cell(&table, 1, "durability"), "");
	free(table.text);
	nb_results_delete(results);
}

/* ---- files ---- */

static char dir[64];

static void
begin(void)
{
	snprintf(dir, sizeof(dir), "/tmp/test_report_csv.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static const char *
path_of(const char *name)
{
	static char path[128];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void
end(void)
{
	static const char *const names[] = {
		"a-operations.csv", "a-series.csv", "a-latency.csv", "a-counters.csv"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		unlink(path_of(names[i]));
		rmdir(path_of(names[i]));
	}
	ck_assert_int_eq(rmdir(dir), 0);
}

static void
read_table(struct table *table, const char *name)
{
	FILE *in = fopen(path_of(name), "r");
	ck_assert_ptr_nonnull(in);
	char *text = NULL;
	size_t room = 0;
	ck_assert_int_ge(getdelim(&text, &room, '\0', in), 0);
	fclose(in);
	split(table, text);
	assert_even(table);
}

TEST(files_hold_what_happened_over_time)
{
	struct table table;
	struct nb_results *results = record_rig_new();
	record_rig_add_job(results, "leveldb", 1);
	record_rig_add_put(results, "lmdb", 1);
	begin();
	ck_assert_int_eq(nb_results_write_csv_files(results, path_of("a")), NB_OK);

	read_table(&table, "a-series.csv");
	ck_assert_uint_eq(table.count, 1 + 30 + 4);
	ck_assert_str_eq(cell(&table, 1, "is_warmup"), "1");
	ck_assert_str_eq(cell(&table, 1, "read_service_count"), "0");
	ck_assert_str_eq(cell(&table, 13, "end_s"), "13");
	ck_assert_str_eq(cell(&table, 13, "rate_ops_s"), "4000");
	ck_assert_str_eq(cell(&table, 13, "behind_ops"), "3000");
	ck_assert_str_eq(cell(&table, 13, "read_response_count"), "1000");
	ck_assert_str_eq(cell(&table, 13, "device_write_bytes"), "1680000");
	ck_assert_str_eq(cell(&table, 13, "cycles"), ""); /* was not counted */
	ck_assert_str_eq(cell(&table, 13, "database_bytes"), "142606336");
	ck_assert_str_eq(cell(&table, 31, "result"), "1");
	ck_assert_str_eq(cell(&table, 33, "put_service_count"), "2600");
	ck_assert_str_eq(cell(&table, 33, "read_service_count"), "0");
	free(table.text);

	read_table(&table, "a-counters.csv");
	ck_assert_uint_eq(table.count, 1 + 3 * (30 + 4));
	ck_assert_str_eq(cell(&table, 13, "counter"), "compactions");
	ck_assert_str_eq(cell(&table, 13, "value"), "7");
	ck_assert_str_eq(cell(&table, 61, "kind"), "gauge");
	free(table.text);

	read_table(&table, "a-latency.csv");
	ck_assert_str_eq(cell(&table, 1, "kind"), "read");
	ck_assert_str_eq(cell(&table, 2, "percentile"), "10");
	ck_assert_str_eq(cell(&table, table.count - 1, "percentile"), "100");
	ck_assert_str_eq(cell(&table, table.count - 1, "count"), "400"); /* hiccups */
	free(table.text);

	read_table(&table, "a-operations.csv");
	char *alone = record_rig_written(results, "csv", 0);
	ck_assert_uint_eq(table.count, 1 + 11 + 2);
	ck_assert_int_eq(strncmp(alone, table.text, strlen(table.text)), 0);
	free(alone);
	free(table.text);
	end();
	nb_results_delete(results);
}

TEST(all_files_or_none)
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

TEST(counters_that_tell_nothing_are_left_out)
{
	struct table table;
	struct nb_results *results = record_rig_new();
	struct record *record = record_rig_add_put(results, "lmdb", 1);
	struct series *series = &record->run->measured.series;
	for (size_t i = 0; i < series->count; i++)
		series->samples[i].counters[0] = 0;
	series->counters.items[1].has_run_back = true;
	begin();
	ck_assert_int_eq(nb_results_write_csv_files(results, path_of("a")), NB_OK);
	read_table(&table, "a-counters.csv");
	ck_assert_uint_eq(table.count, 1 + 4);
	ck_assert_str_eq(cell(&table, 1, "counter"), "level0_files");
	free(table.text);
	end();
	nb_results_delete(results);
}

TEST(vs_has_a_row_for_each_figure_of_each_contestant_and_its_runs_in_the_files)
{
	struct nb_results *results = record_rig_new();
	record_rig_add_versus(results);
	char *text = record_rig_written(results, "csv", 0);
	ck_assert_int_eq(
		strncmp(text, "action,label,name,driver,figure,unit,runs,median,", 49), 0);
	ck_assert_ptr_nonnull(strstr(text, "\nput,,leveldb,leveldb,throughput,ops/s,4,25625"));
	ck_assert_ptr_nonnull(strstr(text, "\nput,,lmdb,lmdb,throughput,ops/s,4,51250"));
	static const char base[] = ",leveldb,";
	const char *pair = strstr(strstr(text, "\nput,,lmdb,lmdb,throughput,"), base);
	ck_assert_ptr_nonnull(pair);
	ck_assert_double_eq_tol(strtod(pair + strlen(base), NULL), 2, 0.0001);
	ck_assert_ptr_nonnull(strstr(pair, ",better\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nrun,,lmdb,lmdb,throughput,"));
	free(text);
	struct table table;
	begin();
	ck_assert_int_eq(nb_results_write_csv_files(results, path_of("a")), NB_OK);
	read_table(&table, "a-operations.csv");
	ck_assert_str_eq(cell(&table, 1, "title"), "lmdb put #1");
	free(table.text);
	end();
	nb_results_delete(results);
}
