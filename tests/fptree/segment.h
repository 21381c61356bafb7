/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_SEGMENT_H
#define FPTREE_SEGMENT_H
/**
 * A segment: recorded operations on a tree, from its opening to its close, and the model at
 * each moment of the recording.
 */
#include <stdbool.h>
#include <stdint.h>

#include "recorder.h"
#include "workload.h"

enum { HANG_S = 120 }; /* a run, or a test of an image, that takes longer hangs */

/** A segment: its initial state and its recording. */
struct segment {
	const struct workload *workload;
	const char *path;
	unsigned threads;     /* 1 or 2 */
	struct model first;   /* initial model, maybe with operations in flight */
	struct model decided; /* the same, after these were decided */
	struct record record; /* for the caller to free */
	size_t made_at;       /* number of events until a new tree had its name; 0: not new */
};

/** Follows the model through a recording. */
struct follower {
	const struct workload *workload;
	unsigned threads;
	struct model model;
	const struct model *decided; /* the model after the initial operations in flight */
};

struct follower
follower_of(const struct segment *segment);

/** Apply the next event of the recording. */
void
follow(struct follower *follower, const struct event *event);

bool
note_is_return(const struct event *event);

/**
 * Open the pool in the directory, or make it, and execute `count` operations from `first` on.
 * False: a check failed; see subject_fault().
 */
bool
segment_live(struct segment *segment, bool is_new, uint64_t first, uint64_t count);

#endif /* FPTREE_SEGMENT_H */
