/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_JSON_VALUE_H
#define REPORT_JSON_VALUE_H
/**
 * Single values of a result file, as JSON and back. A value is read exactly as it was written,
 * which JSON alone does not promise: numbers from 2^63 on are decimal text, and bytes that are
 * not UTF-8 have characters of their own.
 */
#include <stdbool.h>

#include <jansson.h>

#include <mininb/mininb.h>

#include "base/uint128.h"

/* ---- writing: NULL if memory does not reach, which json_put() and json_add() note ---- */

/** Names of kinds beside NB_OP_*, of one result, by number; "": there is none. */
typedef const char (*json_kind_names)[NB_KIND_NAME];

/** The document that is being written. */
struct json_writer {
	json_kind_names kinds; /* NULL: there are none */
	const char *verb;      /* as json_reader.verb */
	bool is_sparse;        /* leave out numbers that are 0 */
	bool has_failed;       /* memory did not reach */
};

/** Set a member of an object. */
void
json_put(struct json_writer *writer, json_t *object, const char *name, json_t *value);

/** Append an element to an array. */
void
json_add(struct json_writer *writer, json_t *array, json_t *value);

/** Bytes of the character of UTF-8 that begins here, by RFC 3629; 0 if none does. */
size_t
json_character(const char *text);

json_t *
json_from_u64(uint64_t value);

json_t *
json_from_u128(uint128 value);

/** null for what is not finite. */
json_t *
json_from_real(double value);

/** 16 hexadecimal digits. */
json_t *
json_from_hash(uint64_t value);

/** null for NULL. */
json_t *
json_from_text(const char *text);

/**
 * null for NULL; else HdrHistogram's text, everything that it loses, and some percentiles for
 * people who look at the file.
 */
json_t *
json_from_histogram(struct json_writer *writer, const struct nb_histogram *histogram);

/* ---- reading ---- */

/** Where in a document a reader is: the way up to its root. */
struct json_place {
	const struct json_place *up; /* NULL: the root itself */
	const char *name;            /* NULL: `index` in an array */
	size_t index;
};

/**
 * The document that is being read. The first failure stays in `rc` and is the error of this
 * thread; from then on every function below does nothing and returns 0, false or NULL.
 */
struct json_reader {
	const char *file; /* for messages */
	int rc;
	const struct json_place *place;
	json_kind_names kinds; /* NULL: not known yet */
	const char *verb;  /* of a classic action, its only kind of operation; NULL: a job */
	size_t histograms; /* read so far: each takes 270 KB of memory, however short its text */
	char ***texts;     /* owner of the texts of JSON_T_BORROWED */
	size_t *text_count;
};

/** Histograms of one document. */
enum { JSON_HISTOGRAMS_MAX = 1 << 14 };

/** Reals of a file are within this: more is never measured, and each fits an integer. */
#define JSON_REAL_MAX 1e18

/** From here to JSON_LEAVE() the reader is at a member of that name, or with NULL at element 0. */
#define JSON_ENTER(reader, at, what) \
	struct json_place at = {.up = (reader)->place, .name = what}; \
	(reader)->place = &(at)

/** Back to where the reader was before. */
#define JSON_LEAVE(reader, at) ((reader)->place = (at).up)

/** Fail with NB_ERR_DATA: "FILE: PLACE: what is wrong". */
void
json_bad(struct json_reader *reader, const char *fmt, ...) NB_PRINTF(2, 3);

/** Call `read` at each element of an array of at most `most`; null has none. */
void
json_each(struct json_reader *reader, const json_t *array, size_t most,
	void (*read)(struct json_reader *reader, const json_t *element, void *into),
	void *into);

/* null is read as 0, and as no text. */

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

/** Yours to free(); NULL of null. */
char *
json_to_text(struct json_reader *reader, const json_t *json);

/**
 * Yours; NULL of null. It has the same counts, bounds of the classic table included, minimum,
 * maximum and sum as the one that was written.
 */
struct nb_histogram *
json_to_histogram(struct json_reader *reader, const json_t *json);

#endif /* REPORT_JSON_VALUE_H */
