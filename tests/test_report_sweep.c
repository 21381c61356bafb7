/* SPDX-License-Identifier: BSD-2-Clause */
/* Curves as tables: their complete text, and the point that is the knee. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mininb/result.h>

#include "unit.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static char *text;

static void
write_curve(const struct nb_curve_point *points, size_t count, uint32_t flags)
{
	size_t size;
	free(text);
	FILE *out = open_memstream(&text, &size);
	ck_assert_msg(
		nb_curve_write_text(points, count, out, flags) == NB_OK, "%s", nb_error_text());
	fclose(out);
}

/** A point with a rate in thousands per second and this p99 of the response time. */
static struct nb_curve_point
make(double share, double achieved_share, uint64_t p99_us)
{
	return (struct nb_curve_point){.size = sizeof(struct nb_curve_point),
		.share = share,
		.offered_ops_s = share * 100000,
		.achieved_ops_s = share * 100000 * achieved_share,
		.service_p50_ns = 1500,
		.service_p99_ns = 4000,
		.service_p999_ns = 0, /* too few samples: the cell is empty */
		.response_p50_ns = p99_us * 1000 / 4,
		.response_p99_ns = p99_us * 1000,
		.response_p999_ns = p99_us * 1000 * 10,
		.response_max_ns = p99_us * 1000 * 100};
}

TEST(bars_are_logarithmic)
{
	/* 10 us to 100 ms are 4 decades on 19 marks: 1 + round(19 * lg(p99 / 10 us) / 4) */
	struct nb_curve_point points[] = {make(0.1, 1, 10), make(0.2, 1, 12), make(0.3, 1, 100),
		make(0.4, 1, 1000), make(0.5, 1, 31623), make(0.6, 1, 100000), make(0.7, 1, 0)};
	static const int marks[] = {1, 1, 6, 11, 18, 20, 0};
	write_curve(points, COUNT_OF(points), NB_TEXT_BARS);
	char *rest = strstr(text, "offered/s    p50"), *line = strsep(&rest, "\n");
	ck_assert_ptr_nonnull(line);
	ck_assert_ptr_nonnull(strstr(line, "p99 of response, log"));
	for (size_t i = 0; i < COUNT_OF(marks); i++) {
		int found = 0;
		line = strsep(&rest, "\n");
		for (const char *at = line; *at != '\0'; at++)
			found += *at == '#';
		ck_assert_msg(found == marks[i], "%zu: %d marks", i, found);
	}
}

TEST(curves_fit_a_terminal)
{
	struct nb_curve_point points[] = {make(0.1, 1, 123), make(0.95, 0.5, 123456)};
	points[0].offered_ops_s = points[0].achieved_ops_s = 12345678;
	points[0].service_p50_ns = points[0].service_p999_ns = 123456;
	points[1].offered_ops_s = 123456789;
	points[1].queue_grew = 1; /* it is also the knee */
	write_curve(points, COUNT_OF(points), NB_TEXT_BARS);
	for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1)
		ck_assert_uint_le(strcspn(line, "\n"), 80);
}

TEST(a_flat_curve_has_no_knee)
{
	struct nb_curve_point points[] = {make(0.1, 1, 10), make(0.9, 0.98, 20)};
	ck_assert_uint_eq(nb_curve_knee(points, 2), 2);
	write_curve(points, 2, NB_TEXT_BARS);
	ck_assert_ptr_nonnull(strstr(text,
		"\nNo knee up to 90000/s: raise the load to find "
		"one.\n"));
	ck_assert_ptr_null(strstr(text, "knee,"));
	ck_assert_ptr_null(strstr(text, "queue"));
	points[1].response_p99_ns = 10000; /* bars without a range */
	write_curve(points, 2, NB_TEXT_BARS);
	ck_assert_ptr_nonnull(strstr(text, "  #\n"));
	ck_assert_ptr_null(strstr(text, "##"));
}

TEST(the_knee_is_the_first_point_that_bends_or_falls_behind)
{
	static const struct {
		double achieved[4];
		uint64_t p99_us[4];
		size_t knee;
	} cases[] = {
		{{1, 1, 1, 1}, {10, 20, 21, 40}, 2},
		{{1, 1, 1, 1}, {10, 20, 20, 20}, 4},
		{{1, 0.97, 1, 1}, {10, 10, 21, 40}, 1},
		{{0.9, 1, 1, 1}, {10, 10, 10, 10}, 0},
		{{1, 1, 0.98, 0.979}, {10, 10, 10, 10}, 3},
		/*
		 * a rate with too few samples for a p99 is skipped; the next one is the lowest
		 */
		{{1, 1, 1, 1}, {0, 10, 20, 21}, 3},
		{{1, 1, 1, 1}, {0, 0, 0, 0}, 4},
		/* a p99 below that of the lowest rate does not count */
		{{1, 1, 1, 1}, {100, 10, 200, 201}, 3},
	};
	for (size_t c = 0; c < COUNT_OF(cases); c++) {
		struct nb_curve_point points[4];
		for (size_t i = 0; i < 4; i++)
			points[i] = make(0.1 * (double)(i + 1), cases[c].achieved[i],
				cases[c].p99_us[i]);
		ck_assert_msg(nb_curve_knee(points, 4) == cases[c].knee, "case %zu: %zu", c,
			nb_curve_knee(points, 4));
	}
	ck_assert_uint_eq(nb_curve_knee(NULL, 0), 0);
}

int
main(void)
{
	int rc = unit_run();
	free(text);
	return rc;
}
