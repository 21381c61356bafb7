/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_RECORDER_H
#define FPTREE_RECORDER_H
/**
 * A recorder of the stores, flushes and fences that a program makes in a pool, in order.
 *
 * The engine's own come through pm.h, compiled with FPTREE_RECORD. Those of libpmemobj
 * come from the functions of libpmem that it imports; interpose.c replaces these. The
 * recorder does not see libpmemobj's plain stores. It takes their effect on a line at each
 * flush of that line. For lines that libpmemobj has flushed before, it takes it at each fence
 * as well.
 *
 * A pool is the parts in one directory, concatenated in the order of their names. The
 * recorder finds addresses in the kernel's list of mappings. So a part may be mapped
 * anywhere, any number of times and by any code.
 *
 * Threads: one recording at a time, of all threads. Stores of two threads to one line must
 * exclude each other, because the recorder records a store before it happens.
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
	EVENT_NOTE   /* a note of the caller */
};

struct event {
	uint64_t what;    /* STORE: index in record->bytes; PART: its size; NOTE: any */
	const void *site; /* STORE, FLUSH, FENCE: address in the program */
	uint32_t line;    /* STORE, FLUSH: number in the pool */
	uint8_t kind;     /* enum event_kind */
	uint8_t thread;   /* < RECORD_THREADS */
	uint8_t at, size; /* STORE: range within the line */
	bool is_whole;    /* STORE: seen later, as a change of the line: never torn */
};

/** A part of the pool; its name is relative to the directory. */
struct record_part {
	char name[48];
	uint64_t bytes;
};

struct record {
	char *directory;
	struct record_part parts[RECORD_PARTS]; /* the parts at the end */
	size_t first_parts, parts_count;        /* their number at the beginning, at the end */
	uint8_t *first;                         /* content of all parts at the beginning */
	uint64_t first_bytes;
	struct event *events;
	size_t count, room;
	uint8_t *bytes; /* of the stores */
	size_t bytes_count, bytes_room;
	uint64_t strays; /* stores of the engine outside all parts */
	uint64_t unseen; /* lines that it flushed with bytes stored around pm.h */
};

/**
 * Begin to record what the program does to the pool in this directory. The directory must
 * contain at least one part (*.pmem). False: errno is set. The pool may be opened before or
 * after.
 */
bool
record_begin(struct record *record, const char *directory);

/** Stop recording. The record stays until record_free(). */
void
record_end(void);

void
record_note(uint64_t what);

void
record_free(struct record *record);

/** List the parts in a directory, in order. Returns their number, or -1. */
int
record_parts(const char *directory, struct record_part parts[RECORD_PARTS]);

enum { RECORD_FUSED = 99 };

/**
 * End the process with _exit(RECORD_FUSED) at the n-th fence from now, before it takes
 * effect. The first fence is 1; 0: never. Works with or without a recording.
 */
void
record_fuse(uint64_t n);

/** The number of fences since the start of the process. */
uint64_t
record_fences(void);

/* For interpose.c: like pm_record_flush() and pm_record_fence(), for libpmemobj. */
void
record_foreign_flush(const void *at, size_t size, const void *site);
void
record_foreign_fence(const void *site);
/** Called before libpmem makes a copy. */
void
record_foreign_store(const void *at, const void *from, size_t size, const void *site);
#endif /* FPTREE_RECORDER_H */
