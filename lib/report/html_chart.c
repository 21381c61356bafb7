/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Charts as SVG. Colours and dashes are page.css's, by classes, so that one drawing is right
 * in light, in dark and on paper; each line has a dash of its own beside its colour, since
 * not everybody sees colours and not every printer has them.
 *
 * What the axes are stands above and below the drawing as text of the page: it then wraps
 * on a narrow screen, and is the same with a script and without.
 */
#include "report/html_chart.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "report/html_text.h"

enum {
	WIDE_WIDTH = 760,
	WIDE_HEIGHT = 240,
	SMALL_WIDTH = 380,
	SMALL_HEIGHT = 150,
	LEFT = 58,
	RIGHT = 14,
	TOP = 8,
	BOTTOM = 22,
	MARKS_MAX = 48, /* more points than that would be a band of marks */
};

static const struct {
	const char *class, *text;
} band_names[CHART_BAND_KINDS] = {[CHART_WARMUP] = {"warmup", "warm-up"},
	[CHART_STALL] = {"stall", "stall"},
	[CHART_KNEE] = {"knee", "knee"}};

void
chart_add_line(struct chart *chart, const char *name, const double *y, bool is_area)
{
	if (chart->line_count < CHART_LINES)
		chart->lines[chart->line_count++] = (struct chart_line){name, y, is_area};
}

bool
chart_has_points(const struct chart *chart)
{
	for (size_t i = 0; i < chart->line_count; i++)
		for (size_t p = 0; p < chart->count; p++)
			if (isfinite(chart->lines[i].y[p]))
				return true;
	return false;
}

/* ---- where things are ---- */

struct range {
	double low, high;
};

static void
widen(struct range *range, const double *values, size_t count, bool is_log)
{
	for (size_t i = 0; values != NULL && i < count; i++) {
		if (!isfinite(values[i]) || (is_log && values[i] <= 0))
			continue;
		range->low = fmin(range->low, values[i]);
		range->high = fmax(range->high, values[i]);
	}
}

static struct range
range_of_y(const struct chart *chart)
{
	struct range range = {INFINITY, -INFINITY};
	for (size_t i = 0; i < chart->line_count; i++)
		widen(&range, chart->lines[i].y, chart->count, chart->is_y_log);
	widen(&range, chart->low, chart->count, chart->is_y_log);
	widen(&range, chart->high, chart->count, chart->is_y_log);
	if (chart->heat != NULL)
		widen(&range, chart->heat->bounds, chart->heat->row_count + 1, chart->is_y_log);
	if (chart->is_y_log)
		return (struct range){range.low / 1.25, range.high * 1.25};
	return (struct range){fmin(range.low, 0), range.high + fabs(range.high) * 0.06};
}

struct chart_frame
chart_frame(const struct chart *chart)
{
	struct range x = {INFINITY, -INFINITY}, y = range_of_y(chart);
	double width = chart->is_small ? SMALL_WIDTH : WIDE_WIDTH;
	double height = chart->is_small ? SMALL_HEIGHT : WIDE_HEIGHT;
	widen(&x, chart->x, chart->count, chart->is_x_log);
	if (chart->x_high > chart->x_low)
		x = (struct range){chart->x_low, chart->x_high};
	return (struct chart_frame){.width = width,
		.height = height,
		.x = svg_scale(x.low, x.high, LEFT, width - RIGHT, chart->is_x_log),
		.y = svg_scale(y.low, y.high, height - BOTTOM, TOP, chart->is_y_log)};
}

/* ---- axes ---- */

static void
write_text(FILE *out, double x, double y, const char *anchor, const char *text)
{
	fputs("<text x=\"", out);
	svg_number(out, x);
	fputs("\" y=\"", out);
	svg_number(out, y);
	fprintf(out, "\" text-anchor=\"%s\">", anchor);
	html_text(out, text);
	fputs("</text>", out);
}

static void
write_line(FILE *out, double x, double y, double to_x, double to_y)
{
	struct svg_path path;
	svg_path_begin(&path, out);
	svg_path_to(&path, x, y);
	svg_path_to(&path, to_x, to_y);
}

static void
write_axes(const struct chart *chart, const struct chart_frame *frame, FILE *out)
{
	char text[UNITS_SIZE];
	double xs[SVG_TICKS], ys[SVG_TICKS];
	size_t x_count = svg_ticks(&frame->x, chart->x_unit, chart->is_small ? 5 : 9, xs);
	size_t y_count = svg_ticks(&frame->y, chart->y_unit, chart->is_small ? 3 : 5, ys);
	fputs("<path class=\"grid\" d=\"", out);
	for (size_t i = 0; i < y_count; i++) {
		double y = svg_at(&frame->y, ys[i]);
		write_line(out, frame->x.from, y, frame->x.to, y);
	}
	for (size_t i = 0; i < x_count; i++) {
		double x = svg_at(&frame->x, xs[i]);
		write_line(out, x, frame->y.from, x, frame->y.from + 4);
	}
	fputs("\"/>", out);
	for (size_t i = 0; i < y_count; i++) {
		svg_format(text, sizeof(text), chart->y_unit, ys[i]);
		write_text(out, LEFT - 6, svg_at(&frame->y, ys[i]) + 4, "end", text);
	}
	for (size_t i = 0; i < x_count; i++) {
		double x = svg_at(&frame->x, xs[i]);
		svg_format(text, sizeof(text), chart->x_unit, xs[i]);
		write_text(out, x, frame->height - 4,
			x > frame->width - RIGHT - 10 ? "end" : "middle", text);
	}
}

