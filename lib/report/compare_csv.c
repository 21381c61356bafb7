/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A comparison as a table for programs: a row for each figure of each sample, work by work.
 * Values summarize the runs of the sample, in the unit of the column "unit". The columns
 * after "base" compare the sample with the base, and are empty in the rows of the base
 * itself.
 */
#include "report/compare.h"
#include "report/csv.h"

static const char *const columns[] = {"action", "label", "name", "driver", "figure", "unit",
	"runs", "median", "mad", "lowest", "highest", "base", "ratio", "ratio_low",
	"ratio_high", "confidence", "p", "verdict"};

enum { COLUMNS = sizeof(columns) / sizeof(*columns), PAIR_COLUMNS = 7 };

static void
write_pair(struct csv *csv, const struct compare_work *work, const struct compare_pair *pair)
{
	bool has_interval = pair->verdict > COMPARE_ONE_RUN;
	if (pair->verdict == COMPARE_ABSENT) {
		for (size_t i = 0; i < PAIR_COLUMNS; i++)
			csv_empty(csv);
		return;
	}
	csv_text(csv, work->samples[0].name);
	csv_real(csv, pair->ratio.ratio);
	csv_known(csv, has_interval ? pair->ratio.low : 0);
	csv_known(csv, has_interval ? pair->ratio.high : 0);
	csv_known(csv, has_interval ? pair->ratio.confidence : 0);
	csv_known(csv, has_interval ? pair->test.p : 0);
	csv_text(csv, compare_verdict_name(pair->verdict));
}

static void
write_sample(const struct compare_work *work, const struct compare_metric *metric,
	size_t sample, FILE *out)
{
	struct csv csv = {.out = out};
	const struct compare_values *of = &metric->of[sample];
	if (of->count == 0)
		return;
	csv_text(&csv, work->action);
	csv_text(&csv, work->label);
	csv_text(&csv, work->samples[sample].name);
	csv_text(&csv, work->samples[sample].driver);
	csv_text(&csv, metric->name);
	csv_text(&csv, metric_unit_name(metric->row->unit));
	csv_count(&csv, of->count);
	csv_real(&csv, of->median);
	csv_real(&csv, of->mad);
	csv_real(&csv, of->values[0]);
	csv_real(&csv, of->values[of->count - 1]);
	write_pair(&csv, work, &metric->pairs[sample]);
	csv_end(&csv);
}

int
compare_write_csv(const struct nb_comparison *comparison, FILE *out)
{
	struct csv csv = {.out = out};
	for (size_t i = 0; i < COLUMNS; i++)
		csv_text(&csv, columns[i]);
	csv_end(&csv);
	for (size_t w = 0; w < comparison->work_count; w++) {
		const struct compare_work *work = &comparison->works[w];
		for (size_t m = 0; m < work->metric_count; m++)
			for (size_t s = 0; s < work->sample_count; s++)
				write_sample(work, &work->metrics[m], s, out);
	}
	return NB_OK;
}
