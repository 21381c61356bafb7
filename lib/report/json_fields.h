/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_JSON_FIELDS_H
#define REPORT_JSON_FIELDS_H
/**
 * Plain structures as JSON objects, by tables that say what each member is called. One table
 * writes and reads, so that the two cannot drift apart.
 *
 * A missing member is read as 0 or empty, unless FIELD_MUST; a member that is in no table is
 * skipped. A value that does not fit its member is an error.
 */
#include "report/json_value.h"

enum json_field_type {
	JSON_T_NUMBER,   /* uint32_t, uint64_t, size_t */
	JSON_T_FLAG,     /* bool, or uint32_t that is 0 or 1 */
	JSON_T_REAL,     /* double */
	JSON_T_HASH,     /* uint64_t, in hexadecimal */
	JSON_T_CHARS,    /* char[] */
	JSON_T_TEXT,     /* char *, owned */
	JSON_T_BORROWED, /* const char *, never NULL; kept in reader->texts */
	JSON_T_NAME,     /* uint32_t or int, one of names */
	JSON_T_BITS,     /* uint32_t or uint64_t: an array of names */
	JSON_T_COUNTS, /* an array of numbers, one for each of names: an object of those above 0 */
	JSON_T_NUMBERS,   /* pointer to numbers, with a count */
	JSON_T_TEXTS,     /* char **, owned as its texts are, with a count */
	JSON_T_OBJECT,    /* a structure within, or some members of this one as an object */
	JSON_T_LIST,      /* structures behind a pointer, owned, or within; with a count */
	JSON_T_HISTOGRAM, /* pointer, owned */
	JSON_T_CUSTOM,    /* functions of its own, which see the whole structure */
};

enum {
	FIELD_MUST = 1 << 0,   /* it has to be there */
	FIELD_FILLED = 1 << 1, /* a TEXT is "" rather than null, a LIST is [] */
	FIELD_SPARSE = 1 << 2, /* an OBJECT in which numbers that are 0 are left out */
	FIELD_WITHIN = 1 << 3, /* a LIST within the structure */
	FIELD_SIZED = 1 << 4,  /* elements of a LIST, or an OBJECT, begin with their own size */
	FIELD_OF_JOB = 1 << 5, /* derived of a classic action, and then not read */
	/* left out where it is 0, NULL, false, the first name or an empty text or list */
	FIELD_IF_USED = 1 << 6,
};

/** How a member of two results side by side becomes one. */
enum json_merge {
	MERGE_KEEP,  /* the first's, or by hand (merge.c) */
	MERGE_SUM,   /* also of histograms; never beyond the highest number */
	MERGE_KNOWN, /* the sum; 0 if one is 0, which says that it is not known */
	MERGE_MOST,
	MERGE_LEAST,
	MERGE_ANY,  /* flags and bits that one has */
	MERGE_ALL,  /* those that both have */
	MERGE_FILL, /* a text: the first one that is not empty */
};

struct json_names {
	const char *const *names;
	uint32_t count;
	bool are_kinds; /* NB_OP_*; of a classic action the first is its verb */
	const char *(*name_of)(uint32_t index); /* instead of `names` */
};

struct json_field {
	const char *name;
	enum json_field_type type;
	uint32_t flags; /* FIELD_* */
	size_t offset, size;
	size_t element;                  /* size of one of an array */
	size_t count_offset, count_size; /* of the number of elements */
	size_t most;                     /* elements */
	const struct json_names *names;
	const struct json_field *fields; /* of an OBJECT, or of elements */
	enum json_merge merge;           /* of an OBJECT each of its fields says */
	const char *what;                /* it means; for the schema */
	json_t *(*write)(struct json_writer *writer, const void *from); /* of a CUSTOM */
	void (*read)(struct json_reader *reader, const json_t *json, void *into);
	void (*check)(
		struct json_reader *reader, const void *into); /* after reading; or NULL */
};

/* Rows of a table: s is the structure without `struct`, n the name, m the member, how the rule by
 * which it is merged, without MERGE_; then the meaning of the member, and what else is set:
 * `.flags = FIELD_MUST`. */
/* clang-format off */
#define FIELD_SIZE(s, m) sizeof(((struct s *)NULL)->m)
#define FIELD_ROW(s, n, t, m) \
	.name = n, .type = t, .offset = offsetof(struct s, m), .size = FIELD_SIZE(s, m)