/* ---- what is shown ---- */

static void
write_bands(const struct chart *chart, const struct chart_frame *frame, FILE *out)
{
	for (size_t i = 0; i < chart->band_count; i++) {
		const struct chart_band *band = &chart->bands[i];
		double from = svg_at(&frame->x, band->from), to = svg_at(&frame->x, band->to);
		fprintf(out, "<rect class=\"%s\" x=\"", band_names[band->kind].class);
		svg_number(out, from);
		fputs("\" y=\"", out);
		svg_number(out, frame->y.to);
		fputs("\" width=\"", out);
		svg_number(out, fmax(to - from, 1.5));
		fputs("\" height=\"", out);
		svg_number(out, frame->y.from - frame->y.to);
		fputs("\"><title>", out);
		html_text(out, band->name);
		fputs("</title></rect>", out);
	}
}

/** Rows of one column that have one shade are one piece. */
static void
write_shade(const struct chart_heat *heat, const struct chart_frame *frame, uint8_t shade,
	FILE *out)
{
	for (size_t column = 0; column < heat->column_count; column++) {
		const uint8_t *rows = &heat->shades[column * heat->row_count];
		double x = svg_at(&frame->x, heat->begin[column]);
		double to_x = svg_at(&frame->x, heat->end[column]);
		for (size_t row = 0; row < heat->row_count; row++) {
			size_t first = row;
			if (rows[row] != shade)
				continue;
			while (row + 1 < heat->row_count && rows[row + 1] == shade)
				row++;
			double y = svg_at(&frame->y, heat->bounds[first]);
			double to_y = svg_at(&frame->y, heat->bounds[row + 1]);
			struct svg_path path;
			svg_path_begin(&path, out);
			svg_path_to(&path, x, y);
			svg_path_to(&path, to_x, y);
			svg_path_to(&path, to_x, to_y);
			svg_path_to(&path, x, to_y);
		}
	}
}

static void
write_heat(const struct chart *chart, const struct chart_frame *frame, FILE *out)
{
	for (uint8_t shade = 1; chart->heat != NULL && shade <= CHART_SHADES; shade++) {
		fprintf(out, "<path class=\"h h%u\" d=\"", shade);
		write_shade(chart->heat, frame, shade, out);
		fputs("\"/>", out);
	}
}

static bool
is_drawn(const struct chart *chart, double y)
{
	return isfinite(y) && (!chart->is_y_log || y > 0);
}

/** From `from` up to where there is a gap; the index behind it. */
static size_t
find_gap(const struct chart *chart, const double *y, size_t from)
{
	while (from < chart->count && is_drawn(chart, y[from]))
		from++;
	return from;
}

/** Each stretch without a gap: along `y`, and back along `base`, or along the axis if NULL. */
static void
write_filled(const struct chart *chart, const struct chart_frame *frame, const double *y,
	const double *base, FILE *out)
{
	struct svg_path path;
	svg_path_begin(&path, out);
	for (size_t first = 0; first < chart->count; first++) {
		size_t behind = find_gap(chart, y, first);
		if (behind == first)
			continue;
		svg_path_lift(&path);
		for (size_t i = first; i < behind; i++)
			svg_path_to(
				&path, svg_at(&frame->x, chart->x[i]), svg_at(&frame->y, y[i]));
		for (size_t i = behind; base != NULL && i-- > first;)
			svg_path_to(&path, svg_at(&frame->x, chart->x[i]),
				svg_at(&frame->y, base[i]));
		if (base == NULL) {
			svg_path_to(
				&path, svg_at(&frame->x, chart->x[behind - 1]), frame->y.from);
			svg_path_to(&path, svg_at(&frame->x, chart->x[first]), frame->y.from);
		}
		first = behind;
	}
}

