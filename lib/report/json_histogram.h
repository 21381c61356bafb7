/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_JSON_HISTOGRAM_H
#define REPORT_JSON_HISTOGRAM_H
/**
 * A histogram as JSON: HdrHistogram's text, all that it loses, and some percentiles for
 * those who look at the file. What is read has the same counts, bounds of the classic table
 * included, minimum, maximum and sum.
 */
#include "base/histogram.h"
#include "report/json_value.h"

/** Histograms of one document. */
enum { JSON_HISTOGRAMS_MAX = 1 << 14 };

/** null for NULL; NULL if memory does not reach. */
json_t *
json_from_histogram(const struct nb_histogram *histogram);

/** *out is yours; NULL of null. */
NB_MUST_CHECK int
json_to_histogram(struct json_reader *reader, const json_t *json, struct nb_histogram **out);

#endif /* REPORT_JSON_HISTOGRAM_H */