#define FIELD_PLAIN(s, n, t, m, how, ...) \
	{FIELD_ROW(s, n, t, m), .merge = MERGE_##how, .what = __VA_ARGS__}
#define FIELD_NUMBER(s, n, m, ...) FIELD_PLAIN(s, n, JSON_T_NUMBER, m, __VA_ARGS__)
#define FIELD_FLAG(s, n, m, ...) FIELD_PLAIN(s, n, JSON_T_FLAG, m, __VA_ARGS__)
#define FIELD_REAL(s, n, m, ...) FIELD_PLAIN(s, n, JSON_T_REAL, m, __VA_ARGS__)
#define FIELD_HASH(s, n, m, ...) FIELD_PLAIN(s, n, JSON_T_HASH, m, __VA_ARGS__)
#define FIELD_CHARS(s, n, m, ...) FIELD_PLAIN(s, n, JSON_T_CHARS, m, __VA_ARGS__)
#define FIELD_TEXT(s, n, m, ...) FIELD_PLAIN(s, n, JSON_T_TEXT, m, __VA_ARGS__)
#define FIELD_FILLED_TEXT(s, n, m, ...) FIELD_TEXT(s, n, m, __VA_ARGS__, .flags = FIELD_FILLED)
#define FIELD_BORROWED(s, n, m, ...) FIELD_PLAIN(s, n, JSON_T_BORROWED, m, __VA_ARGS__)
#define FIELD_HISTOGRAM(s, n, m, ...) FIELD_PLAIN(s, n, JSON_T_HISTOGRAM, m, __VA_ARGS__)
#define FIELD_NAME(s, n, m, l, ...) FIELD_PLAIN(s, n, JSON_T_NAME, m, __VA_ARGS__, .names = &(l))
#define FIELD_BITS(s, n, m, l, ...) FIELD_PLAIN(s, n, JSON_T_BITS, m, __VA_ARGS__, .names = &(l))
#define FIELD_COUNTS(s, n, m, l, ...) \
	FIELD_PLAIN(s, n, JSON_T_COUNTS, m, __VA_ARGS__, .names = &(l), .element = FIELD_SIZE(s, m[0]))
#define FIELD_OBJECT(s, n, m, f, ...) FIELD_PLAIN(s, n, JSON_T_OBJECT, m, __VA_ARGS__, .fields = f)
/** Some members of the same structure, put together. */
#define FIELD_PART(n, f, how, ...) \
	{.name = n, .type = JSON_T_OBJECT, .fields = f, .merge = MERGE_##how, .what = __VA_ARGS__}
#define FIELD_COUNTED(s, n, t, m, c, x, ...) \
	FIELD_PLAIN(s, n, t, m, __VA_ARGS__, .element = FIELD_SIZE(s, m[0]), \
		.count_offset = offsetof(struct s, c), .count_size = FIELD_SIZE(s, c), .most = x)
#define FIELD_LIST(s, n, m, c, f, x, ...) \
	FIELD_COUNTED(s, n, JSON_T_LIST, m, c, x, __VA_ARGS__, .fields = f)
#define FIELD_NUMBERS(s, n, m, c, x, ...) FIELD_COUNTED(s, n, JSON_T_NUMBERS, m, c, x, __VA_ARGS__)
#define FIELD_TEXTS(s, n, m, c, x, ...) FIELD_COUNTED(s, n, JSON_T_TEXTS, m, c, x, __VA_ARGS__)
#define FIELD_CUSTOM(s, n, m, w, r, ...) \
	FIELD_PLAIN(s, n, JSON_T_CUSTOM, m, __VA_ARGS__, .write = w, .read = r)
/* clang-format on */

/** Write all fields, up to one without a name, into an object. */
void
json_write_fields(struct json_writer *writer, json_t *object, const struct json_field *fields,
	const void *from);

/**
 * Read them into a structure, in which all fields are zero. After a failure it has the fields
 * that were read before, and is destroyed as always.
 */
void
json_read_fields(struct json_reader *reader, const json_t *object,
	const struct json_field *fields, void *into);

/** An unsigned number of 1, 4 or 8 bytes. */
uint64_t
json_get_number(const void *at, size_t size);

void
json_set_number(void *at, size_t size, uint64_t wide);

/** The index of a name; NB_ERR_DATA lists all names. */
uint32_t
json_to_name(struct json_reader *reader, const json_t *json, const struct json_names *names);

/** The name of a value in a document: NULL beyond the last. */
const char *
json_name(const struct json_names *names, const char *verb, json_kind_names kinds,
	uint32_t index);

#endif /* REPORT_JSON_FIELDS_H */
