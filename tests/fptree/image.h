/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_IMAGE_H
#define FPTREE_IMAGE_H
/**
 * What a crash may leave of a pool: the recording gone through again, and at any
 * moment of it the images that the memory might hold.
 *
 * There is what is durable for certain, and for each line the stores that are not:
 * those since the line was last flushed and then fenced by the same thread. A
 * crash cuts each line's list anywhere, independently of all other lines, and of the store
 * behind the cut any of the aligned words may be there as well.
 *
 * A replay and its images belong to one thread. Lack of memory ends the program.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "recorder.h"

/** A line that is not all durable. */
struct dirty_line {
	uint32_t line;
	uint32_t *stores; /* events, in their order */
	uint32_t count, room;
	uint32_t flushed[RECORD_THREADS]; /* so many were there when this thread flushed */
};

struct replay {
	const struct record *record;
	size_t next; /* event */
	size_t parts;
	uint8_t *durable;
	uint64_t bytes; /* of all parts by now */
	struct dirty_line *dirty;
	size_t dirty_count, dirty_room;
	uint32_t *dirty_of_line; /* index + 1 */
};

/** Where one line's list is cut. */
struct cut {
	uint32_t stores; /* that are there as a whole */
	uint8_t words;   /* of the next one; by bit, the line's words */
};

/** One image: how many it differs from what is durable is told by its cuts. */
struct crash {
	size_t count; /* dirty lines of the replay, in its order */
	struct cut *cuts;
	size_t room;
};

/** The files. */
struct image {
	const struct record *record;
	struct {
		uint8_t *at;
		uint64_t bytes;
	} parts[RECORD_PARTS];
	size_t count;          /* parts that are there */
	bool is_mended;        /* set it: footers.h is asked for each image */
	uint64_t mended_count; /* images in which there was something to mend */
};

void
replay_begin(struct replay *replay, const struct record *record);

/**
 * The next event, which is about to take effect if it is a fence, and has done so if it is
 * anything else. NULL after the last.
 */
const struct event *
replay_next(struct replay *replay);

void
replay_end(struct replay *replay);

/**
 * The number of images that crash_choose() knows to make here: 1 if all is durable, all
 * there are if they are few (but for torn stores, of which some), else some of each kind.
 */
uint32_t
crash_count(const struct replay *replay);

/**
 * The k-th of them: none of the stores that are not durable, then all of them, then the
 * others, in part by lot from the seed. The same each time.
 */
void
crash_choose(const struct replay *replay, struct crash *crash, uint32_t k, uint64_t seed);

/** Nothing is lost: what a process leaves that was killed. */
void
crash_choose_all(const struct replay *replay, struct crash *crash);

void
crash_free(struct crash *crash);

/** The lines and stores of it, for a human; addresses are for addr2line. */
void
crash_print(const struct replay *replay, const struct crash *crash, FILE *to);

/**
 * Make the parts in the record's directory what the crash left, whatever was done to
 * them; nobody has them open. False: errno.
 */
bool
image_write(struct image *image, const struct replay *replay, const struct crash *crash);

/** Let go of the files; they stay. */
void
image_end(struct image *image);

#endif /* FPTREE_IMAGE_H */
