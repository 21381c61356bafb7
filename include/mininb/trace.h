/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MININB_TRACE_H
#define MININB_TRACE_H
/**
 * Traces: recorded operations, in the formats of other programs and in mininb's own, and their
 * streaming conversion. extra/doc/traces.md describes the formats and their operations.
 */
#include <mininb/mininb.h>

#ifdef __cplusplus
extern "C" {
#endif

/** X(ID, NAME) of each format that mininb can write, READ_ONLY(ID, NAME) of the others. */
#define NB_TRACE_LIST(X, READ_ONLY) \
	X(YCSB_TEXT, "ycsb-text")     /* "INSERT 6284781860667377211", "SCAN n m" */ \
	X(YCSB_LOG, "ycsb-log")       /* "READ usertable user62847 [ <all fields>]" */ \
	X(U64, "u64")                 /* bare little-endian 64-bit keys */ \
	X(KEYS, "keys")               /* bare keys of key_size bytes: keys.bin */ \
	READ_ONLY(ROCKSDB, "rocksdb") /* RocksDB's trace_analyzer, human-readable */ \
	X(CACHE_CSV, "cache-csv")     /* Twitter's and Meta's cache traces */ \
	X(MININB, "mininb")           /* mininb's own: operations, sizes, due times, compact */

#define NB_TRACE_ID(id, name) NB_TRACE_##id,
enum { NB_TRACE_AUTO, NB_TRACE_LIST(NB_TRACE_ID, NB_TRACE_ID) NB_TRACE_FORMATS };
#undef NB_TRACE_ID

/** "auto", or a name of NB_TRACE_LIST(); NULL: unknown. */
const char *
nb_trace_format_name(uint32_t format);

#define NB_TRACE_SKIP_BAD (1u << 0) /* count damaged lines and go on */
#define NB_TRACE_KEY_LITTLE \
	(1u << 1)                   /* ycsb-text, ycsb-log: the number's bytes little-endian */
#define NB_TRACE_KEY_TEXT (1u << 2) /* ycsb-log: the key is the text, "user628..." */
#define NB_TRACE_ARRAY \
	(1u << 3) /* of a replay: u64 is mapped, its keys are used again at its end */

/** How to read or write a trace. Append only. */
struct nb_trace_options {
	size_t size;
	const char *path;    /* "-": stdin or stdout */
	uint32_t format;     /* NB_TRACE_* */
	uint32_t flags;      /* NB_TRACE_* bits */
	uint64_t key_size;   /* NB_TRACE_KEYS: bytes of a key */
	uint64_t value_size; /* of a write, if the format has no sizes */
	uint32_t bare_kind;  /* writing: the kind for operations without one (NB_OP_READ) */
	uint32_t spare_u32;
};

#define NB_TRACE_OPTIONS_INIT \
	{ \
		.size = sizeof(struct nb_trace_options), .key_size = 16, .value_size = 100 \
	}

/** Counts of a reader. Append only. */
struct nb_trace_counts {
	size_t size;
	uint64_t ops; /* returned; bare keys are counted only here */
	uint64_t inserts, reads, updates, deletes, scans;
	uint64_t others;     /* not returned: of kinds that mininb does not have */
	uint64_t ignored;    /* lines that are not operations, as expected: status lines */
	uint64_t bad;        /* damaged lines that were skipped */
	uint64_t bytes;      /* read */
	char first_bad[256]; /* number and text of the first damaged line */
	uint64_t upserts, rmws;
};

/**
 * Convert a trace. The output is written to a temporary file and renamed. NB_ERR_USAGE: the
 * format of `to` cannot hold an operation. NB_ERR_DATA: a damaged line, with its number and
 * text. *counts, if not NULL, is also set on failure.
 */
NB_MUST_CHECK int
nb_trace_convert(const struct nb_trace_options *from, const struct nb_trace_options *to,
	struct nb_trace_counts *counts, nb_progress_fn progress, void *progress_arg);

#ifdef __cplusplus
}
#endif
#endif /* MININB_TRACE_H */
