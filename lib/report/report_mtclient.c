/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Results as Masstree's mtclient prints them: the figures of each thread, which is a child
 * there, and the sums, means and deviations over threads. Deviations are those of a sample;
 * with one thread the deviation is "nan".
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "report/tests.h"

/** The values of one figure, one for each thread. */
struct figures {
	double *values; /* borrowed */
	uint32_t count;
};

static void
write_summary(const char *name, const char *suffix, const struct figures *figures, FILE *out)
{
	double total = 0, least = INFINITY, most = -INFINITY, squares = 0;
	for (uint32_t i = 0; i < figures->count; i++) {
		double value = figures->values[i];
		total += value;
		least = fmin(least, value);
		most = fmax(most, value);
	}
	double mean = total / figures->count;
	for (uint32_t i = 0; i < figures->count; i++)
		squares += (figures->values[i] - mean) * (figures->values[i] - mean);
	fprintf(out, "%s%s: n %u, total %.0f, average %.0f, min %.0f, max %.0f, stddev ", name,
		suffix, figures->count, total, mean, least, most);
	if (figures->count > 1)
		fprintf(out, "%.0f\n", sqrt(squares / (figures->count - 1)));
	else
		fputs("nan\n", out);
}

/** Summarize a kind over all threads: its count, or its rate. */
static void
summarise(const struct test_run *test, uint32_t kind, bool is_rate, double *room, FILE *out)
{
	struct figures figures = {room, test->thread_count};
	if (((is_rate ? test->rated : test->kinds) >> kind & 1) == 0)
		return;
	for (uint32_t t = 0; t < test->thread_count; t++) {
		struct test_thread did = tests_thread(test, t);
		room[t] = is_rate ? did.rates[kind] : (double)did.counts[kind];
	}
	write_summary(boxplots_names[kind], is_rate ? "/s" : "", &figures, out);
}

static void
write_child(const struct test_run *test, uint32_t thread, FILE *out)
{
	struct test_thread did = tests_thread(test, thread);
	uint64_t first = did.counts[BOXPLOTS_PUTS] > 0 ? did.counts[BOXPLOTS_PUTS]
						       : did.counts[BOXPLOTS_OPS];
	fprintf(out, "%u total %" PRIu64, thread, first);
	if ((test->rated >> BOXPLOTS_PUTS & 1) != 0)
		fprintf(out, " %.0f put/s", did.rates[BOXPLOTS_PUTS]);
	if ((test->rated >> BOXPLOTS_GETS & 1) != 0)
		fprintf(out, " %.0f get/s", did.rates[BOXPLOTS_GETS]);
	fputc('\n', out);
}

static void
write_object(const struct test_run *test, uint32_t thread, FILE *out)
{
	struct test_thread did = tests_thread(test, thread);
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);
	if (memory == NULL)
		return;
	tests_write_figures(test, &did, memory);
	fclose(memory);
	fprintf(out, "{%s}\n",
		text != NULL && size > 0 ? text + 1 : ""); /* without its leading comma */
	free(text);
}

static int
write_test(const struct test_run *test, FILE *out)
{
	static const uint32_t kinds[] = {BOXPLOTS_PUTS, BOXPLOTS_GETS, BOXPLOTS_SCANS};
	const struct nb_result *run = test->record->run;
	uint32_t depth = run->measured.depth > 0 ? run->measured.depth : 1;
	uint64_t total = 0;
	double *room = calloc(test->thread_count + 1u, sizeof(*room));
	if (room == NULL)
		return error_memory();
	fprintf(out, "tcp, w %u, test %s, children %u\n", depth, test->name,
		test->thread_count);
	for (uint32_t t = 0; t < test->thread_count && test->has_two_phases; t++)
		fprintf(out, "%u now getting\n", t);
	for (uint32_t t = 0; t < test->thread_count; t++)
		write_child(test, t, out);
	for (uint32_t t = 0; t < test->thread_count; t++) {
		total += tests_thread(test, t).counts[BOXPLOTS_OPS];
		write_object(test, t, out);
	}
	fprintf(out, "total %" PRIu64 "\n", total);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
		summarise(test, kinds[k], false, room, out);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
		summarise(test, kinds[k], true, room, out);
	free(room);
	return NB_OK;
}

int
write_mtclient(const struct nb_results *results, FILE *out, uint32_t flags)
{
	int rc = NB_OK;
	(void)flags;
	for (size_t r = 0; r < results->count && rc == NB_OK; r++) {
		struct test_run tests[NB_GROUPS_MAX];
		size_t count = tests_of(&results->records[r], tests);
		for (size_t i = 0; i < count && rc == NB_OK; i++)
			rc = write_test(&tests[i], out);
	}
	return rc;
}
