/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H
/** Parts of an HTML page: embedded files, and escaped text. */
#include <stddef.h>
#include <stdio.h>

struct page_file {
	const char *name;
	const char *text; /* without a final NUL */
	size_t size;
};

/** Style sheets, scripts and the licence of uPlot, made by page.py; ended by a NULL name. */
extern const struct page_file page_files[];

/** Write text escaped for an element or a double-quoted attribute; invalid UTF-8 becomes U+FFFD. */
void
page_text(FILE *out, const char *text);

#endif /* REPORT_PAGE_H */
