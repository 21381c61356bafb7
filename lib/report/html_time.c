/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Throughput over time, and its stalls.
 *
 * Taken from the pulses, which are short enough to see a stall of 20 ms; where there are
 * more of them than points, the line is their mean and the band around it reaches from the
 * lowest to the highest of them, so that no stall is averaged away. The last pulse of a phase
 * is cut off by its end and left out. Without pulses the samples serve, or the intervals
 * that were printed.
 */
#include <math.h>

#include "base/units.h"
#include "report/html.h"
#include "report/html_text.h"

struct curve {
	double *x, *mean, *low, *high;
	size_t count;
	bool has_spread; /* a point is of more than one pulse */
};

static bool
make_room(struct page *page, struct curve *curve, size_t points)
{
	*curve = (struct curve){.x = page_numbers(page, points),
		.mean = page_numbers(page, points),
		.low = page_numbers(page, points),
		.high = page_numbers(page, points)};
	return curve->x != NULL && curve->mean != NULL && curve->low != NULL &&
		curve->high != NULL;
}

static void
add_point(struct curve *curve, double x, double mean, double low, double high)
{
	curve->x[curve->count] = x;
	curve->mean[curve->count] = mean;
	curve->low[curve->count] = low;
	curve->high[curve->count++] = high;
}

/** One point of pulses [first, behind). */
static void
add_pulses(struct curve *curve, const struct pulses *pulses, size_t first, size_t behind)
{
	double begin_s = (double)pulses->begin_ns / 1e9,
	       pulse_s = (double)pulses->pulse_ns / 1e9;
	double sum = 0, low = INFINITY, high = 0, count = (double)(behind - first);
	for (size_t i = first; i < behind; i++) {
		double rate = pulses->ops[i] / pulse_s;
		sum += rate;
		low = fmin(low, rate);
		high = fmax(high, rate);
	}
	add_point(
		curve, begin_s + ((double)first + count / 2) * pulse_s, sum / count, low, high);
}

static bool
from_pulses(struct page *page, const struct series *series, struct curve *curve)
{
	size_t total = 0;
	for (size_t i = 0; i < series->pulses_count; i++)
		total += series->pulses[i].count;
	size_t every = (total + page->wide_points - 1) / page->wide_points;
	if (total == 0 || !make_room(page, curve, total + series->pulses_count))
		return false;
	for (size_t i = 0; i < series->pulses_count; i++) {
		const struct pulses *pulses = &series->pulses[i];
		size_t used = pulses->count > 2 ? pulses->count - 1 : pulses->count;
		if (i > 0)
			add_point(curve, (double)pulses->begin_ns / 1e9, NAN, NAN, NAN);
		for (size_t first = 0; first < used; first += every)
			add_pulses(curve, pulses, first,
				first + every < used ? first + every : used);
	}
	curve->has_spread = every > 1;
	return true;
}

static bool
from_samples(struct page *page, const struct series *series, struct curve *curve)
{
	struct spans spans = page_spans(page, series, page->wide_points);
	if (spans.count == 0 || !make_room(page, curve, spans.count))
		return false;
	for (size_t i = 0; i < spans.count; i++) {
		const struct span *span = &spans.items[i];
		double low = INFINITY, high = 0, mean = (double)span->ops / span_s(span);
		for (size_t s = 0; s < span->count; s++) {
			double rate = result_rate(
				(double)span->samples[s].ops, span->samples[s].duration_ns);
			low = fmin(low, rate);
			high = fmax(high, rate);
		}
		curve->has_spread |= span->count > 1;
		add_point(curve, (span->begin_s + span->end_s) / 2,
			span->count > 0 ? mean : NAN, span->count > 0 ? low : NAN,
			span->count > 0 ? high : NAN);
	}
	return true;
}

static bool
from_intervals(struct page *page, const struct record *record, struct curve *curve)
{
	if (record->interval_count == 0 || !make_room(page, curve, record->interval_count))
		return false;
	for (size_t i = 0; i < record->interval_count; i++) {
		const struct nb_interval *it = &record->intervals[i];
		double rate = it->rate_ops_s;
		add_point(curve, ((double)it->end_ns - (double)it->duration_ns / 2) / 1e9, rate,
			rate, rate);
	}
	return true;
}

