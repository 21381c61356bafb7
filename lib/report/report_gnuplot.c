/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Results as a gnuplot script that contains the data:
 *
 *     OUTPUT-throughput   operations per second over time, a line for each run
 *     OUTPUT-percentiles  service times, and response times if there was a rate, on the axis
 *                         of HdrHistogram's plots: each nine takes as much room
 *     OUTPUT-over-time-N  for run N the latencies of each kind of operation over time; warm-ups
 *                         have none
 *     OUTPUT-sweep        response times over the achieved throughput, of each sweep
 *
 * A picture without data is left out. Rates and percentiles are drawn at the end of their
 * interval; if there were too few samples, there is a gap.
 */
#include <inttypes.h>

#include "report/curve.h"
#include "report/plot.h"
#include "report/walk.h"

enum { LABEL_SIZE = WALK_TITLE + 64 };

/* ---- throughput ---- */

static void
write_rates(const struct nb_results *results, FILE *out)
{
	for (size_t r = 0; r < results->count; r++) {
		const struct series *series = walk_series(&results->records[r]);
		if (series->count == 0)
			continue;
		fprintf(out, "\n# seconds, operations a second\n$rate%zu << EOD\n", r);
		for (size_t i = 0; i < series->count; i++) {
			const struct sample *sample = &series->samples[i];
			fprintf(out, "%.6f %.3f\n", (double)sample->end_ns / 1e9,
				result_rate((double)sample->ops, sample->duration_ns));
		}
		fputs("EOD\n", out);
	}
}

static void
plot_rates(const struct nb_results *results, FILE *out)
{
	size_t curves = 0;
	for (size_t r = 0; r < results->count; r++) {
		char title[WALK_TITLE];
		if (walk_series(&results->records[r])->count == 0)
			continue;
		if (curves == 0) {
			plot_begin(out, "throughput", "Throughput over time");
			fputs("unset logscale\n"
			      "set xtics auto\n"
			      "set yrange [0:*]\n"
			      "set xlabel \"seconds\"\n"
			      "set ylabel \"operations a second\"\n",
				out);
		}
		walk_title(results, r, title);
		plot_next(out, &curves);
		fprintf(out, "$rate%zu using 1:2 with lines title ", r);
		plot_text(out, title);
	}
	if (curves > 0)
		fputc('\n', out);
}

/* ---- percentiles ---- */

/** 1 / (1 - percentile) over microseconds; 100 % does not fit on that axis. */
static void
write_curve(const struct nb_histogram *histogram, size_t index, const char *series, FILE *out)
{
	struct curve curve;
	struct curve_point point;
	fprintf(out, "\n# 1/(1-percentile), microseconds\n$%s%zu << EOD\n", series, index);
	curve_begin(&curve, histogram);
	while (curve_next(&curve, &point)) {
		if (point.percent < 100)
			fprintf(out, "%.6f %.3f\n", 100 / (100 - point.percent),
				(double)point.value_ns / 1000);
	}
	fputs("EOD\n", out);
}

/** The histogram of a curve; NULL: the record has no such times. */
static const struct nb_histogram *
curve_of(const struct record *record, bool is_response)
{
	if (record->run == NULL || (is_response && !record->run->is_paced))
		return NULL;
	const struct nb_histogram *histogram = record_latency(record, is_response);
	return nb_histogram_count(histogram) > 0 ? histogram : NULL;
}

static const char *const series_names[] = {"service", "response"};

static void
write_curves(const struct nb_results *results, FILE *out)
{
	for (size_t r = 0; r < results->count; r++) {
		for (int s = 0; s < 2; s++) {
			const struct nb_histogram *it = curve_of(&results->records[r], s == 1);
			if (it != NULL)
				write_curve(it, r, series_names[s], out);
		}
	}
}

static void
plot_curve(
	const struct nb_results *results, size_t index, int series, size_t *curves, FILE *out)
{
	char title[WALK_TITLE], label[LABEL_SIZE];
	if (curve_of(&results->records[index], series == 1) == NULL)
		return;
	if (*curves == 0) {
		plot_begin(out, "percentiles", "Latency by percentile");
		fputs("set logscale xy 10\n"
		      "set xrange [1:*]\n"
		      "set yrange [*:*]\n"
		      "set xtics (\"0%%\" 1, \"90%%\" 10, \"99%%\" 100, \"99.9%%\" 1000, \"99.99%%\" 10000, \"99.999%%\" 100000, \"99.9999%%\" 1000000)\n"
		      "set xlabel \"percentile\"\n"
		      "set ylabel \"microseconds\"\n",
			out);
	}
	walk_title(results, index, title);
	snprintf(label, sizeof(label), "%s, %s", title, series_names[series]);
	plot_next(out, curves);
	fprintf(out, "$%s%zu using 1:2 with lines title ", series_names[series], index);
	plot_text(out, label);
}

static void
plot_curves(const struct nb_results *results, FILE *out)
{
	size_t curves = 0;
	for (size_t r = 0; r < results->count; r++) {
		plot_curve(results, r, 0, &curves, out);
		plot_curve(results, r, 1, &curves, out);
	}
	if (curves > 0)
		fputs("\nset xrange [*:*]\n", out);
}

/* ---- latency over time ---- */

/** Write microseconds; "?": too few samples. */
static void
write_us(uint64_t ns, FILE *out)
{
	if (ns > 0)
		fprintf(out, " %.3f", (double)ns / 1000);
	else
		fputs(" ?", out);
}

