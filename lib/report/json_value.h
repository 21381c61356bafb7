/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_JSON_VALUE_H
#define REPORT_JSON_VALUE_H
/**
 * Single values of a result file, as JSON and back. What is written is read as the very
 * same, which JSON alone does not promise: numbers from 2^63 on are decimal text, and bytes
 * that are no UTF-8 have characters of their own.
 *
 * Writers return NULL if memory does not reach. Readers set an error that tells the file,
 * the place in it and what is wrong there.
 */
#include <stdbool.h>

#include <jansson.h>

#include <mininb/mininb.h>

#include "base/uint128.h"

/** Where in a document a reader is: the way up to its root. */
struct json_place {
	const struct json_place *up; /* NULL: the root itself */
	const char *name;            /* NULL: `index` in an array */
	size_t index;
};

/** What all that read one document share. Lives on the stack of json_read.c. */
struct json_reader {
	const char *file; /* for messages */
	const struct json_place *place;
	const char *
		verb; /* of a classic action, which is its one kind of operation; NULL: a job */
	size_t histograms; /* read so far: each takes 270 KB of memory, however short its text */
	char ***texts;     /* where texts go that something else points to; owned there */
	size_t *text_count;
};

/** Set the error, NB_ERR_DATA: "FILE: PLACE: what is wrong". */
int
json_bad(const struct json_reader *reader, const char *fmt, ...) NB_PRINTF(2, 3);

/** Reals of a file are within this: nothing that is measured is beyond, and each fits an integer. */
#define JSON_REAL_MAX 1e18

json_t *
json_from_u64(uint64_t value);

json_t *
json_from_u128(uint128 value);

/** null for what is no finite number. */
json_t *
json_from_real(double value);

/** 16 hexadecimal digits. */
json_t *
json_from_hash(uint64_t value);

/** null for NULL. */
json_t *
json_from_text(const char *text);

/* null is read as 0, and as no text. */

/** NB_ERR_DATA also above `most`. */
NB_MUST_CHECK int
json_to_u64(const struct json_reader *reader, const json_t *json, uint64_t most, uint64_t *out);

NB_MUST_CHECK int
json_to_u128(const struct json_reader *reader, const json_t *json, uint128 *out);

NB_MUST_CHECK int
json_to_real(const struct json_reader *reader, const json_t *json, double *out);

NB_MUST_CHECK int
json_to_hash(const struct json_reader *reader, const json_t *json, uint64_t *out);

NB_MUST_CHECK int
json_to_bool(const struct json_reader *reader, const json_t *json, bool *out);

/** *out is yours to free(); NULL of null. */
NB_MUST_CHECK int
json_to_text(const struct json_reader *reader, const json_t *json, char **out);

#endif /* REPORT_JSON_VALUE_H */
