/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The top of a page: why the numbers may be wrong, and what came out, in words. A note that several
 * results have is told once, with their names, and those of its kind are folded up below it:
 * what thirteen engines have to say would otherwise stand before the first number.
 */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "report/html.h"
#include "report/html_text.h"

enum { NAMED = 3 };

/* ---- in words ---- */

static void
write_times(const struct nb_histogram *histogram, const char *name, FILE *out)
{
	static const double told[] = {50, 99, 99.9};
	const char *before = ": ";
	if (histogram == NULL || nb_histogram_count(histogram) == 0)
		return;
	fprintf(out, "; %s times", name);
	for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++) {
		char text[UNITS_SIZE];
		if (!nb_histogram_supports(histogram, told[i], NULL))
			continue;
		units_format_ns(text, sizeof(text),
			(double)nb_histogram_percentile(histogram, told[i]));
		fprintf(out, "%sp%g <b>%s</b>", before, told[i], text);
		before = ", ";
	}
	if (before[0] == ':')
		fputs(": too few for percentiles", out);
}

static void
write_sentence(const struct record *record, FILE *out)
{
	struct nb_summary summary;
	char ops[UNITS_SIZE], time[UNITS_SIZE], rate[UNITS_SIZE];
	const struct measurement *measured = &record->run->measured;
	record_summary(record, &summary);
	units_format_count(ops, sizeof(ops), (double)summary.ops);
	units_format_ns(time, sizeof(time), (double)measured->wall_ns);
	units_format_count(rate, sizeof(rate), summary.rate_ops_s);
	html_say(out, " %s, %s", summary.version, record_action(record));
	if (record->picked_of > 0)
		html_say(out, ", run %u of %u", record->block, record->picked_of);
	if (record->job != NULL && !record->job->is_replay && record->job->name != NULL)
		html_say(out, " of %s", record->job->name);
	html_say(out, ": %s operations in %s, ", ops, time);
	fprintf(out, "<b>%s ops/s</b>", rate);
	if (summary.settled_ops_s > 0) {
		units_format_count(rate, sizeof(rate), summary.settled_ops_s);
		fprintf(out, " (%s with settling)", rate);
	}
	write_times(record_latency(record, false), "service", out);
	if (page_has_response(record))
		write_times(record_latency(record, true), "response", out);
	fputs(summary.is_partial ? ". <b>Partial</b>: it ended early." : ".", out);
}

static void
write_summary(struct page *page)
{
	FILE *out = page->out;
	fputs("<section id=\"summary\"><h2>In words</h2><ul class=\"words\">\n", out);
	for (size_t i = 0; i < page->results->count; i++) {
		const struct record *record = &page->results->records[i];
		char title[128];
		page_title(page->results, i, title, sizeof(title));
		fprintf(out, "<li><a href=\"#r%zu\">", i);
		html_text(out, title);
		fputs("</a>", out);
		if (record->run != NULL) {
			write_sentence(record, out);
		} else {
			fputs(": no result. ", out);
			html_text(out, record->end);
		}
		fputs("</li>\n", out);
	}
	fputs(page->results->count == 0 ? "<li>There are no results.</li></ul></section>\n"
					: "</ul></section>\n",
		out);
}

/* ---- notes ---- */

/** One of all notes, in the order of results. */
struct note {
	size_t result, index;
	const char *text, *id;
};

/** The one behind `note`; false if there is none. Begin with {0} and find_note(). */
static bool
find_note(const struct nb_results *results, struct note *note)
{
	for (; note->result < results->count; note->result++, note->index = 0) {
		const struct record *record = &results->records[note->result];
		note->text = record_note(record, note->index);
		note->id = record_note_id(record, note->index);
		if (note->text != NULL)
			return true;
	}
	return false;
}

static bool
next_note(const struct nb_results *results, struct note *note)
{
	note->index++;
	return find_note(results, note);
}

/** Notes of one kind are told together, but for those of engines, which are of any kind. */
static bool
is_kin(const struct note *one, const struct note *other)
{
	return strcmp(one->text, other->text) == 0 ||
		(one->id[0] != '\0' && strcmp(one->id, "engine") != 0 &&
			strcmp(one->id, other->id) == 0);
}

/** Whether one before it says the same, or, if `is_by_kind`, much the same. */
static bool
was_told(const struct nb_results *results, const struct note *note, bool is_by_kind)
{
	struct note before = {0};
	for (bool is_one = find_note(results, &before); is_one;
		is_one = next_note(results, &before)) {
		if (before.result == note->result && before.index == note->index)
			return false;
		if (is_by_kind ? is_kin(&before, note) : strcmp(before.text, note->text) == 0)
			return true;
	}
	return false;
}

static bool
has_note(const struct record *record, const char *text)
{
	const char *note;
	for (size_t i = 0; (note = record_note(record, i)) != NULL; i++)
		if (strcmp(note, text) == 0)
			return true;
	return false;
}

/** Who has it, unless there is one result. */
static void
write_owners(const struct nb_results *results, const char *text, FILE *out)
{
	size_t owners = 0, measured = 0, told = 0;
	for (size_t i = 0; i < results->count; i++) {
		measured += results->records[i].run != NULL;
		owners += has_note(&results->records[i], text);
	}
	if (measured < 2)
		return;
	if (owners == measured) {
		fputs("<b>all</b>: ", out);
		return;
	}
	for (size_t i = 0; i < results->count && told < NAMED; i++) {
		char title[128];
		if (!has_note(&results->records[i], text))
			continue;
		page_title(results, i, title, sizeof(title));
		fputs(told++ == 0 ? "<b>" : ", ", out);
		html_text(out, title);
	}
	if (owners > NAMED)
		fprintf(out, " and %zu more", owners - NAMED);
	fputs("</b>: ", out);
}

static void
write_note(const struct nb_results *results, const struct note *note, FILE *out)
{
	fputs("<li>", out);
	write_owners(results, note->text, out);
	html_text(out, note->text);
}

/** Those of the same kind with other numbers in them. */
static void
write_kin(const struct nb_results *results, const struct note *first, FILE *out)
{
	struct note note = *first;
	size_t count = 0;
	while (next_note(results, &note)) {
		if (!is_kin(first, &note) || was_told(results, &note, false))
			continue;
		if (count++ == 0)
			fputs("<details><summary>the same of others</summary><ul>\n", out);
		write_note(results, &note, out);
		fputs("</li>\n", out);
	}
	if (count > 0)
		fputs("</ul></details>", out);
}

static void
write_notes(struct page *page)
{
	const struct nb_results *results = page->all;
	FILE *out = page->out;
	struct note note = {0};
	size_t count = 0;
	bool is_list = results->count > 1;
	fputs("<section id=\"notes\" class=\"notes\"><h2>Why these numbers may be "
	      "wrong</h2>\n<ul>\n",
		out);
	for (bool is_one = find_note(results, &note); is_one;
		is_one = next_note(results, &note)) {
		if (was_told(results, &note, is_list))
			continue;
		count++;
		write_note(results, &note, out);
		if (is_list)
			write_kin(results, &note, out);
		fputs("</li>\n", out);
	}
	fputs(count == 0 ? "<li>No reason was found.</li></ul></section>\n"
			 : "</ul></section>\n",
		out);
}

void
page_head(struct page *page)
{
	write_notes(page);
	write_summary(page);
}
