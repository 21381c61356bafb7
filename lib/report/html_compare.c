/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Results side by side, in the order in which they came. What makes a ranking senseless,
 * another durability or other operations, is said above the table and not below it.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "report/html.h"
#include "report/html_bars.h"
#include "report/html_text.h"

enum { DRAWN = 32 }; /* rows of bars; the table has all */

static const char *
first_action(const struct nb_results *results)
{
	for (size_t i = 0; i < results->count; i++)
		if (results->records[i].run != NULL)
			return record_action(&results->records[i]);
	return "";
}

bool
page_shows(const struct page *page, const struct record *record)
{
	const char *action = record->run != NULL ? record_action(record)
						 : first_action(page->results);
	return page->action == NULL || strcmp(action, page->action) == 0;
}

/** A sweep's points are of other rates: that they differ is what was asked for. */
bool
page_differs(const struct page *page, bool is_by_stream)
{
	const struct nb_result *first = NULL;
	for (size_t i = 0; i < page->results->count; i++) {
		const struct record *record = &page->results->records[i];
		const struct nb_result *run = record->run;
		if (run == NULL || record->is_point || !page_shows(page, record))
			continue;
		if (first == NULL)
			first = run;
		if (is_by_stream ? run->digest != first->digest
				 : run->durability != first->durability)
			return true;
	}
	return false;
}

static void
write_warnings(struct page *page)
{
	FILE *out = page->out;
	if (page_differs(page, true))
		fputs("<p class=\"warning\"><strong>These cannot be ranked:</strong> they did "
		      "not do "
		      "the same operations; the digests of their streams differ.</p>\n",
			out);
	if (page_differs(page, false))
		fputs("<p class=\"warning\"><strong>These cannot be ranked:</strong> their "
		      "durability differs, so these are not rates of the same work.</p>\n",
			out);
}

/* ---- the table ---- */

static void
rate_cell(FILE *out, double rate, double highest)
{
	char text[UNITS_SIZE];
	units_format_count(text, sizeof(text), rate);
	fprintf(out, "<td class=\"n bar\"><span style=\"width:%.0f%%\"></span>%s</td>",
		highest > 0 ? 100 * rate / highest : 0, text);
}

/** 0: there was no rate, or the samples are too few. */
static double
response_p99(const struct record *record)
{
	const struct nb_histogram *response = page_has_response(record)
		? record_latency(record, true)
		: NULL;
	return response != NULL && nb_histogram_supports(response, 99, NULL)
		? (double)nb_histogram_percentile(response, 99)
		: 0;
}

static void
write_row(const struct nb_results *results, size_t index, double highest, bool has_response,
	FILE *out)
{
	const struct record *record = &results->records[index];
	struct nb_summary summary;
	char title[128];
	page_title(results, index, title, sizeof(title));
	html_row_begin(out, title);
	if (record->run == NULL) {
		fprintf(out, "<td colspan=\"%d\">no result</td>", has_response ? 13 : 12);
		html_row_end(out);
		return;
	}
	record_summary(record, &summary);
	const char *durability = nb_durability_name(summary.durability);
	html_cell(out, false, summary.version);
	html_cell(out, false, durability);
	rate_cell(out, summary.rate_ops_s, highest);
	html_unit_cell(out, SVG_COUNT, summary.settled_ops_s);
	html_unit_cell(out, SVG_NS, (double)summary.p50_ns);
	html_unit_cell(out, SVG_NS, (double)summary.p99_ns);
	html_unit_cell(out, SVG_NS, (double)summary.p999_ns);
	html_unit_cell(out, SVG_NS, (double)summary.max_ns);
	if (has_response)
		html_unit_cell(out, SVG_NS, response_p99(record));
	html_unit_cell(out, SVG_NS, summary.cpu_ns_op);
	html_unit_cell(out, SVG_BYTES, (double)summary.data_bytes);
	html_unit_cell(out, SVG_BYTES, (double)summary.max_resident_bytes);
	html_cell(out, false,
		summary.end[0] != '\0'       ? summary.end
			: summary.is_partial ? "partial"
					     : "done");
	html_row_end(out);
}

