/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "report/boxplot.h"
#include "unit.h"

TEST(quartiles_are_interpolated_linearly)
{
	/* computed by hand with the definition of type 7: the value at share * (count - 1) */
	static const struct {
		size_t count;
		double rates[6], levels[5];
	} cases[] = {{1, {7}, {7, 7, 7, 7, 7}}, {2, {4, 2}, {2, 2.5, 3, 3.5, 4}},
		{4, {40, 10, 30, 20}, {10, 17.5, 25, 32.5, 40}},
		{5, {5, 1, 4, 2, 3}, {1, 2, 3, 4, 5}},
		{6, {3, 1, 4, 1, 5, 9}, {1, 1.5, 3.5, 4.75, 9}}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct boxplots boxplots = {.count = {0}};
		double rates[6];
		memcpy(rates, cases[i].rates, sizeof(rates));
		ck_assert_int_eq(
			boxplots_add(&boxplots, BOXPLOTS_GETS, "a", rates, cases[i].count),
			NB_OK);
		ck_assert_uint_eq(boxplots.count[BOXPLOTS_GETS], 1);
		for (size_t k = 0; k < 5; k++)
			ck_assert_double_eq_tol(boxplots.items[BOXPLOTS_GETS][0].levels[k],
				cases[i].levels[k], 1e-12);
		boxplots_destroy(&boxplots);
	}
}

TEST(no_candle_is_drawn_without_rates)
{
	struct boxplots boxplots = {.count = {0}};
	double none;
	ck_assert_int_eq(boxplots_add(&boxplots, BOXPLOTS_OPS, "a", &none, 0), NB_OK);
	ck_assert_uint_eq(boxplots.count[BOXPLOTS_OPS], 0);
	boxplots_destroy(&boxplots);
}

TEST(script_has_a_picture_for_each_kind)
{
	struct boxplots boxplots = {.count = {0}};
	double rates[2] = {2, 1};
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	ck_assert_int_eq(boxplots_add(&boxplots, BOXPLOTS_PUTS, "say \"a\"", rates, 2), NB_OK);
	boxplots_write(&boxplots, out);
	fclose(out);
	ck_assert_ptr_nonnull(strstr(text,
		"$puts << EOD\n"
		"1 1.000000 1.250000 1.500000 1.750000 2.000000 \"say 'a'\"\n"
		"EOD\n"));
	ck_assert_ptr_null(strstr(text, "$ops"));
	free(text);
	boxplots_destroy(&boxplots);
}
