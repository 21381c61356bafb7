/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The formats of results, one row each. Files are written to a temporary file first, so
 * that a result that does not fit on its disk leaves the old file unchanged.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "report/record.h"

const struct writer writers[] = {
	{"text", ".txt", "the report printed after a run", write_text},
	{"json", ".json", "all of it, to be read again: report, compare, rerun, merge",
		write_json},
	{"md", ".md", "a page in GitHub's Markdown", write_markdown},
	{"csv", ".csv", "a table for programs, one row for each kind of operation", write_csv},
	{"hgrm", ".hgrm", "percentile distributions, as HdrHistogram's plotter reads them",
		write_hgrm},
	{"hlog", ".hlog", "histograms over time, as HdrHistogram's tools read them",
		write_hlog},
	{"gnuplot", ".gp", "a gnuplot script of throughput, percentiles and latency",
		write_gnuplot},
	{"candlestick", ".gp", "a gnuplot script of the threads' throughput",
		write_candlestick},
	{"sofaster", ".txt", "the lines of SoFASTER's YCSB client", write_sofaster},
	{"taobench", ".txt", "the closing block of TAOBench", write_taobench},
	{"mttest", ".txt", "the output of Masstree's mttest, with its plot", write_mttest},
	{"mtclient", ".txt", "the output of Masstree's mtclient", write_mtclient},
	{"html", ".html", "a page with charts, which needs no network", write_html},
	{NULL, NULL, NULL, NULL},
};

enum { WRITERS = sizeof(writers) / sizeof(*writers) };

const struct nb_format *
nb_formats(void)
{
	static struct nb_format formats[WRITERS];
	for (size_t i = 0; i < WRITERS; i++)
		formats[i] = (struct nb_format){
			writers[i].name, writers[i].suffix, writers[i].help};
	return formats;
}

static const struct writer *
find(const char *format)
{
	for (const struct writer *writer = writers; writer->name != NULL; writer++) {
		if (strcmp(writer->name, format) == 0)
			return writer;
	}
	error_set(NB_ERR_USAGE, "'%s' is not a format of results", format);
	return NULL;
}

int
nb_results_write(
	const struct nb_results *results, const char *format, FILE *out, uint32_t flags)
{
	const struct writer *writer = find(format);
	if (writer == NULL)
		return NB_ERR_USAGE;
	locale_t before = c_locale_enter();
	int rc = writer->write(results, out, flags);
	c_locale_leave(before);
	if (rc == NB_OK && (fflush(out) != 0 || ferror(out)))
		rc = error_system("the result cannot be written");
	return rc;
}

/** Render the whole result in memory first: some MiB at most. */
static int
write_aside(
	const struct nb_results *results, const char *format, const char *path, uint32_t flags)
{
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);
	if (memory == NULL)
		return error_memory();
	int rc = nb_results_write(results, format, memory, flags);
	if (fclose(memory) != 0 && rc == NB_OK)
		rc = error_memory();
	if (rc == NB_OK)
		rc = nb_file_write(path, text, size);
	free(text);
	return rc;
}

int
nb_results_write_file(
	const struct nb_results *results, const char *format, const char *path, uint32_t flags)
{
	return strcmp(path, "-") == 0 ? nb_results_write(results, format, nb_stdout(), flags)
				      : write_aside(results, format, path, flags);
}
