/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Documents as plain text. A table's column is as wide as its widest cell, columns are two
 * blanks apart, and each UTF-8 character counts as one column wide.
 */
#include <string.h>

#include "report/doc.h"

enum { GAP = 2, WIDTH = 80 };

void
doc_clean(char *text)
{
	for (unsigned char *at = (unsigned char *)text; *at != '\0'; at++) {
		if (at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0) /* U+0080 to U+009F */
			at[0] = at[1] = '?';
		else if (*at < ' ' || *at == 0x7f)
			*at = '?';
	}
}

static void
write_table(const struct doc_item *table, FILE *out)
{
	size_t widths[DOC_COLUMNS] = {0};
	bool is_apart = (table->flags & DOC_APART) != 0;
	if (is_apart && table->cells <= table->columns)
		return;
	fputs(is_apart ? "\n" : "", out);
	for (size_t i = 0; i < table->cells; i++) {
		size_t width = doc_width(table[1 + i].text),
		       *widest = &widths[i % table->columns];
		*widest = width > *widest ? width : *widest;
	}
	for (size_t i = 0; i < table->cells; i++) {
		size_t column = i % table->columns;
		const char *text = table[1 + i].text;
		int padding = (int)(widths[column] - doc_width(text));
		bool is_right = (table->right >> column & 1) != 0;
		fprintf(out, "%*s%s", is_right ? padding : 0, "", text);
		if (column + 1 == table->columns)
			fputc('\n', out);
		else
			fprintf(out, "%*s", (is_right ? 0 : padding) + GAP, "");
	}
}

/**
 * Write a text in lines. Lines after the first begin with two blanks, except in a plain
 * paragraph.
 */
static void
write_wrapped(const struct doc_item *item, FILE *out)
{
	const char *indent = item->label[0] != '\0' ? "  " : "", *text = item->text;
	size_t at = 0;
	for (bool is_first = true; *text != '\0'; is_first = false) {
		size_t length = strcspn(text, " ");
		bool is_full = at + 1 + length > WIDTH;
		if (!is_first)
			fprintf(out, "%s%s", is_full ? "\n" : " ", is_full ? indent : "");
		at = (is_first ? 0 : is_full ? strlen(indent) : at + 1) + length;
		fprintf(out, "%.*s", (int)length, text);
		text += length;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

void
doc_text_item(const struct doc_item *item, FILE *out)
{
	switch (item->kind) {
	case DOC_HEADING:
		fprintf(out, "== %s\n", item->text);
		break;
	case DOC_LINE:
		doc_clean(item->text);
		fprintf(out, "%-18s: %s\n", item->label, item->text);
		break;
	case DOC_WRAPPED:
		write_wrapped(item, out);
		break;
	case DOC_TABLE:
		write_table(item, out);
		break;
	case DOC_FOLD:
	case DOC_UNFOLD:
		break;
	default:
		fprintf(out, "%s\n", item->text);
	}
}
