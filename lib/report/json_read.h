/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_JSON_READ_H
#define REPORT_JSON_READ_H
/** A result file from memory. */
#include <mininb/results.h>

/** As nb_results_read(), of the text of a file that is called so in messages. */
NB_MUST_CHECK int
results_parse(struct nb_results **out, const char *text, size_t size, const char *file);

#endif /* REPORT_JSON_READ_H */
