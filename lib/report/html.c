/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Results as a page: one file that needs no network and no other file, and that may be opened
 * from a disk, sent by mail or put on a server as it is.
 *
 * Everything is in the page without a script: words, tables, and charts as SVG. A script adds
 * reading of values and zooming to the charts over an axis. Its policy allows nothing from
 * outside, so a text that got into the page by mistake could fetch and send nothing either.
 *
 * Reasons why the numbers may be wrong come before the numbers.
 */
#include "report/html.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "report/html_text.h"

enum {
	WIDE_POINTS = 600, /* as many as a wide chart has pixels, about */
	SMALL_POINTS = 240,
	RESULTS_WHOLE =
		4, /* with more results each has fewer points, so the page stays small */
};

struct page_memory {
	struct page_memory *before;
	_Alignas(16) unsigned char bytes[];
};

void *
page_room(struct page *page, size_t count, size_t size)
{
	size_t most = (SIZE_MAX - sizeof(struct page_memory)) / (size > 0 ? size : 1);
	struct page_memory *memory = count > most ? NULL
						  : calloc(1, sizeof(*memory) + count * size);
	if (memory == NULL) {
		page->is_short = true;
		return NULL;
	}
	memory->before = page->memory;
	page->memory = memory;
	return memory->bytes;
}

double *
page_numbers(struct page *page, size_t count)
{
	return page_room(page, count, sizeof(double));
}

static void
free_memory(struct page_memory *memory)
{
	while (memory != NULL) {
		struct page_memory *before = memory->before;
		free(memory);
		memory = before;
	}
}

bool
page_chart(struct page *page, const struct chart *chart)
{
	if (!chart_has_points(chart))
		return false;
	chart_write(chart, page->charts++, page->out);
	return true;
}

/** Whether another result has another action, as puts and gets of one file have. */
static bool
has_actions(const struct nb_results *results)
{
	const struct record *first = NULL;
	for (size_t i = 0; i < results->count; i++) {
		const struct record *record = &results->records[i];
		if (record->run == NULL)
			continue;
		if (first == NULL)
			first = record;
		else if (strcmp(record_action(record), record_action(first)) != 0)
			return true;
	}
	return false;
}

static const char *
plugin_of(const struct record *record)
{
	return record->run != NULL && record->run->engine_path != NULL
		? record->run->engine_path
		: "";
}

/** Whether a result of an engine of the same name is of another plugin: another build. */
static bool
has_twin(const struct nb_results *results, const struct record *record)
{
	char title[128], other[128];
	record_title(record, title, sizeof(title));
	for (size_t i = 0; i < results->count && plugin_of(record)[0] != '\0'; i++) {
		const char *plugin = plugin_of(&results->records[i]);
		record_title(&results->records[i], other, sizeof(other));
		if (plugin[0] != '\0' && strcmp(title, other) == 0 &&
			strcmp(plugin, plugin_of(record)) != 0)
			return true;
	}
	return false;
}

void
page_title(const struct nb_results *results, size_t index, char *text, size_t size)
{
	const struct record *record = &results->records[index];
	record_title(record, text, size);
	size_t used = strlen(text);
	const char *plugin = plugin_of(record), *slash = strrchr(plugin, '/');
	if (has_twin(results, record)) {
		snprintf(text + used, size - used, " %s", slash != NULL ? slash + 1 : plugin);
		used = strlen(text);
	}
	if (record->block > 0 && record->picked_of == 0 && used < size)
		snprintf(text + used, size - used, " (%u)", record->block);
	else if (record->is_merged > 0 && used < size)
		snprintf(text + used, size - used, " (%u runs merged)", record->is_merged);
}

bool
page_has_response(const struct record *record)
{
	for (size_t g = 0; record->job != NULL && g < record->job->group_count; g++)
		if (record->job->groups[g].is_paced)
			return true;
	return false;
}

/* ---- the frame ---- */

static void
write_file(FILE *out, const char *name)
{
	for (const struct page_file *file = page_files; file->name != NULL; file++)
		if (strcmp(file->name, name) == 0)
			fwrite(file->text, 1, file->size, out);
}

static const char *
engine_of(const struct record *record)
{
	return record->name[0] != '\0' ? record->name
		: record->run != NULL  ? record->run->engine.name
				       : record->driver;
}

static bool
is_named_before(const struct nb_results *results, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (strcmp(engine_of(&results->records[i]),
			    engine_of(&results->records[index])) == 0)
			return true;
	return false;
}

