/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PLUGIN_DATABASE_H
#define PLUGIN_DATABASE_H
/**
 * The verbs of the database thread, for an adapter that keeps them in a separate file. The
 * adapter defines those that its table names.
 */
#include "plugin.h"

int
database_open(struct nb_db **out, const struct nb_open_args *args);

int
database_close(struct nb_db *db);

int
database_flush(struct nb_db *db, uint32_t upto);

int
database_checkpoint(struct nb_db *db);

int
database_reset(struct nb_db *db);

void
database_stats(struct nb_db *db, nb_stat_emit emit, void *to);

#define ENGINE_OPEN .open = database_open, .close = database_close
#define ENGINE_SETTLE .flush = database_flush, .checkpoint = database_checkpoint

#endif /* PLUGIN_DATABASE_H */
