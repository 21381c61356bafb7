/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PLUGIN_LSM_H
#define PLUGIN_LSM_H
/**
 * Code that the adapters of LevelDB and RocksDB share. RocksDB's C API began as LevelDB's
 * and has the same names with another prefix. Before this header, an adapter includes the
 * API and defines LSM_NAME, for example as leveldb, and LSM(name) as leveldb_##name.
 */
#include "plugin.h"

typedef LSM(iterator_t) lsm_iterator;
typedef LSM(writebatch_t) lsm_batch;

#define LSM_TEXT_OF(name) #name
#define LSM_TEXT(name) LSM_TEXT_OF(name)

/** Fail with the library's error text, and free the text. */
static inline int
lsm_failure(const struct nb_host *host, const char *call, char *error)
{
	int rc = host->fail(NB_FAIL, "%s: %s", call, error);
	LSM(free)(error);
	return rc;
}

static inline int
lsm_outcome(const struct nb_host *host, const char *call, char *error)
{
	return error == NULL ? NB_OK : lsm_failure(host, call, error);
}

static inline int
lsm_open_failure(const struct nb_host *host, char *error)
{
	bool is_locked = strstr(error, "/LOCK: Resource temporarily unavailable") != NULL;
	return lsm_failure(
		host, is_locked ? "another process has it open" : LSM_TEXT(LSM(open)), error);
}

static inline void
lsm_fill(lsm_batch *batch, const struct nb_write *writes, size_t count)
{
	LSM(writebatch_clear)(batch);
	for (size_t i = 0; i < count; i++) {
		const struct nb_write *w = &writes[i];
		const char *key = address(w->key), *value = address(w->value);
		if (w->is_delete)
			LSM(writebatch_delete)(batch, key, w->key.size);
		else
			LSM(writebatch_put)(batch, key, w->key.size, value, w->value.size);
	}
}

/** A scan of a session. */
struct lsm_scan {
	lsm_iterator *iterator;
	bool is_backward;
	bool is_fresh; /* the iterator is on a record that scan_next has not returned yet */
};

/** seek_backward moves the iterator to the last key that is not above `from`. */
static inline int
lsm_scan_open(struct lsm_scan *scan, lsm_iterator *iterator, const struct nb_scan_args *args,
	void (*seek_backward)(lsm_iterator *, const char *, size_t))
{
	const char *from = address(args->from);
	*scan = (struct lsm_scan){iterator, (args->flags & NB_SCAN_BACKWARD) != 0, true};
	if (args->from.size != 0 && scan->is_backward)
		seek_backward(iterator, from, args->from.size);
	else if (args->from.size != 0)
		LSM(iter_seek)(iterator, from, args->from.size);
	else if (scan->is_backward)
		LSM(iter_seek_to_last)(iterator);
	else
		LSM(iter_seek_to_first)(iterator);
	return NB_OK;
}

static inline int
lsm_scan_outcome(const struct lsm_scan *scan, const struct nb_host *host)
{
	char *error = NULL;
	LSM(iter_get_error)(scan->iterator, &error);
	return lsm_outcome(host, LSM_TEXT(LSM(iter_get_error)), error);
}

/** An invalid iterator, at its end or after an error, must not be moved. */
static inline int
lsm_scan_next(struct lsm_scan *scan, const struct nb_host *host, struct nb_slice *key,
	struct nb_slice *value)
{
	lsm_iterator *iterator = scan->iterator;
	if (!scan->is_fresh && LSM(iter_valid)(iterator)) {
		if (scan->is_backward)
			LSM(iter_prev)(iterator);
		else
			LSM(iter_next)(iterator);
	}
	scan->is_fresh = false;
	if (!LSM(iter_valid)(iterator)) {
		int rc = lsm_scan_outcome(scan, host);
		return rc != NB_OK ? rc : NB_NOT_FOUND;
	}
	key->data = LSM(iter_key)(iterator, &key->size);
	value->data = LSM(iter_value)(iterator, &value->size);
	return NB_OK;
}

/** LevelDB's iterator skips unreadable blocks, so this also checks the iterator's error. */
static inline int
lsm_scan_close(struct lsm_scan *scan, const struct nb_host *host)
{
	int rc = lsm_scan_outcome(scan, host);
	LSM(iter_destroy)(scan->iterator);
	scan->iterator = NULL;
	return rc;
}

/** Emit a number that the library returned as text, and free the text. */
static inline void
lsm_emit(const char *name, const char *unit, char *text, nb_stat_emit emit, void *to)
{
	if (text != NULL)
		emit(to, name, unit, NB_STAT_GAUGE, strtoull(text, NULL, 10));
	LSM(free)(text);
}

enum { LSM_LEVELS = 7 }; /* kNumLevels, num_levels */

/** Emit the number of tables of each level. */
static inline void
lsm_emit_levels(struct nb_db *db, char *(*property)(struct nb_db *db, const char *name),
	nb_stat_emit emit, void *to)
{
	for (int level = 0; level < LSM_LEVELS; level++) {
		char wanted[40], name[40];
		snprintf(wanted, sizeof(wanted), LSM_TEXT(LSM_NAME) ".num-files-at-level%d",
			level);
		snprintf(name, sizeof(name), "tables_level%d", level);
		lsm_emit(name, "files", property(db, wanted), emit, to);
	}
}

#endif /* PLUGIN_LSM_H */
