/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef QDBM_H
#define QDBM_H
/**
 * Declarations for the two engines of QDBM, depot.c and villa.c. Each has its own nb_db and
 * nb_session.
 */
#include "../common/plugin.h"

#include <depot.h>

/** In the order of the choices of the option `type`. */
enum type { HASH, TREE };

/* The size of a page with so many entries still fits an int: see the limits in villa.c. */
enum { LRECMAX_MAX = 512, NIDXMAX_MAX = 1024 };

/* Each row begins with its name and the types that have it. */
#define OPTIONS(X) \
	X(TYPE, ~0u, CHOICE, "type", "hash", "hash|btree", \
		"Depot, a hash file, or Villa, a B+ tree") \
	X(BNUM, 1u << HASH, U64, "bnum", NULL, "buckets", 1, 400000000, \
		"hash, when made: default twice the expected records, or 8191") \
	X(ALIGN, 1u << HASH, BYTES, "align", NULL, 0, 1 << 20, \
		"hash: records are padded to a multiple of this, so that they can grow") \
	X(FBPSIZ, ~0u, U64, "fbpsiz", NULL, "blocks", 0, 1 << 20, \
		"free blocks that are remembered: default 16, of btree 128") \
	X(LRECMAX, 1u << TREE, U64, "lrecmax", NULL, "records", 3, LRECMAX_MAX, \
		"btree: most records of a leaf, default 49") \
	X(NIDXMAX, 1u << TREE, U64, "nidxmax", NULL, "indexes", 4, NIDXMAX_MAX, \
		"btree: most indexes of an inner node, default 192") \
	X(COMPRESSION, 1u << TREE, CHOICE, "compression", NULL, "none|zlib|lzo|bzip2", \
		"btree, when made: of leaves, default none")
enum { OPTIONS(OPTION_ID) };

extern const struct nb_option options_table[];

extern const struct nb_engine depot_engine, villa_engine;

/** The part of an engine's table that is equal for both. */
#define QDBM_TABLE \
	ENGINE_BASE("qdbm"), \
		.licence = "LGPL-2.1-or-later", .home = "https://dbmx.net/qdbm/", \
		.durabilities = NB_DUR_BIT(NB_DUR_NONE), .auto_durability = NB_DUR_NONE, \
		.options = options_table, .open = db_open, .close = db_close, ENGINE_RECORDS, \
		.insert = insert, ENGINE_SCAN, .flush = flush, .checkpoint = checkpoint, \
		.stats = stats

static inline const char *
version(void)
{
	return dpversion;
}

/** For depot_engine, the engine of the default options. */
const struct nb_engine *
qdbm_variant(const struct nb_option_value *value);

/** error: errno of the call, or 0. */
int
qdbm_failure(const struct nb_host *host, const char *call, int error);

/** The file of a database. */
struct file {
	char path[4096];
	bool is_new;
};

/** Check the options and find the corresponding file. */
int
file_find(struct file *file, const struct nb_open_args *args, enum type type);

/** The mode for dpopen() and vlopen(), which have equal bits. */
int
file_mode(const struct nb_open_args *args);

/** Report that one of them failed with this errno. */
int
file_failure(const struct file *file, const struct nb_host *host, const char *call, int error);

/** Remove a partly created file, which would prevent a new database. */
void
file_drop_new(const struct file *file);

#endif /* QDBM_H */
