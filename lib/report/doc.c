/* SPDX-License-Identifier: BSD-2-Clause */
/* Documents: the functions for builders. The renderings are doc_text.c and doc_markdown.c. */
#include "report/doc.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/histogram.h"
#include "base/units.h"

static struct doc_item *
last(struct doc *doc)
{
	return &doc->items[doc->count - 1];
}

static bool
make_room(struct doc *doc)
{
	if (doc->count < doc->room)
		return true;
	size_t room = 2 * doc->room + 64;
	struct doc_item *grown = realloc(doc->items, room * sizeof(*grown));
	if (grown == NULL)
		return false;
	doc->items = grown;
	doc->room = room;
	return true;
}

/**
 * Append an item with these texts. A failure leaves the document unchanged and sets
 * has_failed.
 */
static void
append(struct doc *doc, enum doc_kind kind, const char *label, const char *fmt, va_list args)
{
	struct doc_item item = {.kind = kind, .shown = doc->shown, .label = strdup(label)};
	if (vasprintf(&item.text, fmt, args) < 0)
		item.text = NULL;
	if (item.label != NULL && item.text != NULL && make_room(doc)) {
		doc->items[doc->count++] = item;
		return;
	}
	free(item.label);
	free(item.text);
	doc->has_failed = true;
}

static void
end_row(struct doc *doc)
{
	while (doc->next > 0 && doc->next < doc->column_count)
		doc_cell(doc, "%s", "");
}

void
doc_add(struct doc *doc, enum doc_kind kind, const char *label, const char *fmt, ...)
{
	va_list args;
	if (kind != DOC_CELL)
		end_row(doc);
	va_start(args, fmt);
	append(doc, kind, label, fmt, args);
	va_end(args);
}

static void
extend(struct doc *doc, const char *between, const char *fmt, va_list args)
{
	char *text = NULL, *whole = NULL;
	if (doc->has_failed)
		return;
	if (vasprintf(&text, fmt, args) < 0 ||
		asprintf(&whole, "%s%s%s", last(doc)->text, between, text) < 0) {
		doc->has_failed = true;
	} else {
		free(last(doc)->text);
		last(doc)->text = whole;
	}
	free(text);
}

void
doc_more(struct doc *doc, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	extend(doc, "", fmt, args);
	va_end(args);
}

void
doc_list(struct doc *doc, const char *label, const char *fmt, ...)
{
	va_list args;
	end_row(doc);
	const struct doc_item *before = doc->count > 0 ? last(doc) : NULL;
	va_start(args, fmt);
	if (before != NULL && before->kind == DOC_LINE && before->shown == doc->shown &&
		strcmp(before->label, label) == 0)
		extend(doc, ", ", fmt, args);
	else
		append(doc, DOC_LINE, label, fmt, args);
	va_end(args);
}

void
doc_of(struct doc *doc, const char *name)
{
	if (!doc->has_failed)
		doc->has_failed = (last(doc)->of = strdup(name)) == NULL;
}

void
doc_code(struct doc *doc, const char *code, const char *rest)
{
	doc_of(doc, code);
	if (doc->has_failed)
		return;
	free(last(doc)->label);
	doc->has_failed = (last(doc)->label = strdup(rest)) == NULL;
}

/* ---- tables ---- */

static bool
is_in_view(const struct doc *doc, size_t column)
{
	uint32_t views = doc->columns[column].views;
	return views == 0 || (views & doc->view) != 0;
}

void
doc_add_table(struct doc *doc, const struct doc_column *columns, size_t column_count,
	uint32_t view, uint32_t flags)
{
	doc_add(doc, DOC_TABLE, "", "%s", "");
	struct doc_item table = {0};
	doc->table = doc->count;
	doc->columns = columns;
	doc->column_count = column_count;
	doc->next = 0;
	doc->view = view;
	for (size_t i = 0; i < column_count; i++) {
		if (is_in_view(doc, i))
			table.right |= (uint32_t)(columns[i].side == DOC_RIGHT)
				<< table.columns++;
		doc_cell(doc, "%s", columns[i].title);
	}
	if (doc->has_failed)
		return;
	struct doc_item *item = &doc->items[doc->table - 1];
	item->columns = table.columns;
	item->right = table.right;
	item->flags = flags;
}

void
doc_row(struct doc *doc)
{
	end_row(doc);
	doc->next = 0;
}

void
doc_cell(struct doc *doc, const char *fmt, ...)
{
	va_list args;
	size_t column = doc->next == doc->column_count ? 0 : doc->next;
	doc->next = column + 1;
	if (doc->has_failed || !is_in_view(doc, column))
		return;
	va_start(args, fmt);
	append(doc, DOC_CELL, "", fmt, args);
	va_end(args);
	doc->items[doc->table - 1].cells = doc->count - doc->table;
}

void
doc_add_texts(struct doc *doc, const char *const *texts)
{
	doc_row(doc);
	while (*texts != NULL)
		doc_cell(doc, "%s", *texts++);
}

void
doc_cell_ns(struct doc *doc, double ns)
{
	doc_cell(doc, "%s", ns > 0 ? UNITS_NS(ns) : "");
}

void
doc_cell_bytes(struct doc *doc, double bytes)
{
	doc_cell(doc, "%s", bytes > 0 ? UNITS_BYTES(bytes) : "");
}

void
doc_cell_count(struct doc *doc, uint64_t count)
{
	doc_cell_if(doc, count > 0, "%" PRIu64, count);
}

void
doc_cell_rate(struct doc *doc, double ops_s)
{
	doc_cell_if(doc, ops_s > 0, ops_s < 10 ? "%.2f" : "%.0f", ops_s);
}

void
doc_cell_percentile(struct doc *doc, const struct nb_histogram *histogram, double percent)
{
	doc_cell_ns(doc, (double)histogram_supported(histogram, percent));
}

/* ---- writing ---- */

size_t
doc_width(const char *text)
{
	size_t width = 0;
	for (; *text != '\0'; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

static int
write_items(struct doc *doc, uint32_t rendering, FILE *out)
{
	end_row(doc);
	if (doc->has_failed)
		return error_memory();
	for (size_t i = 0; i < doc->count; i++) {
		const struct doc_item *item = &doc->items[i];
		if (item->kind == DOC_CELL || (item->shown != 0 && item->shown != rendering))
			continue;
		if (rendering == DOC_TEXT)
			doc_text_item(item, out);
		else
			doc_markdown_item(item, out);
	}
	return NB_OK;
}

int
doc_finish(struct doc *doc, int rc, uint32_t rendering, FILE *out, const char *what)
{
	if (rc == NB_OK)
		rc = write_items(doc, rendering, out);
	doc_destroy(doc);
	if (rc == NB_OK && (fflush(out) != 0 || ferror(out)))
		rc = error_system("%s", what);
	return rc;
}

void
doc_destroy(struct doc *doc)
{
	for (size_t i = 0; i < doc->count; i++) {
		free(doc->items[i].label);
		free(doc->items[i].text);
		free(doc->items[i].of);
	}
	free(doc->items);
	*doc = (struct doc){0};
}
