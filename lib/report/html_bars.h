/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_HTML_BARS_H
#define REPORT_HTML_BARS_H
/** Rows of bars or of dots: what is compared by name and not over an axis of its own. */
#include <stdbool.h>

#include "report/html.h"

enum { BARS_VALUES = 4 };

/** Values that are 0 or NAN are not drawn. */
struct bars_row {
	char name[96];
	double values[BARS_VALUES];
};

struct bars {
	const char *title, *what, *x_name;
	enum svg_unit unit;
	bool is_log; /* dots on one line; else bars from 0 */
	const char *names[BARS_VALUES];
	const struct bars_row *rows;
	size_t count;
};

/** Nothing if there are no rows, or no values. */
void
page_bars(struct page *page, const struct bars *bars);

#endif /* REPORT_HTML_BARS_H */
