/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef QDBM_H
#define QDBM_H
/**
 * What the two engines of QDBM share, depot.c and villa.c. Each has a nb_db and a
 * nb_session of its own.
 */
#include "../common/plugin.h"

#include <depot.h>

/** In the order of the choices of the option `type`. */
enum type { HASH, TREE };

/** Options, in the order of the table. */
enum { TYPE, BNUM, ALIGN, FBPSIZ, LRECMAX, NIDXMAX, COMPRESSION };

extern const struct nb_option options_table[];

extern const struct nb_engine depot_engine, villa_engine;

/** All of a table that is the same for both. */
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

/** Of depot_engine, which is that of the default options. */
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

/** Check the options and find the file that they mean. */
int
file_find(struct file *file, const struct nb_open_args *args, enum type type);

/** For dpopen() and vlopen(), whose modes are the same bits. */
int
file_mode(const struct nb_open_args *args);

/** They have failed with this errno. */
int
file_failure(const struct file *file, const struct nb_host *host, const char *call, int error);

/** Remove a half-made file, which would prevent a new database. */
void
file_drop_new(const struct file *file);

#endif /* QDBM_H */
