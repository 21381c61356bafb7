/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "report/plot.h"
#include "unit.h"

TEST(text_cannot_end_itself_nor_run_a_command)
{
	static const char *const cases[][2] = {{"plain", "\"plain\""}, {"", "\"\""},
		{"a \"b\" c", "\"a 'b' c\""}, {"`rm -rf x`", "\"'rm -rf x'\""},
		{"end\\", "\"end \""}, {"two\nlines\t", "\"two lines \""},
		{"Gr\xc3\xb6\xc3\x9f"
		 "e",
			"\"Gr\xc3\xb6\xc3\x9f"
			"e\""}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *text;
		size_t size;
		FILE *out = open_memstream(&text, &size);
		plot_text(out, cases[i][0]);
		fclose(out);
		ck_assert_str_eq(text, cases[i][1]);
		free(text);
	}
}

TEST(one_command_draws_all_curves_of_a_picture)
{
	char *text;
	size_t size, count = 0;
	FILE *out = open_memstream(&text, &size);
	plot_next(out, &count);
	fputc('a', out);
	plot_next(out, &count);
	fputc('b', out);
	fclose(out);
	ck_assert_str_eq(text, "plot a, \\\n     b");
	ck_assert_uint_eq(count, 2);
	free(text);
}
