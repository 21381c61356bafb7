/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_SEGMENT_H
#define FPTREE_SEGMENT_H
/**
 * A run of operations on a tree, from its opening to its close, recorded; and the
 * model at each moment of the recording.
 */
#include <stdbool.h>
#include <stdint.h>

#include "recorder.h"
#include "workload.h"

enum { HANG_S = 120 }; /* what takes longer, with an image, is not going to end */

/** What it begins with, and has recorded. */
struct segment {
	const struct workload *workload;
	const char *path;
	unsigned threads;     /* 1 or 2 */
	struct model first;   /* maybe with operations in flight, */
	struct model decided; /* and what had become of these */
	struct record record; /* for the caller to free */
	size_t made_at;       /* event by which a new tree had its name; 0: it is not new */
};

/** Follows the model through a recording. */
struct follower {
	const struct workload *workload;
	unsigned threads;
	struct model model;
	const struct model *decided; /* what was in flight at the beginning came to this */
};

struct follower
follower_of(const struct segment *segment);

/** The next event of the recording. */
void
follow(struct follower *follower, const struct event *event);

bool
note_is_return(const struct event *event);

/**
 * Open what is in the directory, or make it, and do `count` operations from `first` on.
 * False: something was not as it must be; see subject_fault().
 */
bool
segment_live(struct segment *segment, bool is_new, uint64_t first, uint64_t count);

#endif /* FPTREE_SEGMENT_H */
