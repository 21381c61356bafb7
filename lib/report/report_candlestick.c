/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The threads of results as candlesticks, which show whether all were served equally. A
 * group without figures for each thread is left out.
 */
#include <stdlib.h>

#include "base/error.h"
#include "report/boxplot.h"
#include "report/threads.h"
#include "report/walk.h"

static int
add_kind(struct boxplots *boxplots, uint32_t kind, const char *label,
	const struct record *record, const struct record_group *group)
{
	double *rates = calloc(group->thread_count + 1u, sizeof(*rates));
	if (rates == NULL)
		return error_memory();
	for (uint32_t t = 0; t < group->thread_count; t++) {
		uint64_t counts[BOXPLOTS_KINDS];
		threads_count(record, &group->threads[t], counts);
		rates[t] = result_rate((double)counts[kind], group->threads[t].wall_ns);
	}
	int rc = boxplots_add(boxplots, kind, label, rates, group->thread_count);
	free(rates);
	return rc;
}

static int
add_group(struct boxplots *boxplots, const char *title, const struct record *record,
	const struct record_group *group)
{
	char label[WALK_TITLE + 64];
	int rc = NB_OK;
	uint32_t found = threads_kinds(record, group);
	snprintf(label, sizeof(label), "%s, %s", title, group->name);
	for (uint32_t kind = 0; kind < BOXPLOTS_KINDS && rc == NB_OK; kind++) {
		if ((found & 1u << kind) != 0)
			rc = add_kind(boxplots, kind, label, record, group);
	}
	return rc;
}

int
write_candlestick(const struct nb_results *results, FILE *out, uint32_t flags)
{
	struct record_group groups[NB_GROUPS_MAX];
	struct boxplots boxplots = {.count = {0}};
	int rc = NB_OK;
	(void)flags;
	for (size_t r = 0; r < results->count && rc == NB_OK; r++) {
		char title[WALK_TITLE];
		const struct record *record = &results->records[r];
		size_t count = record_groups(record, groups);
		walk_title(results, r, title);
		for (size_t g = 0; g < count && rc == NB_OK; g++)
			rc = add_group(&boxplots, title, record, &groups[g]);
	}
	if (rc == NB_OK)
		boxplots_write(&boxplots, out);
	boxplots_destroy(&boxplots);
	return rc;
}
