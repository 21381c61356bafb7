/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_TRACE_H
#define MININB_TRACE_H
/**
 * Traces: operations that were recorded somewhere, in the formats of others and one of
 * our own; turned into one another as a stream, in memory that does not grow.
 * Of each format, and what its operations become: extra/doc/traces.md.
 */
#include <mininb/mininb.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	NB_TRACE_AUTO = 0,      /* reading: found by looking at the file */
	NB_TRACE_YCSB_TEXT = 1, /* "INSERT 6284781860667377211", "SCAN n m" */
	NB_TRACE_YCSB_LOG = 2,  /* "READ usertable user6284781860667377211 [ <all fields>]" */
	NB_TRACE_U64 = 3,       /* bare little-endian 64-bit keys */
	NB_TRACE_KEYS = 4,      /* bare keys of key_size bytes: keys.bin */
	NB_TRACE_ROCKSDB = 5,   /* RocksDB's trace_analyzer, human-readable */
	NB_TRACE_CACHE_CSV = 6, /* Twitter's and Meta's cache traces */
	NB_TRACE_MININB = 7,    /* our own: operations, sizes, due times, compact */
	NB_TRACE_FORMATS = 8
};

/** X(ID, NAME) of each format but NB_TRACE_AUTO, in the order of the numbers. */
#define NB_TRACE_LIST(X, READ_ONLY) \
	X(YCSB_TEXT, "ycsb-text") \
	X(YCSB_LOG, "ycsb-log") \
	X(U64, "u64") \
	X(KEYS, "keys") \
	READ_ONLY(ROCKSDB, "rocksdb") X(CACHE_CSV, "cache-csv") X(MININB, "mininb")

/** "auto", or a name of NB_TRACE_LIST(); NULL if there is no such format. */
const char *
nb_trace_format_name(uint32_t format);

/** One line on what it is; NULL if there is none. */
const char *
nb_trace_format_help(uint32_t format);

#define NB_TRACE_SKIP_BAD (1u << 0) /* count damaged lines and go on */
#define NB_TRACE_KEY_LITTLE \
	(1u << 1)                   /* ycsb-text, ycsb-log: the number's bytes little-endian */
#define NB_TRACE_KEY_TEXT (1u << 2) /* ycsb-log: the key is the text, "user628..." */

/** How to read or write one. Append only. */
struct nb_trace_options {
	size_t size;
	const char *path;    /* "-": stdin or stdout */
	uint32_t format;     /* NB_TRACE_* */
	uint32_t flags;      /* NB_TRACE_* bits */
	uint64_t key_size;   /* NB_TRACE_KEYS: bytes of a key */
	uint64_t value_size; /* of a write whose size the format does not tell */
	uint32_t bare_kind;  /* writing: what operations without a kind become (NB_OP_READ) */
	uint32_t spare_u32;
};

#define NB_TRACE_OPTIONS_INIT \
	{ \
		.size = sizeof(struct nb_trace_options), .key_size = 16, .value_size = 100 \
	}

/** What came of reading a trace. Append only. */
struct nb_trace_counts {
	size_t size;
	uint64_t ops; /* handed out; those that have no kind are counted only here */
	uint64_t inserts, reads, updates, deletes, scans;
	uint64_t others; /* not handed out: of a kind that mininb does not do */
	uint64_t
		ignored; /* lines that are no operations and need not be: YCSB's status lines */
	uint64_t bad;    /* damaged ones that were skipped */
	uint64_t bytes;  /* read */
	char first_bad[256]; /* number and text of the first of them */
	uint64_t upserts, rmws;
};

/**
 * Turn one into another. Written aside and renamed; what `to` cannot hold (the kind of an
 * operation, say) is NB_ERR_USAGE, unless it is nothing. A damaged line is NB_ERR_DATA
 * with its number and text. *counts, if not NULL, is filled in also on a failure.
 */
NB_MUST_CHECK int
nb_trace_convert(const struct nb_trace_options *from, const struct nb_trace_options *to,
	struct nb_trace_counts *counts, nb_progress_fn progress, void *progress_arg);

#ifdef __cplusplus
}
#endif
#endif /* MININB_TRACE_H */
