/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KYOTOCABINET_DATABASE_H
#define KYOTOCABINET_DATABASE_H
/**
 * A database as a whole: type, options, opening, closing and counters. kyotocabinet.c reads
 * and writes records.
 */
#include "../common/database.h"

#include <kclangc.h>

/* MEMMAXSIZ in kcutil.h: larger sizes are unsupported and unchecked. */
#define RECORD_MAX (INT32_MAX / 2)
#define CACHE_KEY_MAX 0xfffffu /* KSIZMAX in kccachedb.h: CacheDB truncates longer keys */

/* In the order of the option's choices. */
enum { TREE, HASH, DIR, FOREST, GRASS, CACHE, STASH, PTREE, PHASH, TYPES };
#define BIT(type) (1u << (type))
#define IN_FILE (BIT(TREE) | BIT(HASH))
#define IN_MEMORY (BIT(GRASS) | BIT(CACHE) | BIT(STASH) | BIT(PTREE) | BIT(PHASH))
#define PAGED (BIT(TREE) | BIT(FOREST) | BIT(GRASS))
#define SORTED (PAGED | BIT(PTREE))
#define SAFE (BIT(DIR) | BIT(FOREST)) /* against a kill */

/*
 * Tunings have Kyoto Cabinet's names and defaults, which depend on the type. Each row
 * contains the types that have it, whether a database keeps it, and its bit in "opts".
 */
#define OPTIONS(X) \
	X(TYPE, 0, false, 0, CHOICE, "type", "tree", \
		"tree|hash|dir|forest|grass|cache|stash|ptree|phash", \
		"which database; from grass on they are in memory only") \
	X(TXN, 0, false, 0, BOOL, "transactions", "no", \
		"transactions and atomic batches, for one session at a time") \
	X(BNUM, IN_FILE | BIT(GRASS) | BIT(CACHE) | BIT(STASH), true, 0, U64, "bnum", NULL, \
		"buckets", 1, 1ull << 32, \
		"of the hash table, a tree's is of pages; tree, hash, grass, cache, stash") \
	X(MSIZ, IN_FILE, false, 0, BYTES, "msiz", NULL, 0, 1ull << 40, \
		"bytes of the file mapped with mmap(2), else 64MiB; tree, hash") \
	X(PSIZ, PAGED, true, 0, BYTES, "psiz", NULL, 64, 1 << 30, \
		"bytes of a page, else 8KiB; tree, forest, grass") \
	X(APOW, IN_FILE, true, 0, U64, "apow", NULL, "power of 2", 0, 15, \
		"alignment of records in the file; tree, hash") \
	X(FPOW, IN_FILE, true, 0, U64, "fpow", NULL, "power of 2", 0, 20, \
		"free blocks remembered; tree, hash") \
	X(DFUNIT, IN_FILE, false, 0, U64, "dfunit", NULL, "fragments", 0, 1 << 30, \
		"defragment a little after so many, 0: never; tree, hash") \
	X(SMALL, IN_FILE, true, 1 << 0, BOOL, "small", NULL, \
		"addresses of 32 bits; tree, hash") \
	X(LINEAR, IN_FILE, true, 1 << 1, BOOL, "linear", NULL, \
		"buckets are lists, not binary trees; tree, hash") \
	X(COMPRESS, PAGED | BIT(HASH) | BIT(DIR) | BIT(CACHE), true, 1 << 2, CHOICE, \
		"compress", NULL, "none|zlib|def|gz|lzo|lzma", \
		"records or pages; tree, hash, dir, forest, grass, cache")
enum { OPTIONS(OPTION_ID) OPTION_COUNT };

extern const struct nb_option database_options[];

struct nb_db {
	const struct nb_host *host;
	const struct nb_engine *engine; /* the engine's table for its type */
	KCDB *base;
	size_t value_size; /* of the workload, a hint */
	bool is_transactional;
	bool is_in_transaction;
	bool is_read_only;    /* the transaction is read-only */
	bool is_root_watched; /* transactional, with pages */
	bool is_root_old;     /* in the file: see save_root() */
};

/** The engine's table for the type, with or without transactions. */
const struct nb_engine *
variant(const struct nb_option_value *value);

/** Report the failure of the last call. */
int
database_failure(struct nb_db *db, const char *call);

static inline int
outcome(struct nb_db *db, const char *call, int32_t is_done)
{
	return is_done ? NB_OK : database_failure(db, call);
}

/* Like outcome(), but the error `code` is the answer `answer`. */
static inline int
outcome_or(struct nb_db *db, const char *call, int32_t is_done, int32_t code, int answer)
{
	if (is_done)
		return NB_OK;
	return kcdbecode(db->base) == code ? answer : database_failure(db, call);
}

#endif /* KYOTOCABINET_DATABASE_H */
