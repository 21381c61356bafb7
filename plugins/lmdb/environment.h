/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LMDB_ENVIRONMENT_H
#define LMDB_ENVIRONMENT_H
/**
 * An environment with its only database: options, opening and closing. lmdb.c reads and
 * writes records.
 */
#include "../common/database.h"

#include <lmdb.h>

enum { KEY_SIZE_MAX = 511 }; /* MDB_MAXKEYSIZE in LMDB's default build */

struct nb_db {
	const struct nb_host *host;
	MDB_env *env;
	MDB_dbi records;
	bool is_read_only;
};

extern const struct nb_option environment_options[];

/** Fail with LMDB's text, and with advice where that text has none. */
int
environment_failure(const struct nb_host *host, const char *call, int error);

/** Inline for get and put. */
static inline int
environment_outcome(const struct nb_host *host, const char *call, int error)
{
	return error == MDB_SUCCESS ? NB_OK : environment_failure(host, call, error);
}

#endif /* LMDB_ENVIRONMENT_H */
