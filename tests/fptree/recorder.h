/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_RECORDER_H
#define FPTREE_RECORDER_H
/**
 * What a program does to a pool: each store, flush and fence, in order.
 *
 * Those of the engine come through pm.h, which is compiled with FPTREE_RECORD, those
 * of libpmemobj from the functions of libpmem that it imports, which this program has
 * instead (interpose.c). libpmemobj's plain stores are seen by no one: what they have
 * made of a line is taken at each flush of it, and for lines that libpmemobj
 * has flushed before also at each fence.
 *
 * A pool is the parts in one directory, one after the other in the order of their
 * names. Addresses are told by the kernel's list of mappings, so it is all the same
 * where, how often and by whom a part is mapped.
 *
 * Threads: one recording at a time, of all threads; stores of two threads to one
 * line must exclude each other, as they are recorded before they are made.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RECORD_LINE = 64, RECORD_THREADS = 4, RECORD_PARTS = 32 };

enum event_kind {
	EVENT_STORE,
	EVENT_FLUSH, /* of one line */
	EVENT_FENCE, /* about to take effect */
	EVENT_PART,  /* the pool has grown by a part, all zeros */
	EVENT_NOTE   /* the caller's */
};

struct event {
	uint64_t what;    /* STORE: its bytes, in record->bytes; PART: its size; NOTE: any */
	const void *site; /* STORE, FLUSH, FENCE: where in the program */
	uint32_t line;    /* STORE, FLUSH: of the pool */
	uint8_t kind;     /* enum event_kind */
	uint8_t thread;   /* < RECORD_THREADS */
	uint8_t at, size; /* STORE: within the line */
	bool is_whole;    /* STORE: seen as a change of the line, not as a store: never torn */
};

/** Of a part; the name is relative to the directory. */
struct record_part {
	char name[48];
	uint64_t bytes;
};

struct record {
	char *directory;
	struct record_part parts[RECORD_PARTS]; /* those of the end */
	size_t first_parts, parts_count;        /* at the beginning, at the end */
	uint8_t *first;                         /* all parts' content at the beginning */
	uint64_t first_bytes;
	struct event *events;
	size_t count, room;
	uint8_t *bytes; /* of the stores */
	size_t bytes_count, bytes_room;
	uint64_t strays; /* stores of the engine that were to no part */
	uint64_t unseen; /* lines that it flushed with bytes that it was not seen to store */
};

/**
 * Record from now on what is done to the pool in this directory, which must hold one
 * at least of its parts (*.pmem). False: errno says why. The pool may be
 * opened before or after.
 */
bool
record_begin(struct record *record, const char *directory);

/** No more. What was recorded stays until record_free(). */
void
record_end(void);

void
record_note(uint64_t what);

void
record_free(struct record *record);

/** The parts in a directory in their order; how many, or -1. */
int
record_parts(const char *directory, struct record_part parts[RECORD_PARTS]);

enum { RECORD_FUSED = 99 };

/**
 * With or without a recording: end the process with _exit(RECORD_FUSED) at the n-th
 * fence from now, the first being 1, before it takes effect. 0: never.
 */
void
record_fuse(uint64_t n);

/** Fences since the start of the process. */
uint64_t
record_fences(void);

/* For interpose.c: as pm_record_flush() and pm_record_fence(), of libpmemobj's. */
void
record_foreign_flush(const void *at, size_t size, const void *site);
void
record_foreign_fence(const void *site);
/** A copy that libpmem is asked for: before it is made. */
void
record_foreign_store(const void *at, const void *from, size_t size, const void *site);
#endif /* FPTREE_RECORDER_H */
