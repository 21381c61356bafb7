/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MARIADB_SCHEMA_H
#define MARIADB_SCHEMA_H
/** The SQL of tables: definitions, and the statements that each session prepares. */
#include "../common/sql.h"

enum {
	KEY_SIZE_MAX = 3072, /* of an InnoDB index */
	SIZES = 9,           /* of lists: 1, 2, 4, ... 256 keys or rows */
	LIST_MAX = 1 << (SIZES - 1),
	JOINED = 16 /* minimum number of keys for a join */
};

/* The bits of a scan's statement. */
enum { SCAN_KEYS = 1, SCAN_DOWN = 2, SCAN_BEYOND = 4 /* excludes the first key */ };

/* The statements of a table. */
enum {
	GET,
	INSERT,
	DEL,
	MERGE,
	SCAN,                /* + SCAN_* */
	GETS = SCAN + 8,     /* + i: of 2^i keys; each row begins with its key */
	PUTS = GETS + SIZES, /* + i: of 2^i rows */
	STATEMENTS = PUTS + SIZES
};

/** A table and its SQL text. schema_make() makes all members. */
struct sql_table {
	const struct nb_table *of;
	uint32_t scan_parameters;
	bool can_merge;
	struct buffer name;    /* `database`.`table`, with a NUL */
	struct buffer columns; /* `k`, `v`, with a NUL */
	struct buffer
		update; /* update clause of a put whose key exists: `v`=VALUES(`v`), with a NUL */
	struct buffer merge;                  /* update clause of a merge, likewise */
	struct buffer statements[STATEMENTS]; /* with a NUL; data is NULL: no such statement */
};

/** Append formatted text. Returns false if out of memory. */
bool
text_add(struct buffer *text, const char *fmt, ...) NB_PRINTF(2, 3);

/** Fill a zeroed table. Returns false if out of memory. */
bool
schema_make(struct sql_table *table, const struct nb_table *of, const char *database);

/** Append the columns for CREATE TABLE. key_size: a hint. */
bool
schema_define(struct buffer *text, const struct nb_table *of, uint64_t key_size);

/** Whether a list of `keys` keys is a join. If so, NULL keys fill it up. */
bool
schema_joins(const struct nb_table *of, size_t keys);

void
schema_free(struct sql_table *table);

/**
 * SQL expressions: the sum of two 8-byte values, "%s" and "%s", modulo 2^64; and the age in
 * a value.
 */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define SQL_REVERSE "REVERSE"
#else
#define SQL_REVERSE
#endif
#define SQL_NUMBER(bytes) "CONV(HEX(" SQL_REVERSE "(" bytes ")),16,10)"
#define SQL_SIGNED(bytes) "CAST(CONV(HEX(" SQL_REVERSE "(" bytes ")),16,-10) AS SIGNED)"
#define SQL_SUM(a, b) \
	"MOD(CAST(" a " AS DECIMAL(20))+CAST(" b " AS DECIMAL(20)),18446744073709551616)"
#define SQL_BYTES(number) SQL_REVERSE "(UNHEX(LPAD(CONV(" number ",10,16),16,'0')))"

#endif /* MARIADB_SCHEMA_H */
