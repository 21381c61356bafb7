/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "report/csv.h"
#include "unit.h"

TEST(fields_are_quoted_according_to_rfc_4180)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct csv csv = {.out = out};
	csv_text(&csv, "plain");
	csv_text(&csv, "a,b");
	csv_text(&csv, "say \"x\"");
	csv_text(&csv, "two\nlines");
	csv_text(&csv, "");
	csv_end(&csv);
	csv_empty(&csv);
	csv_count(&csv, UINT64_MAX);
	csv_real(&csv, 0.1);
	csv_known(&csv, 0);
	csv_known(&csv, 1e300);
	csv_end(&csv);
	fclose(out);
	ck_assert_str_eq(text,
		"plain,\"a,b\",\"say \"\"x\"\"\",\"two\nlines\",\n"
		",18446744073709551615,0.1,,1e+300\n");
	free(text);
}
