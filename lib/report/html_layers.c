/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a logical byte became on its way to the device, how much of the database was in
 * memory, and what the processor did for an operation.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "report/html.h"
#include "report/html_text.h"

/** Empty for 0, which is not known. */
static void
factor_cell(FILE *out, double factor)
{
	char text[UNITS_SIZE] = "";
	if (factor >= 0.001)
		snprintf(text, sizeof(text), factor < 0.1 ? "%.3f" : "%.2f", factor);
	else if (factor > 0)
		snprintf(text, sizeof(text), "< 0.001");
	html_cell(out, true, text);
}

static void
layer_row(FILE *out, const char *name, uint64_t logical, double calls, double storage,
	double device)
{
	if (logical == 0)
		return;
	html_row_begin(out, name);
	html_unit_cell(out, SVG_BYTES, (double)logical);
	factor_cell(out, calls);
	factor_cell(out, storage);
	factor_cell(out, device);
	html_row_end(out);
}

static void
write_amplification(const struct record_figures *figures, FILE *out)
{
	static const struct html_column columns[] = {{"", false}, {"asked for", true},
		{"by calls", true}, {"storage", true}, {"device", true}};
	if (figures->logical_read_bytes + figures->logical_write_bytes > 0) {
		html_table_begin(out,
			"Amplification: bytes at each layer for one of keys and values; empty "
			"where "
			"not known",
			columns, 5);
		layer_row(out, "written, with settling", figures->logical_write_bytes,
			figures->write_calls, figures->write_storage, figures->write_device);
		layer_row(out, "read", figures->logical_read_bytes, figures->read_calls,
			figures->read_storage, figures->read_device);
		html_table_end(out);
	}
	if (figures->space > 0) {
		char live[UNITS_SIZE];
		units_format_bytes(live, sizeof(live), (double)figures->live_bytes);
		fputs("<p>", out);
		html_say(out,
			"Space: the database takes %.2f bytes on its file system for each byte "
			"of "
			"the %s of keys and values that it holds.",
			figures->space, live);
		fputs("</p>\n", out);
	}
}

static void
write_syncs(const struct nb_result *result, FILE *out)
{
	char text[512];
	result_syncs_text(result, text, sizeof(text));
	if (text[0] == '\0')
		return;
	fputs("<p>Syncs: ", out);
	html_text(out, text);
	fputs(".</p>\n", out);
}

static void
residency_row(FILE *out, const char *when, const struct residency *it)
{
	char share[UNITS_SIZE] = "", text[UNITS_SIZE];
	if (!it->is_known)
		return;
	html_row_begin(out, when);
	units_format_bytes(text, sizeof(text), (double)it->resident_bytes);
	html_cell(out, true, text);
	html_unit_cell(out, SVG_BYTES, (double)it->total_bytes);
	if (it->total_bytes > 0)
		snprintf(share, sizeof(share), "%.1f %%",
			100 * (double)it->resident_bytes / (double)it->total_bytes);
	html_cell(out, true, share);
	html_row_end(out);
}

static void
write_residency(const struct measurement *measured, FILE *out)
{
	static const struct html_column columns[] = {
		{"when", false}, {"in memory", true}, {"of", true}, {"share", true}};
	static const char *const cold[] = {[COLD_NOT] = "",
		[COLD_FILES] =
			"It was made cold before: its files were put out of the page cache.",
		[COLD_CACHES] =
			"It was made cold before: all of the kernel's caches were dropped."};
	if (measured->residency_before.is_known || measured->residency_begin.is_known ||
		measured->residency_after.is_known) {
		html_table_begin(
			out, "How much of the database was in the page cache", columns, 4);
		residency_row(out, "before it was opened", &measured->residency_before);
		residency_row(out, "before the first operation", &measured->residency_begin);
		residency_row(out, "after it was closed", &measured->residency_after);
		html_table_end(out);
	}
	if (measured->cold != COLD_NOT && measured->cold <= COLD_CACHES)
		fprintf(out, "<p>%s</p>\n", cold[measured->cold]);
}

static void
write_processor(
	const struct record_figures *figures, const struct measurement *measured, FILE *out)
{
	if (figures->cycles_op > 0) {
		fputs("<p>", out);
		html_say(out, "Processor: %.0f cycles and %.0f instructions for an operation",
			figures->cycles_op, figures->instructions_op);
		if (figures->cache_misses_op > 0)
			html_say(out, ", %.3g cache misses", figures->cache_misses_op);
		fputs(".</p>\n", out);
	}
	if (measured->used_missing[0] != '\0') {
		fputs("<p class=\"aside\">Not to be had: ", out);
		html_text(out, measured->used_missing);
		fputs("</p>\n", out);
	}
}

void
page_layers(struct page *page, const struct record *record)
{
	struct record_figures figures;
	record_figures(record, &figures);
	fputs("<h3>From the operation to the device</h3>\n", page->out);
	write_amplification(&figures, page->out);
	write_syncs(record->run, page->out);
	write_residency(&record->run->measured, page->out);
	write_processor(&figures, &record->run->measured, page->out);
}
