/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_HTML_TEXT_H
#define REPORT_HTML_TEXT_H
/**
 * Texts that come from elsewhere (names of engines, file names, what the kernel says), so
 * written that they are text and nothing else wherever they stand in a page.
 */
#include <stdio.h>

#include <mininb/mininb.h>

/** In an element or in an attribute with double quotes; what is no UTF-8 becomes U+FFFD. */
void
html_text(FILE *out, const char *text);

/** The same of what a format makes. */
void
html_say(FILE *out, const char *fmt, ...) NB_PRINTF(2, 3);

/** A JSON string with its quotes, which may stand within <script>. */
void
html_json_text(FILE *out, const char *text);

/** A JSON number of so many significant digits; null if it is none. */
void
html_json_number(FILE *out, double value, int digits);

#endif /* REPORT_HTML_TEXT_H */
