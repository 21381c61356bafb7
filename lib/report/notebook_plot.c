/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Draws a notebook as candlesticks: the threads' rates of each run, with runs of the same
 * test and engine side by side, ordered by experiment and trial. Figures that are missing
 * or not numbers are left out, because notebooks of other programs have other figures.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "report/boxplot.h"
#include "report/notebook.h"

/** A run, parsed from its name "x12/rw1/mb/3". */
struct run {
	const char *name;   /* borrowed from the notebook */
	const char *test;   /* "rw1/mb/3" */
	size_t test_length; /* of "rw1/mb" */
	unsigned long experiment, trial;
	const json_t *threads;
};

static struct run
parse_name(const char *name, const json_t *threads)
{
	struct run run = {.name = name, .test = name, .threads = threads};
	const char *slash = strchr(name, '/');
	if (name[0] == 'x' && isdigit((unsigned char)name[1]) && slash != NULL) {
		run.experiment = strtoul(name + 1, NULL, 10);
		run.test = slash + 1;
	}
	run.test_length = strlen(run.test);
	slash = strrchr(run.test, '/');
	if (slash != NULL && isdigit((unsigned char)slash[1])) {
		run.trial = strtoul(slash + 1, NULL, 10);
		run.test_length = (size_t)(slash - run.test);
	}
	return run;
}

static int
by_test(const void *a, const void *b)
{
	const struct run *x = a, *y = b;
	size_t shorter = x->test_length < y->test_length ? x->test_length : y->test_length;
	int order = memcmp(x->test, y->test, shorter);
	if (order == 0)
		order = (x->test_length > y->test_length) - (x->test_length < y->test_length);
	if (order == 0)
		order = (x->experiment > y->experiment) - (x->experiment < y->experiment);
	return order != 0 ? order : (x->trial > y->trial) - (x->trial < y->trial);
}

static int
add_run(struct boxplots *boxplots, const struct run *run, uint32_t kind)
{
	char figure[32];
	size_t count = json_array_size(run->threads), used = 0;
	double *rates = calloc(count + 1, sizeof(*rates));
	if (rates == NULL)
		return error_memory();
	snprintf(figure, sizeof(figure), "%s_per_sec", boxplots_names[kind]);
	for (size_t i = 0; i < count; i++) {
		const json_t *rate = json_object_get(json_array_get(run->threads, i), figure);
		if (json_is_number(rate))
			rates[used++] = json_number_value(rate);
	}
	int rc = boxplots_add(boxplots, kind, run->name, rates, used);
	free(rates);
	return rc;
}

static int
add_runs(struct boxplots *boxplots, const json_t *data)
{
	size_t count = json_object_size(data), used = 0;
	struct run *runs = calloc(count + 1, sizeof(*runs));
	const char *name;
	json_t *threads;
	int rc = NB_OK;
	if (runs == NULL)
		return error_memory();
	json_object_foreach((json_t *)(uintptr_t)data, name, threads)
	{
		runs[used++] = parse_name(name, threads);
	}
	qsort(runs, used, sizeof(*runs), by_test);
	for (size_t i = 0; i < used; i++) {
		for (uint32_t kind = 0; kind < BOXPLOTS_KINDS && rc == NB_OK; kind++)
			rc = add_run(boxplots, &runs[i], kind);
	}
	free(runs);
	return rc;
}

int
nb_notebook_write_plot(const char *path, FILE *out)
{
	struct notebook notebook;
	struct boxplots boxplots = {.count = {0}};
	int rc = notebook_read(&notebook, path, 0);
	if (rc != NB_OK)
		return rc;
	rc = add_runs(&boxplots, json_object_get(notebook.root, "data"));
	if (rc == NB_OK) {
		locale_t before = c_locale_enter();
		boxplots_write(&boxplots, out);
		c_locale_leave(before);
		if (fflush(out) != 0 || ferror(out))
			rc = error_system("the plot cannot be written");
	}
	boxplots_destroy(&boxplots);
	notebook_destroy(&notebook);
	return rc;
}
