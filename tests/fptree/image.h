/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_IMAGE_H
#define FPTREE_IMAGE_H
/**
 * The images of a pool that a crash may leave: a replay of a recording, and at any moment of
 * it the images that the memory might contain.
 *
 * The replay keeps what is durable for certain, and for each line the stores that are not.
 * These are the stores since the last flush of the line that a fence of the same thread
 * followed. A crash cuts each line's list anywhere, independently of other lines. Of the
 * store after the cut, any of the aligned words may be there as well.
 *
 * One thread uses a replay and its images. Lack of memory ends the program.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "recorder.h"

/** A line with stores that are not durable yet. */
struct dirty_line {
	uint32_t line;
	uint32_t *stores; /* indexes of events, in order */
	uint32_t count, room;
	uint32_t flushed[RECORD_THREADS]; /* number of stores at this thread's last flush */
};

struct replay {
	const struct record *record;
	size_t next; /* index of the next event */
	size_t parts;
	uint8_t *durable;
	uint64_t bytes; /* size of all parts so far */
	struct dirty_line *dirty;
	size_t dirty_count, dirty_room;
	uint32_t *dirty_of_line; /* index in `dirty` + 1; 0: none */
};

/** The position at which one line's list is cut. */
struct cut {
	uint32_t stores; /* number of complete stores */
	uint8_t words;   /* words of the next store that are there; a bit each */
};

/** One image: the cut of each dirty line. */
struct crash {
	size_t count; /* the replay's dirty lines, in its order */
	struct cut *cuts;
	size_t room;
};

/** The files of an image. */
struct image {
	const struct record *record;
	struct {
		uint8_t *at;
		uint64_t bytes;
	} parts[RECORD_PARTS];
	size_t count;          /* number of parts that exist */
	bool is_mended;        /* set it to call footers_mend() for each image */
	uint64_t mended_count; /* images that footers_mend() changed */
};

void
replay_begin(struct replay *replay, const struct record *record);

/**
 * Return the next event, or NULL after the last. A fence has not taken effect yet; any other
 * event has.
 */
const struct event *
replay_next(struct replay *replay);

void
replay_end(struct replay *replay);

/**
 * The number of images that crash_choose() can make here. 1 if all is durable. All
 * combinations if they are few, and some with torn stores. Else some of each kind.
 */
uint32_t
crash_count(const struct replay *replay);

/**
 * Choose the k-th image: without any store that is not durable, with all of them, then the
 * others. The seed chooses some of these at random. The choice is reproducible.
 */
void
crash_choose(const struct replay *replay, struct crash *crash, uint32_t k, uint64_t seed);

/** Choose the image without a loss, as a killed process leaves it. */
void
crash_choose_all(const struct replay *replay, struct crash *crash);

void
crash_free(struct crash *crash);

/** Print the lines and stores of the crash, for a human, with addresses for addr2line. */
void
crash_print(const struct replay *replay, const struct crash *crash, FILE *to);

/**
 * Write the image to the parts in the record's directory, whatever they contain. No process
 * may have them open. False: errno is set.
 */
bool
image_write(struct image *image, const struct replay *replay, const struct crash *crash);

/** Unmap the files; they stay. */
void
image_end(struct image *image);

#endif /* FPTREE_IMAGE_H */
