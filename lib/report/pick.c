/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Picks the run that represents the repetitions of a contestant of vs, for a report with
 * room for one: the run with the median throughput. It is a real run, with its own time
 * series and percentiles. Rejected: merging all repetitions, which hides how much they
 * differ and has no time series. The comparison in the same report uses all repetitions.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/record.h"

static double
rate_of(const struct record *record)
{
	struct nb_summary summary;
	record_summary(record, &summary);
	return summary.rate_ops_s;
}

static bool
is_repetition(const struct record *one, const struct record *other)
{
	return other->run != NULL && one->contestant == other->contestant &&
		strcmp(record_action(one), record_action(other)) == 0 &&
		strcmp(one->label, other->label) == 0;
}

/** Whether half of its repetitions are slower; equal ones before it count as slower. */
static bool
is_median(const struct nb_results *from, size_t index, uint32_t *count)
{
	const struct record *record = &from->records[index];
	double rate = rate_of(record);
	uint32_t slower = 0;
	*count = 0;
	for (size_t i = 0; i < from->count; i++) {
		if (!is_repetition(record, &from->records[i]))
			continue;
		double other = rate_of(&from->records[i]);
		slower += other < rate || (other == rate && i < index);
		++*count;
	}
	return slower == (*count - 1) / 2;
}

/** Position of the first record with that action. */
static size_t
first_of_action(const struct nb_results *results, const struct record *record)
{
	size_t i = 0;
	while (i < results->count &&
		strcmp(record_action(&results->records[i]), record_action(record)) != 0)
		i++;
	return record->run != NULL ? i : results->count;
}

static void
insert(struct nb_results *out, const struct nb_results *from, const struct record *record,
	uint32_t count)
{
	size_t place = out->count++;
	for (; place > 0; place--) {
		const struct record *before = &out->records[place - 1];
		size_t one = first_of_action(from, before),
		       other = first_of_action(from, record);
		if (one < other || (one == other && before->contestant <= record->contestant))
			break;
		out->records[place] = *before;
	}
	out->records[place] = *record;
	out->records[place].picked_of = count;
}

int
results_pick(struct nb_results *out, const struct nb_results *from)
{
	*out = *from;
	out->records = malloc((from->count + 1) * sizeof(*out->records));
	if (out->records == NULL)
		return error_memory();
	out->count = 0;
	bool is_versus = results_are_versus(from);
	for (size_t i = 0; i < from->count; i++) {
		uint32_t count = 0;
		const struct record *record = &from->records[i];
		if (!is_versus)
			out->records[out->count++] = *record;
		else if (record->run == NULL || is_median(from, i, &count))
			insert(out, from, record, count);
	}
	return NB_OK;
}