static void
write_table(struct page *page)
{
	static const struct html_column all[] = {{"result", false}, {"version", false},
		{"durability", false}, {"ops/s", true}, {"settled", true}, {"p50", true},
		{"p99", true}, {"p99.9", true}, {"max", true}, {"response p99", true},
		{"CPU/op", true}, {"database", true}, {"memory", true}, {"end", false}};
	enum { COLUMNS = sizeof(all) / sizeof(*all), RESPONSE = 9 };
	const struct nb_results *results = page->results;
	struct html_column columns[COLUMNS];
	bool has_response = false;
	double highest = 0;
	size_t used = 0;
	for (size_t i = 0; i < results->count; i++) {
		struct nb_summary summary;
		nb_results_summarize(results, i, &summary);
		if (!page_shows(page, &results->records[i]))
			continue;
		if (summary.is_measured)
			highest = fmax(highest, summary.rate_ops_s);
		has_response |= page_has_response(&results->records[i]);
	}
	for (size_t i = 0; i < COLUMNS; i++)
		if (i != RESPONSE || has_response)
			columns[used++] = all[i];
	html_table_begin(page->out,
		results_are_versus(results) ? "Of each contestant the run with the median "
					      "throughput; latencies are "
					      "service times"
					    : "All results; latencies are service times",
		columns, used);
	for (size_t i = 0; i < results->count; i++)
		if (page_shows(page, &results->records[i]))
			write_row(results, i, highest, has_response, page->out);
	html_table_end(page->out);
}

/* ---- the charts ---- */

static void
write_bars(struct page *page)
{
	const struct nb_results *results = page->results;
	struct bars_row *rates = page_room(page, DRAWN, sizeof(*rates));
	struct bars_row *times = page_room(page, DRAWN, sizeof(*times));
	size_t count = 0;
	for (size_t i = 0; i < results->count && count < DRAWN && times != NULL; i++) {
		struct nb_summary it;
		nb_results_summarize(results, i, &it);
		if (!it.is_measured || rates == NULL || !page_shows(page, &results->records[i]))
			continue;
		page_title(results, i, rates[count].name, sizeof(rates->name));
		times[count] = rates[count];
		rates[count].values[0] = it.rate_ops_s;
		rates[count].values[1] = it.settled_ops_s;
		times[count].values[0] = (double)it.p50_ns;
		times[count].values[1] = (double)it.p99_ns;
		times[count].values[2] = (double)it.p999_ns;
		times[count++].values[3] = (double)it.max_ns;
	}
	fputs("<div class=\"grid two\">\n", page->out);
	page_bars(page,
		&(struct bars){.title = "Throughput",
			.what = "Operations per second of each result, and with settling.",
			.x_name = "operations/s",
			.unit = SVG_COUNT,
			.names = {"acknowledged", "with settling and closing"},
			.rows = rates,
			.count = count});
	page_bars(page,
		&(struct bars){.title = "Service times",
			.what = "Percentiles of the service times of each result.",
			.x_name = "latency, logarithmic",
			.unit = SVG_NS,
			.is_log = true,
			.names = {"p50", "p99", "p99.9", "max"},
			.rows = times,
			.count = count});
	fputs("</div>\n", page->out);
}

static void
write_phase(struct page *page)
{
	size_t count = 0;
	for (size_t i = 0; i < page->results->count; i++)
		count += page_shows(page, &page->results->records[i]);
	write_warnings(page);
	write_table(page);
	if (count > 1) {
		write_bars(page);
		page_compare_latency(page);
	}
}

/** Whether a result before it is of the same action. */
static bool
was_written(const struct nb_results *results, size_t index)
{
	const char *action = record_action(&results->records[index]);
	for (size_t i = 0; i < index; i++)
		if (strcmp(record_action(&results->records[i]), action) == 0)
			return true;
	return false;
}

void
page_compare(struct page *page)
{
	const struct nb_results *results = page->results;
	if (results->count == 0)
		return;
	fprintf(page->out, "<section id=\"results\"><h2>%s</h2>\n",
		results->count > 1 ? "Results side by side" : "The result");
	for (size_t i = 0; i < results->count; i++) {
		const struct record *record = &results->records[i];
		bool is_titled = record->is_titled_by_action;
		if (record->run == NULL || was_written(results, i))
			continue;
		page->action = record_action(record);
		if (is_titled)
			fprintf(page->out, "<h3>%s</h3>\n", page->action);
		write_phase(page);
	}
	if (page->action == NULL) /* none has a result */
		write_phase(page);
	page->action = NULL;
	fputs("</section>\n", page->out);
}