static void
add_stalls(struct chart *chart, const struct stalls *stalls)
{
	for (size_t i = 0; i < stalls->count && chart->band_count < CHART_BANDS; i++) {
		const struct stall *stall = &stalls->worst[i];
		chart->bands[chart->band_count++] = (struct chart_band){
			.from = (double)stall->begin_ns / 1e9,
			.to = (double)(stall->begin_ns + stall->duration_ns) / 1e9,
			.name = stall->cause[0] != '\0' ? stall->cause : "stall",
			.kind = CHART_STALL};
	}
}

static void
write_sentence(const struct stalls *stalls, FILE *out)
{
	char slow[UNITS_SIZE], looked[UNITS_SIZE], gap[UNITS_SIZE], rate[UNITS_SIZE];
	if (stalls->looked_ns == 0)
		return;
	units_format_ns(slow, sizeof(slow), (double)stalls->slow_ns);
	units_format_ns(looked, sizeof(looked), (double)stalls->looked_ns);
	units_format_ns(gap, sizeof(gap), (double)stalls->longest_gap_ns);
	units_format_count(rate, sizeof(rate), stalls->median_ops_s);
	fputs("<p>", out);
	if (stalls->count == 0)
		html_say(out,
			"No stall was found in %s. A stall is a gap that chance does not "
			"explain, or 100ms or more below half of the median, which is %s "
			"ops/s.",
			looked, rate);
	else
		html_say(out, "%s of %s (%.1f %%) were below half of the median of %s ops/s.",
			slow, looked, 100 * (double)stalls->slow_ns / (double)stalls->looked_ns,
			rate);
	if (stalls->longest_gap_ns > 0)
		html_say(out,
			" The longest time in which no operation ended was %s, at %.2f s.", gap,
			(double)stalls->longest_gap_at_ns / 1e9);
	fputs("</p>\n", out);
}

static void
write_stalls(const struct stalls *stalls, FILE *out)
{
	static const struct html_column columns[] = {{"at", false}, {"for", true},
		{"ops/s meanwhile", true}, {"what the engine counted", false}};
	write_sentence(stalls, out);
	if (stalls->count == 0)
		return;
	html_table_begin(out, "The longest stalls, in order of time", columns, 4);
	for (size_t i = 0; i < stalls->count; i++) {
		const struct stall *stall = &stalls->worst[i];
		char at[32], text[UNITS_SIZE];
		snprintf(at, sizeof(at), "%.2f\xC2\xA0s", (double)stall->begin_ns / 1e9);
		html_row_begin(out, at);
		units_format_ns(text, sizeof(text), (double)stall->duration_ns);
		html_cell(out, true, text);
		units_format_count(text, sizeof(text), stall->rate_ops_s);
		html_cell(out, true, text);
		html_cell(out, false, stall->cause[0] != '\0' ? stall->cause : "nothing known");
		html_row_end(out);
	}
	html_table_end(out);
}

void
page_throughput(struct page *page, const struct record *record, const char *sync)
{
	const struct series *series = &record->run->measured.series;
	struct stalls stalls;
	struct curve curve;
	stalls_find(record, &stalls);
	fputs("<h3>Throughput over time</h3>\n", page->out);
	if (!from_pulses(page, series, &curve) && !from_samples(page, series, &curve) &&
		!from_intervals(page, record, &curve)) {
		fputs("<p>What happened over time was not kept.</p>\n", page->out);
		return;
	}
	struct chart chart = {.title = "Operations per second",
		.what = "Operations that ended per second, over the time of the run. Stalls "
			"and "
			"the warm-up are shaded.",
		.y_name = "operations/s",
		.y_unit = SVG_COUNT,
		.x = curve.x,
		.count = curve.count,
		.low = curve.has_spread ? curve.low : NULL,
		.high = curve.has_spread ? curve.high : NULL};
	chart_set_time(&chart, series, sync);
	add_stalls(&chart, &stalls);
	chart_add_line(&chart, "operations/s", curve.mean, false);
	page_chart(page, &chart);
	write_stalls(&stalls, page->out);
}
