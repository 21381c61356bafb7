/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The data of a chart as JSON, for page.js. Five digits of y are more than any screen can
 * show, and six of x keep the columns of a run of hours apart.
 */
#include "report/html_chart.h"
#include "report/html_text.h"

enum { X_DIGITS = 6, Y_DIGITS = 4 };

static void
write_axis(const char *key, const char *name, enum svg_unit unit, bool is_log,
	const struct svg_scale *scale, FILE *out)
{
	fprintf(out, "\"%s\":{\"unit\":\"%s\",\"log\":%s,\"name\":", key, svg_unit_name(unit),
		is_log ? "true" : "false");
	html_json_text(out, name);
	fputs(",\"min\":", out);
	html_json_number(out, scale->low, X_DIGITS);
	fputs(",\"max\":", out);
	html_json_number(out, scale->high, X_DIGITS);
	fputs("},", out);
}

static void
write_array(const double *values, size_t count, int digits, FILE *out)
{
	fputc('[', out);
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			fputc(',', out);
		html_json_number(out, values[i], digits);
	}
	fputc(']', out);
}

static void
write_lines(const struct chart *chart, FILE *out)
{
	fputs("\"lines\":[", out);
	for (size_t i = 0; i < chart->line_count; i++) {
		fputs(i > 0 ? ",[" : "[", out);
		html_json_text(out, chart->lines[i].name);
		fprintf(out, ",%d]", chart->lines[i].is_area);
	}
	fputs("],\"bands\":[", out);
	for (size_t i = 0; i < chart->band_count; i++) {
		const struct chart_band *band = &chart->bands[i];
		fputs(i > 0 ? ",[" : "[", out);
		html_json_number(out, band->from, X_DIGITS);
		fputc(',', out);
		html_json_number(out, band->to, X_DIGITS);
		fprintf(out, ",%u]", band->kind);
	}
	fputs("],", out);
}

/** A column is a text of digits, one for each row from the lowest up. */
static void
write_heat(const struct chart_heat *heat, FILE *out)
{
	fputs("\"heat\":{\"begin\":", out);
	write_array(heat->begin, heat->column_count, X_DIGITS, out);
	fputs(",\"end\":", out);
	write_array(heat->end, heat->column_count, X_DIGITS, out);
	fputs(",\"bounds\":", out);
	write_array(heat->bounds, heat->row_count + 1, Y_DIGITS, out);
	fputs(",\"columns\":[", out);
	for (size_t column = 0; column < heat->column_count; column++) {
		const uint8_t *rows = &heat->shades[column * heat->row_count];
		size_t used = heat->row_count;
		while (used > 0 && rows[used - 1] == 0)
			used--;
		fputs(column > 0 ? ",\"" : "\"", out);
		for (size_t row = 0; row < used; row++)
			fputc('0' + rows[row], out);
		fputc('"', out);
	}
	fputs("]},", out);
}

void
chart_write_data(const struct chart *chart, FILE *out)
{
	struct chart_frame frame = chart_frame(chart);
	bool has_spread = chart->low != NULL && chart->high != NULL;
	fputc('{', out);
	write_axis("x", chart->x_name, chart->x_unit, chart->is_x_log, &frame.x, out);
	write_axis("y", chart->y_name, chart->y_unit, chart->is_y_log, &frame.y, out);
	if (chart->sync != NULL)
		fprintf(out, "\"sync\":\"%s\",", chart->sync);
	fprintf(out, "\"small\":%s,\"spread\":%s,", chart->is_small ? "true" : "false",
		has_spread ? "true" : "false");
	write_lines(chart, out);
	if (chart->heat != NULL)
		write_heat(chart->heat, out);
	fputs("\"data\":[", out);
	write_array(chart->x, chart->count, X_DIGITS, out);
	for (size_t i = 0; i < chart->line_count; i++) {
		fputc(',', out);
		write_array(chart->lines[i].y, chart->count, Y_DIGITS, out);
	}
	if (has_spread) {
		fputc(',', out);
		write_array(chart->low, chart->count, Y_DIGITS, out);
		fputc(',', out);
		write_array(chart->high, chart->count, Y_DIGITS, out);
	}
	fputs("]}", out);
}
