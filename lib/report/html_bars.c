/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bars start at 0, for their length is what is read; of a second value there is a thinner one
 * below. Dots are for what spans decades: on a logarithmic axis a bar would have a length
 * that means nothing. These are drawn small, so that they are readable on a telephone, and
 * are not made into charts to zoom: the numbers stand in a table.
 */
#include "report/html_bars.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "report/html_text.h"

enum {
	WIDTH = 360,
	LEFT = 106,
	RIGHT = 46,
	TOP = 4,
	ROW = 26,
	BOTTOM = 20,
	NAME_CHARACTERS = 13, /* of a line */
	NAME_BYTES = 95,
};

static const char *const marks[BARS_VALUES] = {"m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0",
	"m-3.5-3.5h7v7h-7z", "m0-5l5 5l-5 5l-5-5z", "m0-5l5 9h-10z"};

static bool
is_shown(double value)
{
	return isfinite(value) && value > 0;
}

static bool
find_range(const struct bars *bars, double *low, double *high)
{
	*low = INFINITY;
	*high = 0;
	for (size_t i = 0; i < bars->count; i++) {
		for (size_t v = 0; v < BARS_VALUES; v++) {
			if (!is_shown(bars->rows[i].values[v]))
				continue;
			*low = fmin(*low, bars->rows[i].values[v]);
			*high = fmax(*high, bars->rows[i].values[v]);
		}
	}
	return *high > 0;
}

/** Bytes of as many characters as have room in a line. */
static size_t
line_length(const char *name)
{
	size_t bytes = 0, characters = 0;
	while (name[bytes] != '\0' && characters < NAME_CHARACTERS && bytes < NAME_BYTES) {
		bytes++;
		if ((name[bytes] & 0xC0) != 0x80)
			characters++;
	}
	return bytes;
}

static void
write_line(const char *name, size_t bytes, double y, bool is_cut, FILE *out)
{
	char line[NAME_BYTES + 1];
	snprintf(line, sizeof(line), "%.*s", (int)bytes, name);
	fprintf(out, "<tspan x=\"%d\" y=\"%.0f\">", LEFT - 8, y);
	html_text(out, line);
	fputs(is_cut ? "\xE2\x80\xA6</tspan>" : "</tspan>", out);
}

/**
 * In a line, or two that break behind a word: names often differ at their end, as "leveldb at
 * 5000 ops/s" does. The whole name is the row's title.
 */
static void
write_name(const char *name, double y, FILE *out)
{
	enum { HALF_LINE = 6 };
	size_t bytes = line_length(name);
	fprintf(out, "<text text-anchor=\"end\"><title>");
	html_text(out, name);
	fputs("</title>", out);
	if (name[bytes] == '\0') {
		write_line(name, bytes, y, false, out);
	} else {
		size_t end = bytes;
		while (end > 0 && name[end] != ' ')
			end--;
		const char *rest = name + (end > 0 ? end + 1 : bytes);
		size_t rest_bytes = line_length(rest);
		write_line(name, end > 0 ? end : bytes, y - HALF_LINE, false, out);
		write_line(rest, rest_bytes, y + HALF_LINE, rest[rest_bytes] != '\0', out);
	}
	fputs("</text>", out);
}

static void
write_axis(const struct bars *bars, const struct svg_scale *x, double bottom, FILE *out)
{
	double ticks[SVG_TICKS];
	char text[UNITS_SIZE];
	size_t count = svg_ticks(x, bars->unit, 4, ticks);
	fputs("<path class=\"grid\" d=\"", out);
	for (size_t i = 0; i < count; i++) {
		struct svg_path path;
		svg_path_begin(&path, out);
		svg_path_to(&path, svg_at(x, ticks[i]), TOP);
		svg_path_to(&path, svg_at(x, ticks[i]), bottom);
	}
	fputs("\"/>", out);
	for (size_t i = 0; i < count; i++) {
		svg_format(text, sizeof(text), bars->unit, ticks[i]);
		fputs("<text text-anchor=\"middle\" x=\"", out);
		svg_number(out, svg_at(x, ticks[i]));
		fprintf(out, "\" y=\"%.0f\">%s</text>", bottom + BOTTOM - 6, text);
	}
}

