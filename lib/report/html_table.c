/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables of a page. Each stands in a box that scrolls by itself, and can be reached by the
 * keyboard, so that a wide one does not make a narrow page wide.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/html.h"
#include "report/html_text.h"

enum { NAME_LONG = 14 }; /* characters; longer ones wrap, but not at each word */

void
html_table_begin(
	FILE *out, const char *caption, const struct html_column *columns, size_t count)
{
	fputs("<div class=\"table\" role=\"region\" tabindex=\"0\" aria-label=\"", out);
	html_text(out, caption);
	fputs("\"><table><caption>", out);
	html_text(out, caption);
	fputs("</caption>", out);
	if (count > 0)
		fputs("<thead><tr>", out);
	for (size_t i = 0; i < count; i++) {
		fprintf(out, "<th scope=\"col\"%s>",
			columns[i].is_number ? " class=\"n\"" : "");
		html_text(out, columns[i].title);
		fputs("</th>", out);
	}
	fputs(count > 0 ? "</tr></thead><tbody>\n" : "<tbody>\n", out);
}

void
html_row_begin(FILE *out, const char *name)
{
	fputs(strlen(name) > NAME_LONG ? "<tr><th scope=\"row\" class=\"long\">"
				       : "<tr><th scope=\"row\">",
		out);
	html_text(out, name);
	fputs("</th>", out);
}

void
html_cell(FILE *out, bool is_number, const char *text)
{
	fputs(is_number ? "<td class=\"n\">" : "<td>", out);
	html_text(out, text != NULL ? text : "not known");
	fputs("</td>", out);
}

void
html_row_end(FILE *out)
{
	fputs("</tr>\n", out);
}

void
html_table_end(FILE *out)
{
	fputs("</tbody></table></div>\n", out);
}

void
html_fact(FILE *out, const char *name, const char *fmt, ...)
{
	char *text = NULL;
	va_list args;
	va_start(args, fmt);
	int length = vasprintf(&text, fmt, args);
	va_end(args);
	if (length > 0) {
		html_row_begin(out, name);
		html_cell(out, false, text);
		html_row_end(out);
	}
	if (length >= 0)
		free(text);
}

void
html_unit_cell(FILE *out, enum svg_unit unit, double value)
{
	char text[UNITS_SIZE] = "";
	if (value > 0)
		svg_format(text, sizeof(text), unit, value);
	html_cell(out, true, text);
}
