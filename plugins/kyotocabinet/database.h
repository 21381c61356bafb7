/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KYOTOCABINET_DATABASE_H
#define KYOTOCABINET_DATABASE_H
/**
 * A database as a whole: its type and options, opening, closing and counters. kyotocabinet.c
 * reads and writes records.
 */
#include "../common/database.h"

#include <kclangc.h>

/* MEMMAXSIZ in kcutil.h: beyond it nothing is promised, and nothing checked. */
#define RECORD_MAX (INT32_MAX / 2)
#define CACHE_KEY_MAX 0xfffffu /* KSIZMAX in kccachedb.h: CacheDB cuts longer keys */

/* In the order of the option's choices. */
enum { TREE, HASH, DIR, FOREST, GRASS, CACHE, STASH, PTREE, PHASH, TYPES };
#define BIT(type) (1u << (type))
#define IN_FILE (BIT(TREE) | BIT(HASH))
#define IN_MEMORY (BIT(GRASS) | BIT(CACHE) | BIT(STASH) | BIT(PTREE) | BIT(PHASH))
#define PAGED (BIT(TREE) | BIT(FOREST) | BIT(GRASS))
#define SORTED (PAGED | BIT(PTREE))
#define SAFE (BIT(DIR) | BIT(FOREST)) /* from a kill */

/* In the order of the table: tunings from BNUM on, flags from SMALL on. */
enum { TYPE, TXN, BNUM, MSIZ, PSIZ, APOW, FPOW, DFUNIT, SMALL, LINEAR, COMPRESS, OPTIONS };

extern const struct nb_option database_options[];

struct nb_db {
	const struct nb_host *host;
	const struct nb_engine *engine; /* the table of its type */
	KCDB *base;
	size_t value_size; /* of the workload, a hint */
	bool is_transactional;
	bool is_in_transaction;
	bool is_read_only;    /* the transaction */
	bool is_root_watched; /* a transactional one with pages */
	bool is_root_old;     /* in the file: see save_root() */
};

/** The table of the type, with or without transactions. */
const struct nb_engine *
variant(const struct nb_option_value *value);

/** The last call has failed. */
int
database_failure(struct nb_db *db, const char *call);

static inline int
outcome(struct nb_db *db, const char *call, int32_t is_done)
{
	return is_done ? NB_OK : database_failure(db, call);
}

/* The same for calls whose failure may be an answer: `code` means `answer`. */
static inline int
outcome_or(struct nb_db *db, const char *call, int32_t is_done, int32_t code, int answer)
{
	if (is_done)
		return NB_OK;
	return kcdbecode(db->base) == code ? answer : database_failure(db, call);
}

#endif /* KYOTOCABINET_DATABASE_H */