static void
write_bars(const struct bars *bars, const struct bars_row *row, const struct svg_scale *x,
	double y, FILE *out)
{
	double end = x->from;
	char text[UNITS_SIZE];
	for (size_t v = 0; v < BARS_VALUES; v++) {
		if (!is_shown(row->values[v]))
			continue;
		fprintf(out, "<rect class=\"f%zu\" x=\"%d\" y=\"%.0f\" height=\"%d\" width=\"",
			v, LEFT, v == 0 ? y + 3 : y + 15, v == 0 ? 11 : 5);
		svg_number(out, svg_at(x, row->values[v]) - x->from);
		fputs("\"/>", out);
		end = fmax(end, svg_at(x, row->values[v]));
	}
	if (!is_shown(row->values[0]))
		return;
	svg_format(text, sizeof(text), bars->unit, row->values[0]);
	fputs("<text x=\"", out);
	svg_number(out, end + 5);
	fprintf(out, "\" y=\"%.0f\">%s</text>", y + 13, text);
}

static void
write_dots(const struct bars_row *row, const struct svg_scale *x, double y, FILE *out)
{
	double first = INFINITY, last = 0;
	for (size_t v = 0; v < BARS_VALUES; v++) {
		if (!is_shown(row->values[v]))
			continue;
		first = fmin(first, svg_at(x, row->values[v]));
		last = fmax(last, svg_at(x, row->values[v]));
	}
	fputs("<path class=\"reach\" d=\"", out);
	struct svg_path path;
	svg_path_begin(&path, out);
	if (last > first) {
		svg_path_to(&path, first, y);
		svg_path_to(&path, last, y);
	}
	fputs("\"/>", out);
	for (size_t v = 0; v < BARS_VALUES; v++) {
		if (!is_shown(row->values[v]))
			continue;
		fprintf(out, "<path class=\"f%zu\" d=\"", v);
		svg_path_begin(&path, out);
		svg_path_to(&path, svg_at(x, row->values[v]), y);
		fprintf(out, "%s\"/>", marks[v]);
	}
}

static void
write_drawing(const struct bars *bars, const struct svg_scale *x, unsigned id, FILE *out)
{
	double bottom = TOP + ROW * (double)bars->count;
	fprintf(out,
		"<svg role=\"img\" viewBox=\"0 0 %d %.0f\" aria-labelledby=\"c%u-t "
		"c%u-d\"><title "
		"id=\"c%u-t\">",
		WIDTH, bottom + BOTTOM, id, id, id);
	html_text(out, bars->title);
	fprintf(out, "</title><desc id=\"c%u-d\">", id);
	html_text(out, bars->what);
	fputs("</desc>", out);
	write_axis(bars, x, bottom, out);
	for (size_t i = 0; i < bars->count; i++) {
		double y = TOP + ROW * (double)i;
		write_name(bars->rows[i].name, y + 17, out);
		if (bars->is_log)
			write_dots(&bars->rows[i], x, y + 13, out);
		else
			write_bars(bars, &bars->rows[i], x, y, out);
	}
	fputs("</svg>", out);
}

void
page_bars(struct page *page, const struct bars *bars)
{
	double low, high;
	FILE *out = page->out;
	if (bars->count == 0 || !find_range(bars, &low, &high))
		return;
	unsigned id = page->charts++;
	struct svg_scale x = svg_scale(bars->is_log ? low / 1.3 : 0,
		high * (bars->is_log ? 1.3 : 1), LEFT, WIDTH - RIGHT, bars->is_log);
	fprintf(out, "<figure class=\"chart small fixed\" id=\"c%u\"><figcaption>", id);
	html_text(out, bars->title);
	fputs("</figcaption><div class=\"plot\">", out);
	write_drawing(bars, &x, id, out);
	fputs("</div><p class=\"axis x\">", out);
	html_text(out, bars->x_name);
	fputs(" \xE2\x86\x92</p><ul class=\"legend\">", out);
	for (size_t v = 0; v < BARS_VALUES && bars->names[v] != NULL; v++) {
		fprintf(out,
			"<li><svg class=\"key\" viewBox=\"0 0 12 12\" "
			"aria-hidden=\"true\"><path "
			"class=\"f%zu\" d=\"M6 6%s\"/></svg>",
			v, bars->is_log ? marks[v] : marks[1]);
		html_text(out, bars->names[v]);
		fputs("</li>", out);
	}
	fputs("</ul></figure>\n", out);
}