static void
write_marks(const struct chart *chart, const struct chart_frame *frame, size_t line, FILE *out)
{
	static const char *const shapes[] = {"m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0",
		"m-3-3h6v6h-6z", "m0-4l4 4l-4 4l-4-4z", "m0-4l4 7h-8z", "m0 4l4-7h-8z"};
	const char *shape = shapes[line % (sizeof(shapes) / sizeof(*shapes))];
	const double *y = chart->lines[line].y;
	fprintf(out, "<path class=\"f%zu\" d=\"", line % CHART_LOOKS);
	for (size_t i = 0; i < chart->count; i++) {
		struct svg_path path;
		if (!is_drawn(chart, y[i]))
			continue;
		svg_path_begin(&path, out);
		svg_path_to(&path, svg_at(&frame->x, chart->x[i]), svg_at(&frame->y, y[i]));
		fputs(shape, out);
	}
	fputs("\"/>", out);
}

/** Lines beyond the eighth have its colour again, with another dash. */
static void
write_look(FILE *out, size_t line)
{
	fprintf(out, "s%zu d%zu", line % CHART_LOOKS,
		(line + line / CHART_LOOKS) % CHART_LOOKS);
}

static void
write_lines(const struct chart *chart, const struct chart_frame *frame, FILE *out)
{
	if (chart->low != NULL && chart->high != NULL) {
		fputs("<path class=\"spread\" d=\"", out);
		write_filled(chart, frame, chart->high, chart->low, out);
		fputs("\"/>", out);
	}
	for (size_t line = chart->line_count; line-- > 0;) {
		const double *y = chart->lines[line].y;
		struct svg_path path;
		if (chart->lines[line].is_area) {
			fprintf(out, "<path class=\"area f%zu\" d=\"", line % CHART_LOOKS);
			write_filled(chart, frame, y, NULL, out);
			fputs("\"/>", out);
		}
		fputs("<path class=\"l ", out);
		write_look(out, line);
		fputs("\" d=\"", out);
		svg_path_begin(&path, out);
		for (size_t i = 0; i < chart->count; i++) {
			if (is_drawn(chart, y[i]))
				svg_path_to(&path, svg_at(&frame->x, chart->x[i]),
					svg_at(&frame->y, y[i]));
			else
				svg_path_lift(&path);
		}
		fputs("\"/>", out);
		if (chart->has_marks || chart->count <= MARKS_MAX)
			write_marks(chart, frame, line, out);
	}
}

/* ---- the figure ---- */

static void
write_drawing(const struct chart *chart, unsigned id, FILE *out)
{
	struct chart_frame frame = chart_frame(chart);
	fprintf(out,
		"<svg role=\"img\" viewBox=\"0 0 %.0f %.0f\" aria-labelledby=\"c%u-t c%u-d\">"
		"<title id=\"c%u-t\">",
		frame.width, frame.height, id, id, id);
	html_text(out, chart->title);
	fprintf(out, "</title><desc id=\"c%u-d\">", id);
	html_text(out, chart->what);
	fputs("</desc>", out);
	write_bands(chart, &frame, out);
	write_heat(chart, &frame, out);
	write_axes(chart, &frame, out);
	write_lines(chart, &frame, out);
	fputs("</svg>", out);
}

static void
write_legend(const struct chart *chart, FILE *out)
{
	bool has_kind[CHART_BAND_KINDS] = {false};
	for (size_t i = 0; i < chart->band_count; i++)
		has_kind[chart->bands[i].kind] = true;
	fputs("<ul class=\"legend\">", out);
	for (size_t i = 0; i < chart->line_count && chart->line_count > 1; i++) {
		fputs("<li><svg class=\"key\" viewBox=\"0 0 28 10\" aria-hidden=\"true\"><path "
		      "class=\"l ",
			out);
		write_look(out, i);
		fputs("\" d=\"M0 5h28\"/></svg>", out);
		html_text(out, chart->lines[i].name);
		fputs("</li>", out);
	}
	if (chart->low != NULL)
		fputs("<li><span class=\"swatch spread\"></span>lowest to highest</li>", out);
	for (size_t i = 0; i < CHART_BAND_KINDS && !chart->is_small; i++) {
		if (has_kind[i])
			fprintf(out, "<li><span class=\"swatch %s\"></span>%s</li>",
				band_names[i].class, band_names[i].text);
	}
	if (chart->heat != NULL)
		fputs("<li><span class=\"swatch heat\"></span>few to many operations</li>",
			out);
	fputs("</ul>", out);
}

void
chart_write(const struct chart *chart, unsigned id, FILE *out)
{
	fprintf(out, "<figure class=\"chart%s\" id=\"c%u\"><figcaption>",
		chart->is_small ? " small" : "", id);
	html_text(out, chart->title);
	fputs("</figcaption><p class=\"axis\">\xE2\x86\x91 ", out);
	html_text(out, chart->y_name);
	fputs("</p><div class=\"plot\">", out);
	write_drawing(chart, id, out);
	fputs("</div><p class=\"axis x\">", out);
	html_text(out, chart->x_name);
	fputs(" \xE2\x86\x92</p>", out);
	write_legend(chart, out);
	fputs("<script type=\"application/json\">", out);
	chart_write_data(chart, out);
	fputs("</script></figure>\n", out);
}
