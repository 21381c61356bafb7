/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TKRZW_H
#define TKRZW_H
/**
 * Declarations that this plugin's files share: options.c processes options, database.c
 * contains operations on the whole database, tkrzw.c operations on records.
 */
#include "../common/database.h"

#include <tkrzw_langc.h>

enum type { HASH, TREE, SKIP, TINY, BABY, CACHE, STDHASH, STDTREE, TYPES };

extern const struct database_type {
	const char *name;  /* as in the choices of the option `type` */
	const char *class; /* Tkrzw's name */
	const char *file;  /* NULL: in memory */
	bool is_ordered;
} database_types[TYPES];

struct nb_db {
	const struct nb_host *host;
	TkrzwDBM *base;
	enum type type;
	bool is_writable;
	bool is_commit;
	bool is_positional;
	bool is_dirty; /* a skip list has writes that are not visible to reads yet */
	char *file;    /* path of the database file; NULL: in memory */
	char *marker;  /* path; NULL: not at 'commit' */
	char *directory;
};

/* --- options.c --- */

extern const struct nb_option options_table[];

/** Size of the parameter string: 1 KiB holds all parameters with their longest values. */
enum { PARAMS_SIZE = 1024 };

enum type
options_type(const struct nb_option_value *value);

/** Whether the file is accessed with pread(2) and pwrite(2) instead of a mapping. */
bool
options_are_positional(const struct nb_option_value *value);

/**
 * Whether acknowledged writes at 'commit' are durable. If not, only durability 'none' is
 * offered.
 */
bool
options_are_strong(const struct nb_option_value *value);

/** Reject options that would be ignored. */
int
options_check(const struct nb_open_args *args);

/** Write the parameter string for tkrzw_dbm_open(). */
void
options_write(char params[PARAMS_SIZE], const struct nb_open_args *args);

/** Reject a database whose settings differ from the options. */
int
options_check_existing(TkrzwDBM *base, const struct nb_open_args *args);

/* --- database.c --- */

/** Report the failure of the last call. */
int
database_failure(const struct nb_host *host, const char *call);

/** Call `take` for each property of the database until it returns true. */
bool
database_inspect(
	TkrzwDBM *base, bool (*take)(void *to, const char *name, const char *value), void *to);

/** Synchronize the database; for a skip list, keep the last version of each key. */
int
database_synchronize(struct nb_db *db, bool is_hard);

#endif /* TKRZW_H */
