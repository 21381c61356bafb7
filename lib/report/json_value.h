/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_JSON_VALUE_H
#define REPORT_JSON_VALUE_H
/**
 * Single values of a result file, to JSON and back. Reading returns exactly the written
 * value. JSON alone does not promise that, so numbers from 2^63 on are decimal text, and
 * bytes that are not UTF-8 are encoded as special characters.
 */
#include <stdbool.h>

#include <jansson.h>

#include <mininb/mininb.h>

#include "base/uint128.h"

/* ---- writing: NULL if memory runs out, which json_put() and json_add() note ---- */

/** Names of the operation kinds other than NB_OP_*, by number; "": no such kind. */
typedef const char (*json_kind_names)[NB_KIND_NAME];

/** The document that is being written. */
struct json_writer {
	json_kind_names kinds; /* NULL: the result has none */
	const char *verb;      /* like json_reader.verb */
	bool is_sparse;        /* leave out numbers that are 0 */
	bool has_failed;       /* memory ran out */
};

/** Set a member of an object. */
void
json_put(struct json_writer *writer, json_t *object, const char *name, json_t *value);

/** Append an element to an array. */
void
json_add(struct json_writer *writer, json_t *array, json_t *value);

/** The length in bytes of the UTF-8 character at `text`, by RFC 3629; 0 if it is invalid. */
size_t
json_character(const char *text);

json_t *
json_from_u64(uint64_t value);

json_t *
json_from_u128(uint128 value);

/** null if the value is not finite. */
json_t *
json_from_real(double value);

/** 16 hexadecimal digits. */
json_t *
json_from_hash(uint64_t value);

/** null for NULL. */
json_t *
json_from_text(const char *text);

/**
 * null for NULL; else HdrHistogram's text, the values that it does not keep, and some
 * percentiles for people who read the file.
 */
json_t *
json_from_histogram(struct json_writer *writer, const struct nb_histogram *histogram);

/* ---- reading ---- */

/** The position of a reader in a document: a list from the value up to the root. */
struct json_place {
	const struct json_place *up; /* NULL: this is the root */
	const char *name;            /* NULL: an array element, at `index` */
	size_t index;
};

/**
 * The document that is being read. The first failure is stored in `rc` and as the error of
 * this thread; after it, every function below does nothing and returns 0, false or NULL.
 */
struct json_reader {
	const char *file; /* for messages */
	int rc;
	const struct json_place *place;
	json_kind_names kinds; /* NULL: not read yet */
	const char *verb; /* of a classic action: its only kind of operation; NULL: a job */
	size_t histograms; /* read so far; each uses 270 KB of memory, even if its text is short */
	char ***texts;     /* the owner of JSON_T_BORROWED texts */
	size_t *text_count;
};

/** Limit for the histograms of one document. */
enum { JSON_HISTOGRAMS_MAX = 1 << 14 };

/**
 * Limit for real numbers of a file: no measured value exceeds it, and any value fits an
 * integer.
 */
#define JSON_REAL_MAX 1e18

/** Enter the member `what`, or with NULL element 0 of an array, until JSON_LEAVE(). */
#define JSON_ENTER(reader, at, what) \
	struct json_place at = {.up = (reader)->place, .name = what}; \
	(reader)->place = &(at)

/** Return to the position before JSON_ENTER(). */
#define JSON_LEAVE(reader, at) ((reader)->place = (at).up)

/** Fail with NB_ERR_DATA and the text "FILE: PLACE: message". */
void
json_bad(struct json_reader *reader, const char *fmt, ...) NB_PRINTF(2, 3);

/** Call `read` for each element of an array with at most `most` elements; null has none. */
void
json_each(struct json_reader *reader, const json_t *array, size_t most,
	void (*read)(struct json_reader *reader, const json_t *element, void *into),
	void *into);

/* Read a value; null is 0 or false. */

uint64_t
json_to_u64(struct json_reader *reader, const json_t *json, uint64_t most);

uint128
json_to_u128(struct json_reader *reader, const json_t *json);

double
json_to_real(struct json_reader *reader, const json_t *json);

uint64_t
json_to_hash(struct json_reader *reader, const json_t *json);

bool
json_to_bool(struct json_reader *reader, const json_t *json);

/** Yours to free(); NULL for null. */
char *
json_to_text(struct json_reader *reader, const json_t *json);

/**
 * Yours; NULL for null. Counts, minimum, maximum, sum and the bounds of the classic table
 * equal those of the histogram that was written.
 */
struct nb_histogram *
json_to_histogram(struct json_reader *reader, const json_t *json);

#endif /* REPORT_JSON_VALUE_H */
