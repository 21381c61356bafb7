/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_JSON_FIELDS_H
#define REPORT_JSON_FIELDS_H
/**
 * Converts plain structures to JSON objects and back, by tables that name each member. The
 * same table writes and reads, so both always agree.
 *
 * A missing member is read as 0 or empty, unless it has FIELD_MUST. A member that is in no
 * table is skipped. A value that does not fit its member is an error.
 */
#include "report/json_value.h"

enum json_field_type {
	JSON_T_NUMBER,   /* uint32_t, uint64_t, size_t */
	JSON_T_FLAG,     /* bool, or uint32_t that is 0 or 1 */
	JSON_T_REAL,     /* double */
	JSON_T_HASH,     /* uint64_t, in hexadecimal */
	JSON_T_CHARS,    /* char[] */
	JSON_T_TEXT,     /* char *, owned */
	JSON_T_BORROWED, /* const char *, never NULL; its text is kept in reader->texts */
	JSON_T_NAME,     /* uint32_t or int; one of the names */
	JSON_T_BITS,     /* uint32_t or uint64_t; an array of names */
	JSON_T_COUNTS,  /* an array of numbers, one for each name; an object of those above 0 */
	JSON_T_NUMBERS, /* pointer to an array of numbers, with a count */
	JSON_T_TEXTS,   /* char **, array and texts owned; with a count */
	JSON_T_OBJECT,  /* a nested structure, or some members of this structure as an object */
	JSON_T_LIST,    /* an array of structures: an owned pointer or embedded; with a count */
	JSON_T_HISTOGRAM, /* pointer, owned */
	JSON_T_CUSTOM,    /* converted by its own functions, which get the whole structure */
};

enum {
	FIELD_MUST = 1 << 0,   /* a missing member is an error */
	FIELD_FILLED = 1 << 1, /* an empty TEXT is "" instead of null, an empty LIST is [] */
	FIELD_SPARSE = 1 << 2, /* an OBJECT without its numbers that are 0 */
	FIELD_WITHIN = 1 << 3, /* a LIST embedded in the structure */
	FIELD_SIZED = 1 << 4,  /* elements of a LIST, or an OBJECT, begin with their own size */
	FIELD_OF_JOB = 1 << 5, /* derived in classic actions, and therefore not read there */
	/* left out if it is 0, NULL, false, the first name, or an empty text or list */
	FIELD_IF_USED = 1 << 6,
};

/** How the values of a member in two parallel results are merged. */
enum json_merge {
	MERGE_KEEP,  /* keep the first value, or merge.c sets it */
	MERGE_SUM,   /* add, also histograms; limited to the maximum of the type */
	MERGE_KNOWN, /* add; 0 if either is 0, because 0 means unknown */
	MERGE_MOST,
	MERGE_LEAST,
	MERGE_ANY,  /* flags and bits that either result has */
	MERGE_ALL,  /* flags and bits that both results have */
	MERGE_FILL, /* the first text that is not empty */
};

struct json_names {
	const char *const *names;
	uint32_t count;
	bool are_kinds; /* NB_OP_*; in a classic action the first is its verb */
	const char *(*name_of)(uint32_t index); /* replaces `names` */
};

struct json_field {
	const char *name;
	enum json_field_type type;
	uint32_t flags; /* FIELD_* */
	size_t offset, size;
	size_t element;                  /* size of an array element */
	size_t count_offset, count_size; /* of the member with the number of elements */
	size_t most;                     /* limit for the number of elements */
	const struct json_names *names;
	const struct json_field *fields; /* of an OBJECT, or of the elements of a LIST */
	enum json_merge merge; /* for an OBJECT, each of its fields has its own rule */
	const char *what;      /* meaning, for the schema */
	json_t *(*write)(struct json_writer *writer, const void *from); /* for CUSTOM */
	void (*read)(struct json_reader *reader, const json_t *json, void *into);
	void (*check)(
		/* called after reading; may be NULL */
		struct json_reader *reader, const void *into);
};

/*
 * Rows of a table: s is the structure without `struct`, n the name, m the member, how the
 * merge rule without MERGE_. After these come the meaning of the member and further
 * settings: `.flags = FIELD_MUST`.
 */
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
/** An object made from some members of the same structure. */
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

/** Write all fields into an object. A field without a name ends the table. */
void
json_write_fields(struct json_writer *writer, json_t *object, const struct json_field *fields,
	const void *from);

/**
 * Read all fields into a structure that is zeroed. After a failure the structure has the
 * fields read so far; destroy it as usual.
 */
void
json_read_fields(struct json_reader *reader, const json_t *object,
	const struct json_field *fields, void *into);

/** Read or write an unsigned number of 1, 4 or 8 bytes. */
uint64_t
json_get_number(const void *at, size_t size);

void
json_set_number(void *at, size_t size, uint64_t wide);

/** The index of a name. For an unknown name it fails with NB_ERR_DATA and lists all names. */
uint32_t
json_to_name(struct json_reader *reader, const json_t *json, const struct json_names *names);

/** The name for an index; NULL beyond the last. */
const char *
json_name(const struct json_names *names, const char *verb, json_kind_names kinds,
	uint32_t index);

#endif /* REPORT_JSON_FIELDS_H */
