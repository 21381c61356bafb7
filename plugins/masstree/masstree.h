/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MASSTREE_MASSTREE_H
#define MASSTREE_MASSTREE_H
/**
 * Declarations that the two engine tables share: masstree.c (in memory) and persistent.c (with
 * logs and checkpoints).
 */
#include "internal.h"

/*
 * The plugin itself sets these limits. A record is one allocation. A delete that empties layers
 * descends again for each of them. Every 8 bytes of a key can be a layer.
 */
#define KEY_SIZE_MAX (1ull << 14)
#define VALUE_SIZE_MAX (1ull << 30)

/* The options from hugepages to compare exist for comparisons: section 6.2 of the paper. */
#define MASSTREE_OPTIONS(X) \
	X(HUGEPAGES, BOOL, "hugepages", "yes", "ask the kernel for pages of 2 MiB") \
	X(PREFETCH, BOOL, "prefetch", "yes", "prefetch nodes before they are searched") \
	X(ALLOCATOR, CHOICE, "allocator", "pool", "pool|malloc", \
		"where nodes and records are allocated") \
	X(PERMUTATION, BOOL, "permutation", "yes", \
		"keep the order of a leaf in one word; no: move its records at each insert") \
	X(COMPARE, CHOICE, "compare", "integer", "integer|bytes", \
		"how 8 bytes of a key are compared") \
	X(PERSISTENT, BOOL, "persistent", "no", \
		"keep the records on storage: logs and checkpoints") \
	X(LOG_DIRS, TEXT, "log_dirs", NULL, \
		"write logs in these directories, separated by commas; implies persistent") \
	X(CHECKPOINT_DIRS, TEXT, "checkpoint_dirs", NULL, \
		"write checkpoints in these directories, a thread each; implies persistent") \
	X(LOG_SEGMENT, BYTES, "log_segment", "16MiB", 64 << 10, 1 << 30, \
		"allocate logs in files of SIZE") \
	X(SYNC_INTERVAL, TIME, "sync_interval", "200ms", 1000000, 3600000000000, \
		"sync the logs every TIME, at durability periodic") \
	X(ACCEPT_LOSS, BOOL, "accept_loss", "no", "open a database whose logs lack changes")

enum { MASSTREE_OPTIONS(OPTION_ID) };
enum { ALLOCATOR_MALLOC = 1, COMPARE_BYTES = 1 }; /* in the order of the choices */

extern const struct nb_option masstree_options[];
extern const struct nb_engine masstree_persistent;

#define MASSTREE_CAPS \
	(NB_CAP_ORDERED | NB_CAP_CONCURRENT | NB_CAP_ATOMIC_BATCH | NB_CAP_SERIALIZABLE)

#define MASSTREE_TABLE \
	.abi = NB_ENGINE_ABI, .size = sizeof(struct nb_engine), .name = "masstree", \
	.summary = "trie of B+-trees in memory, after Masstree", .licence = "BSD-2-Clause", \
	.home = "part of mininb", .build = NB_ENGINE_BUILD, .version = masstree_version, \
	.key_size_max = KEY_SIZE_MAX, .value_size_max = VALUE_SIZE_MAX, \
	.options = masstree_options, .session_close = mt_session_close, .get = mt_get, \
	.multi_get = mt_multi_get, .release = mt_release, .scan_open = mt_scan_open, \
	.scan_next = mt_scan_next, .scan_close = mt_scan_close, .submit = submit

const char *
masstree_version(void);

/** Check the host's arguments, and make the tree's from them. */
int
masstree_args(
	struct mt_args *to, const struct nb_open_args *args, const struct nb_engine *table);

/** Emit each counter of the tree. */
void
masstree_stats(struct nb_db *db, nb_stat_emit emit, void *to);

#endif /* MASSTREE_MASSTREE_H */
