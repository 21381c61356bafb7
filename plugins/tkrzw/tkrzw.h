/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TKRZW_H
#define TKRZW_H
/**
 * What the three parts of the plugin share: options.c knows what the options make of
 * a database, database.c has it as a whole, tkrzw.c what is done with its records.
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
	bool is_dirty; /* a skip list has writes that reads do not see yet */
	char *file;    /* path of the database's file; NULL: in memory */
	char *marker;  /* path; NULL: not at commit */
	char *directory;
};

/* --- options.c --- */

extern const struct nb_option options_table[];

/** Of the string of parameters: 1 KiB is enough for all of them with their longest values. */
enum { PARAMS_SIZE = 1024 };

enum type
options_type(const struct nb_option_value *value);

/** The file is read and written by pread(2) and pwrite(2), and not mapped. */
bool
options_are_positional(const struct nb_option_value *value);

/** Else what is acknowledged at 'commit' would not be safe: durability can be 'none' only. */
bool
options_are_strong(const struct nb_option_value *value);

/** Refuse what would be ignored. */
int
options_check(const struct nb_open_args *args);

/** What to open: a string of parameters for tkrzw_dbm_open(). */
void
options_write(char params[PARAMS_SIZE], const struct nb_open_args *args);

/** Refuse a database that was made otherwise than the options say. */
int
options_check_existing(TkrzwDBM *base, const struct nb_open_args *args);

/* --- database.c --- */

/** The last call has failed. */
int
database_failure(const struct nb_host *host, const char *call);

/** Each property of the database, until `take` says that it is enough. */
bool
database_inspect(
	TkrzwDBM *base, bool (*take)(void *to, const char *name, const char *value), void *to);

/** Write out; of a skip list, keep the last version of each key. */
int
database_synchronize(struct nb_db *db, bool is_hard);

#endif /* TKRZW_H */
