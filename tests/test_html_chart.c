/* SPDX-License-Identifier: BSD-2-Clause */
/* Charts: the drawing and the data beside it tell the same, whatever there is to show. */
#include "report/html_chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "unit.h"

static char *text;
static json_t *data;

/** The figure in `text`, its data in `data`. */
static void
write_chart(const struct chart *chart)
{
	static const char begin[] = "<script type=\"application/json\">";
	size_t size = 0;
	json_error_t error;
	free(text);
	json_decref(data);
	text = NULL;
	FILE *out = open_memstream(&text, &size);
	chart_write(chart, 7, out);
	fclose(out);
	char *from = strstr(text, begin);
	ck_assert_ptr_nonnull(from);
	from += strlen(begin);
	char *to = strstr(from, "</script>");
	ck_assert_ptr_nonnull(to);
	data = json_loadb(from, (size_t)(to - from), 0, &error);
	ck_assert_msg(data != NULL, "%s: %.200s", error.text, from);
}

static size_t
count_of(const char *what)
{
	size_t count = 0;
	for (const char *at = text; (at = strstr(at, what)) != NULL; at += strlen(what))
		count++;
	return count;
}

static double
number_at(size_t column, size_t index)
{
	json_t *value = json_array_get(
		json_array_get(json_object_get(data, "data"), column), index);
	return json_is_null(value) ? NAN : json_number_value(value);
}

static struct chart
make(const double *x, const double *y, size_t count)
{
	struct chart chart = {.title = "Rate",
		.what = "How fast",
		.x_name = "time, s",
		.y_name = "ops/s",
		.x_unit = SVG_SECONDS,
		.x = x,
		.count = count};
	chart_add_line(&chart, "one", y, false);
	return chart;
}

START_TEST(data_is_what_is_drawn)
{
	static const double x[] = {1, 2, 3}, y[] = {10, 0, 30}, z[] = {5, NAN, 7};
	struct chart chart = make(x, y, 3);
	chart_add_line(&chart, "two", z, true);
	write_chart(&chart);
	ck_assert_uint_eq(count_of("class=\"l "), 2 + 2); /* and the legend's */
	ck_assert_uint_eq(count_of("class=\"area"), 1);
	ck_assert_uint_eq(json_array_size(json_object_get(data, "data")), 3);
	ck_assert_double_eq(number_at(0, 2), 3);
	ck_assert_double_eq(number_at(1, 1), 0);
	ck_assert(isnan(number_at(2, 1)));
	ck_assert_str_eq(json_string_value(json_array_get(
				 json_array_get(json_object_get(data, "lines"), 1), 0)),
		"two");
	struct chart_frame frame = chart_frame(&chart);
	ck_assert_double_eq(frame.x.low, 1);
	ck_assert_double_eq(frame.x.high, 3);
	ck_assert_double_eq(frame.y.low, 0); /* lengths are compared: from 0 */
	ck_assert_double_ge(frame.y.high, 30);
}
END_TEST

START_TEST(a_gap_is_not_bridged)
{
	static const double x[] = {1, 2, 3, 4, 5}, y[] = {1, 1, NAN, 2, 2};
	struct chart chart = make(x, y, 5);
	write_chart(&chart);
	const char *line = strstr(text, "class=\"l s0 d0\" d=\"");
	ck_assert_ptr_nonnull(line);
	line += strlen("class=\"l s0 d0\" d=\"");
	size_t length = strcspn(line, "\""), moves = 0;
	for (size_t i = 0; i < length; i++)
		moves += line[i] == 'M';
	ck_assert_uint_eq(moves, 2);
}
END_TEST

START_TEST(one_point_is_a_mark)
{
	static const double x[] = {2}, y[] = {5};
	struct chart chart = make(x, y, 1);
	write_chart(&chart);
	ck_assert(chart_has_points(&chart));
	ck_assert_uint_eq(count_of("class=\"f0\""), 1);
	ck_assert_ptr_null(strstr(text, "nan"));
	ck_assert_ptr_null(strstr(text, "inf"));
}
END_TEST

START_TEST(nothing_has_no_points)
{
	static const double x[] = {1, 2}, y[] = {NAN, NAN};
	struct chart chart = make(x, y, 2), empty = make(NULL, NULL, 0);
	ck_assert(!chart_has_points(&chart));
	ck_assert(!chart_has_points(&empty));
	write_chart(&chart); /* and is no danger */
	write_chart(&empty);
	ck_assert_ptr_null(strstr(text, "nan"));
}
END_TEST

START_TEST(what_is_not_above_0_is_no_logarithm)
{
	static const double x[] = {1, 2, 3}, y[] = {0, -1, 1000};
	struct chart chart = make(x, y, 3);
	chart.is_y_log = true;
	chart.y_unit = SVG_NS;
	struct chart_frame frame = chart_frame(&chart);
	ck_assert_double_gt(frame.y.low, 0);
	write_chart(&chart);
	ck_assert_ptr_null(strstr(text, "nan"));
}
END_TEST

