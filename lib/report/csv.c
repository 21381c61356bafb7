/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/csv.h"

#include <inttypes.h>
#include <string.h>

static void
begin(struct csv *csv)
{
	if (csv->is_begun)
		fputc(',', csv->out);
	csv->is_begun = true;
}

void
csv_text(struct csv *csv, const char *text)
{
	begin(csv);
	if (strpbrk(text, ",\"\r\n") == NULL) {
		fputs(text, csv->out);
		return;
	}
	fputc('"', csv->out);
	for (; *text != '\0'; text++) {
		if (*text == '"')
			fputc('"', csv->out);
		fputc(*text, csv->out);
	}
	fputc('"', csv->out);
}

void
csv_count(struct csv *csv, uint64_t count)
{
	begin(csv);
	fprintf(csv->out, "%" PRIu64, count);
}

void
csv_real(struct csv *csv, double value)
{
	begin(csv);
	fprintf(csv->out, "%.15g", value);
}

void
csv_known(struct csv *csv, double value)
{
	if (value != 0)
		csv_real(csv, value);
	else
		csv_empty(csv);
}

void
csv_empty(struct csv *csv)
{
	begin(csv);
}

void
csv_end(struct csv *csv)
{
	fputc('\n', csv->out);
	csv->is_begun = false;
}