/** Of all results: "run of leveldb, lmdb"; an engine once, however many results it has. */
static void
write_title(const struct nb_results *results, FILE *out)
{
	enum { NAMED = 5 };
	bool is_mixed = has_actions(results);
	size_t engines = 0;
	const char *action = is_mixed ? NULL : results->command.action;
	for (size_t i = 0; action == NULL && !is_mixed && i < results->count; i++)
		if (results->records[i].run != NULL)
			action = record_action(&results->records[i]);
	html_text(out, action != NULL ? action : "results");
	for (size_t i = 0; i < results->count; i++) {
		if (is_named_before(results, i) || engines++ >= NAMED)
			continue;
		fputs(engines == 1 ? " of " : ", ", out);
		html_text(out, engine_of(&results->records[i]));
	}
	if (engines > NAMED)
		html_say(out, " and %zu more", engines - NAMED);
}

static void
write_begin(struct page *page)
{
	FILE *out = page->out;
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
	      "base-uri 'none'; form-action 'none'\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n"
	      "<meta name=\"generator\" content=\"mininb\">\n<title>",
		out);
	write_title(page->results, out);
	fputs(" - mininb</title>\n<style>\n", out);
	write_file(out, "uPlot.min.css");
	fputc('\n', out);
	write_file(out, "page.css");
	fputs("</style>\n</head>\n<body>\n<main>\n", out);
}

static void
write_end(struct page *page)
{
	FILE *out = page->out;
	fputs("</main>\n<footer><p>Made by mininb ", out);
	html_text(out, nb_version());
	fputs(". Charts to zoom by uPlot.</p></footer>\n<!--\nuPlot, which is below:\n\n", out);
	write_file(out, "LICENSE");
	fputs("-->\n<script>\n", out);
	write_file(out, "uPlot.iife.min.js");
	fputs("</script>\n<script>\n", out);
	write_file(out, "page.js");
	fputs("</script>\n</body>\n</html>\n", out);
}

/* ---- a result ---- */

static void
write_result(struct page *page, size_t index)
{
	const struct record *record = &page->results->records[index];
	char title[128], sync[32];
	page_title(page->results, index, title, sizeof(title));
	snprintf(sync, sizeof(sync), "r%zu", index);
	fprintf(page->out, "<section id=\"r%zu\" class=\"result\"><h2>", index);
	html_text(page->out, title);
	fputs("</h2>\n", page->out);
	if (record->picked_of > 0)
		fprintf(page->out, "<p>Run %u, which has the median throughput of %u.</p>\n",
			record->block, record->picked_of);
	if (record->end[0] != '\0') {
		fputs("<p class=\"warning\"><strong>It did not end well:</strong> ", page->out);
		html_text(page->out, record->end);
		fputs("</p>\n", page->out);
	}
	if (record->run == NULL) {
		fputs("<p>There is no result of it.</p></section>\n", page->out);
		return;
	}
	page_groups(page, record);
	page_throughput(page, record, sync);
	page_counters(page, record, sync);
	page_latency(page, record);
	page_heat(page, record, sync);
	page_resources(page, record, sync);
	page_layers(page, record);
	page_threads(page, record);
	page_conditions(page, record);
	fputs("</section>\n", page->out);
}

static void
write_page(struct page *page)
{
	const struct nb_results *results = page->results;
	write_begin(page);
	fputs("<header><h1>", page->out);
	write_title(results, page->out);
	fputs("</h1></header>\n", page->out);
	page_head(page);
	page_curve(page);
	page_versus(page);
	page_compare(page);
	for (size_t i = 0; i < results->count; i++)
		write_result(page, i);
	page_command(page);
	write_end(page);
}

/** Numbers have a point, whatever the language of the program is. */
int
write_html(const struct nb_results *results, FILE *out, uint32_t flags)
{
	struct nb_results shown;
	locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	(void)flags;
	if (plain == (locale_t)0)
		return error_set(NB_FAIL, "out of memory");
	int rc = results_pick(&shown, results);
	if (rc != NB_OK) {
		freelocale(plain);
		return rc;
	}
	size_t less = shown.count / RESULTS_WHOLE + 1;
	struct page page = {.results = &shown,
		.all = results,
		.out = out,
		.wide_points = WIDE_POINTS / less,
		.small_points = SMALL_POINTS / less};
	locale_t before = uselocale(plain);
	write_page(&page);
	uselocale(before);
	freelocale(plain);
	free_memory(page.memory);
	free(shown.records);
	if (page.is_short)
		return error_set(NB_FAIL, "out of memory");
	if (fflush(out) != 0 || ferror(out))
		return error_system("the page cannot be written");
	return NB_OK;
}