START_TEST(all_is_within_the_picture)
{
	static const double x[] = {0, 1e-9, 5, 1e12}, y[] = {1e-9, 1e18, 3, 0};
	struct chart chart = make(x, y, 4);
	struct chart_frame frame = chart_frame(&chart);
	for (size_t i = 0; i < 4; i++) {
		double at_x = svg_at(&frame.x, x[i]), at_y = svg_at(&frame.y, y[i]);
		ck_assert(at_x >= 0 && at_x <= frame.width);
		ck_assert(at_y >= 0 && at_y <= frame.height);
	}
}
END_TEST

START_TEST(spread_is_beside_the_lines)
{
	static const double x[] = {1, 2}, y[] = {2, 3}, low[] = {1, 0}, high[] = {4, 5};
	struct chart chart = make(x, y, 2);
	chart.low = low;
	chart.high = high;
	write_chart(&chart);
	ck_assert_uint_eq(count_of("<path class=\"spread\""), 1);
	ck_assert(json_is_true(json_object_get(data, "spread")));
	ck_assert_uint_eq(json_array_size(json_object_get(data, "data")), 4);
	ck_assert_double_eq(number_at(2, 1), 0);
	ck_assert_double_eq(number_at(3, 1), 5);
}
END_TEST

START_TEST(bands_are_told_by_name)
{
	static const double x[] = {0, 10}, y[] = {2, 3};
	struct chart chart = make(x, y, 2);
	chart.bands[chart.band_count++] = (struct chart_band){0, 2, "warm-up", CHART_WARMUP};
	chart.bands[chart.band_count++] = (struct chart_band){
		5, 5, "a <b> & compactions 3", CHART_STALL};
	write_chart(&chart);
	ck_assert_uint_eq(count_of("<rect class=\"warmup\""), 1);
	ck_assert_uint_eq(count_of("<rect class=\"stall\""), 1);
	ck_assert_ptr_nonnull(strstr(text, "<title>a &lt;b&gt; &amp; compactions 3</title>"));
	ck_assert_ptr_nonnull(strstr(text, "</span>stall</li>"));
	ck_assert_uint_eq(json_array_size(json_object_get(data, "bands")), 2);
}
END_TEST

START_TEST(heat_is_drawn_by_shades)
{
	static const double begin[] = {0, 1}, end[] = {1, 2}, bounds[] = {1, 10, 100, 1000};
	static const double x[] = {0.5, 1.5}, y[] = {5, 50};
	static const uint8_t shades[] = {8, 8, 0, 0, 1, 8};
	struct chart_heat heat = {2, 3, begin, end, bounds, shades};
	struct chart chart = make(x, y, 2);
	chart.is_y_log = true;
	chart.heat = &heat;
	write_chart(&chart);
	ck_assert_uint_eq(count_of("<path class=\"h h"), CHART_SHADES);
	/* rows that follow each other with one shade are one piece: 2 of shade 8 */
	const char *path = strstr(text, "class=\"h h8\" d=\"");
	ck_assert_ptr_nonnull(path);
	path += strlen("class=\"h h8\" d=\"");
	size_t moves = 0;
	for (size_t i = 0; path[i] != '"'; i++)
		moves += path[i] == 'M';
	ck_assert_uint_eq(moves, 2);
	json_t *columns = json_object_get(json_object_get(data, "heat"), "columns");
	ck_assert_str_eq(json_string_value(json_array_get(columns, 0)), "88");
	ck_assert_str_eq(json_string_value(json_array_get(columns, 1)), "018");
}
END_TEST

START_TEST(a_drawing_says_what_it_is)
{
	static const double x[] = {0, 10}, y[] = {2, 3};
	struct chart chart = make(x, y, 2);
	chart.title = "<i>\"Rate\"";
	write_chart(&chart);
	ck_assert_ptr_nonnull(strstr(text, "role=\"img\""));
	ck_assert_ptr_nonnull(strstr(text, "aria-labelledby=\"c7-t c7-d\""));
	ck_assert_ptr_nonnull(
		strstr(text, "<title id=\"c7-t\">&lt;i&gt;&quot;Rate&quot;</title>"));
	ck_assert_ptr_nonnull(strstr(text, "<desc id=\"c7-d\">How fast</desc>"));
}
END_TEST

START_TEST(no_more_lines_than_have_room)
{
	static const double x[] = {0, 10}, y[] = {2, 3};
	struct chart chart = make(x, y, 2);
	for (int i = 0; i < 100; i++)
		chart_add_line(&chart, "more", y, false);
	ck_assert_uint_eq(chart.line_count, CHART_LINES);
	write_chart(&chart);
	/* no two look the same */
	char looks[CHART_LINES][16];
	for (size_t i = 0; i < CHART_LINES; i++) {
		snprintf(looks[i], sizeof(looks[i]), "s%zu d%zu", i % 8, (i + i / 8) % 8);
		ck_assert_uint_ge(count_of(looks[i]), 1);
		for (size_t j = 0; j < i; j++)
			ck_assert_str_ne(looks[i], looks[j]);
	}
}
END_TEST

int
main(void)
{
	int rc = UNIT_RUN("html_chart", data_is_what_is_drawn, a_gap_is_not_bridged,
		one_point_is_a_mark, nothing_has_no_points, what_is_not_above_0_is_no_logarithm,
		all_is_within_the_picture, spread_is_beside_the_lines, bands_are_told_by_name,
		heat_is_drawn_by_shades, a_drawing_says_what_it_is,
		no_more_lines_than_have_room);
	free(text);
	json_decref(data);
	return rc;
}
