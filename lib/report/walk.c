/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Visits all histograms of results: for each record its groups; for each group its kinds of
 * operations with service and response, then all kinds together, then the lateness of the
 * harness; at the end of a record the hiccups of the machine.
 */
#include "report/walk.h"

#include <stdio.h>
#include <string.h>

void
walk_title(const struct nb_results *results, size_t index, char title[WALK_TITLE])
{
	size_t before = 0, same = 0;
	record_title(&results->records[index], title, WALK_TITLE);
	for (size_t i = 0; i < results->count; i++) {
		char other[WALK_TITLE];
		record_title(&results->records[i], other, sizeof(other));
		if (strcmp(title, other) != 0)
			continue;
		same++;
		before += i < index;
	}
	size_t used = strlen(title);
	if (same > 1)
		snprintf(title + used, WALK_TITLE - used, " #%zu", before + 1);
}

const char *
walk_sample_kind(const struct record *record, uint32_t kind)
{
	return record_job(record) != NULL ? result_kind_name(record->run, kind)
					  : record_action(record);
}

/**
 * Visit a histogram. Skips an empty one, unless operations were executed of which none was
 * timed.
 */
static int
visit_row(walk_fn visit, void *to, struct walk_row row, const char *series,
	const struct nb_histogram *histogram)
{
	bool may_be_empty = row.ops > 0 && strcmp(series, "service") == 0;
	if (histogram == NULL || (nb_histogram_count(histogram) == 0 && !may_be_empty))
		return NB_OK;
	row.series = series;
	row.histogram = histogram;
	return visit(to, &row);
}

static int
visit_kind(walk_fn visit, void *to, struct walk_row row, const struct record_kind *kind)
{
	row.what = WALK_KIND;
	row.kind = kind->name;
	row.ops = kind->ops;
	row.records = kind->records;
	row.bytes = kind->bytes;
	memcpy(row.answers, kind->answers, sizeof(row.answers));
	int rc = visit_row(visit, to, row, "service", kind->service);
	return rc == NB_OK ? visit_row(visit, to, row, "response", kind->response) : rc;
}

/** Visit the kinds of row.group together, merged into the caller's histograms. */
static int
visit_merged(walk_fn visit, void *to, struct walk_row row, struct nb_histogram *service,
	struct nb_histogram *response)
{
	const struct record_group *group = row.group;
	row.what = WALK_ALL;
	row.kind = "all";
	for (size_t k = 0; k < group->kind_count; k++) {
		const struct record_kind *kind = &group->kinds[k];
		row.ops += kind->ops;
		row.records += kind->records;
		row.bytes += kind->bytes;
		for (size_t i = 0; i < WORKER_ANSWERS; i++)
			row.answers[i] += kind->answers[i];
		nb_histogram_merge(service, kind->service);
		if (kind->response != NULL)
			nb_histogram_merge(response, kind->response);
	}
	int rc = visit_row(visit, to, row, "service", service);
	return rc == NB_OK ? visit_row(visit, to, row, "response", response) : rc;
}

static int
visit_all(walk_fn visit, void *to, const struct walk_row *row)
{
	struct nb_histogram *service, *response;
	if (row->group->kind_count < 2)
		return NB_OK;
	int rc = nb_histogram_new(&service);
	if (rc != NB_OK)
		return rc;
	rc = nb_histogram_new(&response);
	if (rc == NB_OK) {
		rc = visit_merged(visit, to, *row, service, response);
		nb_histogram_delete(response);
	}
	nb_histogram_delete(service);
	return rc;
}

static int
visit_group(walk_fn visit, void *to, struct walk_row row, const struct record_group *group)
{
	int rc = NB_OK;
	row.group = group;
	for (size_t k = 0; k < group->kind_count && rc == NB_OK; k++)
		rc = visit_kind(visit, to, row, &group->kinds[k]);
	if (rc == NB_OK)
		rc = visit_all(visit, to, &row);
	if (rc != NB_OK || group->job == NULL)
		return rc;
	row.what = WALK_HARNESS;
	row.kind = "harness";
	return visit_row(visit, to, row, "lateness", group->job->measured.lateness);
}

int
walk_group(const struct record_group *group, walk_fn visit, void *to)
{
	return visit_group(visit, to, (struct walk_row){0}, group);
}

int
walk_record(const struct nb_results *results, size_t index, walk_fn visit, void *to)
{
	struct record_group groups[NB_GROUPS_MAX];
	char title[WALK_TITLE];
	const struct record *record = &results->records[index];
	struct walk_row row = {.index = index, .record = record, .title = title};
	int rc = NB_OK;
	if (record->run == NULL)
		return NB_OK;
	walk_title(results, index, title);
	size_t count = record_groups(record, groups);
	for (size_t g = 0; g < count && rc == NB_OK; g++)
		rc = visit_group(visit, to, row, &groups[g]);
	if (rc != NB_OK)
		return rc;
	row.what = WALK_HICCUPS;
	row.kind = "hiccups";
	return visit_row(visit, to, row, "lateness", record_hiccups(record));
}

int
walk_results(const struct nb_results *results, walk_fn visit, void *to)
{
	int rc = NB_OK;
	for (size_t i = 0; i < results->count && rc == NB_OK; i++)
		rc = walk_record(results, i, visit, to);
	return rc;
}
