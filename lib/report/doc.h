/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_DOC_H
#define REPORT_DOC_H
/**
 * A report as data: headings, lines with a label, paragraphs, tables. A builder makes a
 * document once from a result; doc_finish() renders it as plain text or as GitHub's Markdown.
 *
 * A document starts as {0}. It copies every text. If memory runs out, the document keeps the
 * failure and doc_finish() returns it, so builders check nothing. One thread at a time.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <mininb/mininb.h>

/** The renderings. An item is shown in all of them unless doc_show() names one. */
enum { DOC_TEXT = 1, DOC_MARKDOWN = 2 };

/** How each rendering shows a label L and a text T. */
enum doc_kind {
	DOC_HEADING,   /* text: "== T"; Markdown: "L T", L is "##", with blank lines around */
	DOC_LINE,      /* text: "L   : T"; Markdown: "- **L**: T" */
	DOC_BULLET,    /* Markdown: "- `T`: L" */
	DOC_PARAGRAPH, /* "T" */
	DOC_WRAPPED,   /* text: T in lines of at most 80 columns; Markdown: "LT", not escaped */
	DOC_BLOCK,     /* Markdown: lines of code */
	DOC_FOLD,      /* Markdown: the following items are folded under the title T */
	DOC_UNFOLD,
	DOC_GAP, /* a blank line */
	DOC_TABLE,
	DOC_CELL
};

enum { DOC_LEFT, DOC_RIGHT }; /* alignment of the cells of a column */

enum {
	DOC_COLUMNS = 32, /* limit for the columns of a table */
	DOC_APART = 1, /* leave out a table without rows; else precede it with a blank line */
	DOC_PLAIN = 2  /* in Markdown: keep all columns, without padding and escapes */
};

struct doc_column {
	const char *title;
	uint32_t side;  /* DOC_LEFT, or DOC_RIGHT for numbers */
	uint32_t views; /* show it only in tables whose view has one of these bits; 0: in all */
};

struct doc_item {
	enum doc_kind kind;
	uint32_t shown;          /* bits of the renderings that show it; 0: all */
	char *label, *text, *of; /* owned; `of`: see doc_of(), or NULL */
	/* of a table; its cells are the following items, row by row, the titles first */
	size_t columns, cells;
	uint32_t right, flags; /* bit i of `right`: column i is DOC_RIGHT */
};

struct doc {
	struct doc_item *items;
	size_t count, room;
	uint32_t shown;
	bool has_failed;
	/* the unfinished table: its item, its columns (borrowed), and the next column */
	size_t table;
	const struct doc_column *columns;
	size_t column_count, next;
	uint32_t view;
};

/** Show the items that follow only in this rendering; 0: in all. */
static inline void
doc_show(struct doc *doc, uint32_t shown)
{
	doc->shown = shown;
}

void
doc_add(struct doc *doc, enum doc_kind kind, const char *label, const char *fmt, ...)
	NB_PRINTF(4, 5);

#define doc_heading(doc, marks, ...) doc_add(doc, DOC_HEADING, marks, __VA_ARGS__)
#define doc_line(doc, label, ...) doc_add(doc, DOC_LINE, label, __VA_ARGS__)
#define doc_bullet(doc, text, ...) doc_add(doc, DOC_BULLET, text, __VA_ARGS__)
#define doc_paragraph(doc, ...) doc_add(doc, DOC_PARAGRAPH, "", __VA_ARGS__)
#define doc_wrapped(doc, begin, ...) doc_add(doc, DOC_WRAPPED, begin, __VA_ARGS__)
#define doc_gap(doc) doc_add(doc, DOC_GAP, "", "%s", "")

/** Like doc_line(). If the previous item is a line with that label, append ", T" to it. */
void
doc_list(struct doc *doc, const char *label, const char *fmt, ...) NB_PRINTF(3, 4);

/** Extend the text of the last item. */
void
doc_more(struct doc *doc, const char *fmt, ...) NB_PRINTF(2, 3);

/**
 * In Markdown, doc_of() turns the label of the last line into "**label** of NAME".
 * doc_code() appends code to the last paragraph, and then the text `rest`.
 */
void
doc_of(struct doc *doc, const char *name);
void
doc_code(struct doc *doc, const char *code, const char *rest);

/**
 * Begin a table with those columns that belong to `view`; the columns must outlive its last
 * cell. For a table without rows, text shows the titles and Markdown shows nothing.
 * Markdown leaves out columns whose cells are all empty. `flags`: DOC_APART, DOC_PLAIN.
 */
#define doc_table(doc, columns, view, flags) \
	doc_add_table(doc, columns, sizeof(columns) / sizeof(*(columns)), view, flags)
void
doc_add_table(struct doc *doc, const struct doc_column *columns, size_t column_count,
	uint32_t view, uint32_t flags);

/** Begin a row. Fill missing cells of the previous row with empty ones. */
void
doc_row(struct doc *doc);

/** Set the next cell of the row. Call it also for a column that the view leaves out. */
void
doc_cell(struct doc *doc, const char *fmt, ...) NB_PRINTF(2, 3);

/** Add a whole row of texts. */
#define doc_texts(doc, ...) doc_add_texts(doc, (const char *const[]){__VA_ARGS__, NULL})
void
doc_add_texts(struct doc *doc, const char *const *texts);

/** Format the number as the next cell; the cell is empty if `is_there` is false. */
#define doc_cell_if(doc, is_there, fmt, number) \
	((is_there) ? doc_cell(doc, fmt, number) : doc_cell(doc, "%s", ""))

/* Set the next cell; it is empty unless the quantity is above 0. */
void
doc_cell_ns(struct doc *doc, double ns);
void
doc_cell_bytes(struct doc *doc, double bytes);
void
doc_cell_count(struct doc *doc, uint64_t count);
/** In operations per second, with two decimals below 10. */
void
doc_cell_rate(struct doc *doc, double ops_s);

/** A percentile of times; empty if the histogram has too few samples for it. */
void
doc_cell_percentile(struct doc *doc, const struct nb_histogram *histogram, double percent);

/**
 * Unless `rc` is a failure, render the document as DOC_TEXT or DOC_MARKDOWN and flush
 * `out`. Destroys the document always. Returns `rc`. Returns NB_FAIL if a builder ran out
 * of memory or the stream has an error; the text of a stream error begins with `what`:
 * "cannot write a table".
 */
NB_MUST_CHECK int
doc_finish(struct doc *doc, int rc, uint32_t rendering, FILE *out, const char *what);

void
doc_destroy(struct doc *doc);

/* ---- the renderers; see doc_finish() ---- */

void
doc_text_item(const struct doc_item *item, FILE *out);

void
doc_markdown_item(const struct doc_item *item, FILE *out);

/** The width of a text in characters of UTF-8. */
size_t
doc_width(const char *text);

/** Replace control characters by '?', because a result may come from an untrusted source. */
void
doc_clean(char *text);

#endif /* REPORT_DOC_H */