/** Write a kind over time. False: no sample has that kind. */
static bool
write_kind(const struct series *series, size_t index, uint32_t kind, uint32_t is_response,
	FILE *out)
{
	bool has_begun = false;
	for (size_t i = 0; i < series->count; i++) {
		const struct sample *sample = &series->samples[i];
		for (size_t j = 0; j < sample->latency_count; j++) {
			const struct sample_latency *it = &sample->latencies[j];
			if (it->kind != kind || it->is_response != is_response)
				continue;
			if (!has_begun)
				fprintf(out,
					"\n# seconds, p50, p99, greatest, in microseconds\n$%s%zu_%" PRIu32
					" << EOD\n",
					series_names[is_response], index, kind);
			has_begun = true;
			fprintf(out, "%.6f", (double)sample->end_ns / 1e9);
			write_us(it->p50_ns, out);
			write_us(it->p99_ns, out);
			write_us(it->max_ns, out);
			fputc('\n', out);
		}
	}
	fputs(has_begun ? "EOD\n" : "", out);
	return has_begun;
}

static void
plot_kind(const struct record *record, size_t index, uint32_t kind, uint32_t is_response,
	size_t *curves, FILE *out)
{
	static const char *const names[] = {"p50", "p99", "max"};
	static const char *const styles[] = {"lines", "lines", "points"};
	static const char *const looks[] = {"", " dashtype 2", " pointtype 7 pointsize 0.4"};
	size_t colour = *curves / 3 + 1;
	for (int i = 0; i < 3; i++) {
		char label[LABEL_SIZE];
		snprintf(label, sizeof(label), "%s %s, %s", walk_sample_kind(record, kind),
			series_names[is_response], names[i]);
		plot_next(out, curves);
		fprintf(out, "$%s%zu_%" PRIu32 " using 1:%d with %s linetype %zu%s title ",
			series_names[is_response], index, kind, i + 2, styles[i], colour,
			looks[i]);
		plot_text(out, label);
	}
}

static void
begin_over_time(const struct nb_results *results, size_t index, FILE *out)
{
	char title[WALK_TITLE], label[LABEL_SIZE], name[64];
	walk_title(results, index, title);
	snprintf(label, sizeof(label), "Latency over time: %s", title);
	snprintf(name, sizeof(name), "over-time-%zu", index + 1);
	plot_begin(out, name, label);
	fputs("unset logscale x\n"
	      "set logscale y 10\n"
	      "set xtics auto\n"
	      "set yrange [*:*]\n"
	      "set xlabel \"seconds\"\n"
	      "set ylabel \"microseconds\"\n",
		out);
}

static void
plot_over_time(const struct nb_results *results, size_t index, FILE *out)
{
	const struct record *record = &results->records[index];
	bool has[2 * NB_KINDS_MAX];
	size_t curves = 0;
	for (uint32_t i = 0; i < 2 * NB_KINDS_MAX; i++)
		has[i] = write_kind(walk_series(record), index, i / 2, i % 2, out);
	for (uint32_t i = 0; i < 2 * NB_KINDS_MAX; i++) {
		if (has[i] && curves == 0)
			begin_over_time(results, index, out);
		if (has[i])
			plot_kind(record, index, i / 2, i % 2, &curves, out);
	}
	if (curves > 0)
		fputc('\n', out);
}

/* ---- a sweep ---- */

static void
write_sweep(const struct record_sweep *sweep, size_t index, FILE *out)
{
	fprintf(out,
		"\n# reached, p50, p99, p99.9 of response in microseconds, offered\n"
		"$sweep%zu << EOD\n",
		index);
	for (size_t i = 0; i < sweep->curve_count; i++) {
		const struct nb_curve_point *it = &sweep->curve[i];
		fprintf(out, "%.3f", it->achieved_ops_s);
		write_us(it->response_p50_ns, out);
		write_us(it->response_p99_ns, out);
		write_us(it->response_p999_ns, out);
		fprintf(out, " %.3f\n", it->offered_ops_s);
	}
	fputs("EOD\n", out);
}

/** Add the curves of a sweep. If there are several sweeps, the labels contain the engine. */
static void
plot_sweep(
	const struct nb_results *results, size_t index, bool is_only, size_t *curves, FILE *out)
{
	static const char *const names[] = {"p50", "p99", "p99.9"};
	char title[WALK_TITLE], label[LABEL_SIZE];
	walk_title(results, index, title);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(label, sizeof(label), "%s%s%s", is_only ? "" : title,
			is_only ? "" : ", ", names[i]);
		plot_next(out, curves);
		fprintf(out, "$sweep%zu using 1:%zu with linespoints title ", index, i + 2);
		plot_text(out, label);
	}
}

static void
plot_sweeps(const struct nb_results *results, FILE *out)
{
	size_t curves = 0, sweeps = results_sweeps(results);
	if (sweeps == 0)
		return;
	for (size_t r = 0; r < results->count; r++)
		if (results->records[r].sweep.curve_count > 0)
			write_sweep(&results->records[r].sweep, r, out);
	plot_begin(out, "sweep", "Response time over throughput");
	fputs("unset logscale x\n"
	      "set logscale y 10\n"
	      "set xtics auto\n"
	      "set xrange [0:*]\n"
	      "set yrange [*:*]\n"
	      "set xlabel \"operations a second\"\n"
	      "set ylabel \"microseconds\"\n",
		out);
	for (size_t r = 0; r < results->count; r++)
		if (results->records[r].sweep.curve_count > 0)
			plot_sweep(results, r, sweeps == 1, &curves, out);
	fputc('\n', out);
}

int
write_gnuplot(const struct nb_results *results, FILE *out, uint32_t flags)
{
	(void)flags;
	plot_head(out, "Results");
	fputs("set datafile missing \"?\"\n", out);
	write_rates(results, out);
	plot_rates(results, out);
	write_curves(results, out);
	plot_curves(results, out);
	for (size_t r = 0; r < results->count; r++)
		plot_over_time(results, r, out);
	plot_sweeps(results, out);
	return NB_OK;
}
