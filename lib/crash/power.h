/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRASH_POWER_H
#define CRASH_POWER_H
/** The moments of a recording at which states are computed, and the kinds of these states. */
#include "base/rng.h"
#include "crash/image.h"

/** Classes of moments; a moment may belong to several. */
enum {
	POWER_PROMISE, /* just before a sync or an operation returns */
	POWER_PENDING, /* the same, and a change is pending */
	POWER_LATE,    /* the same, for an operation */
	POWER_PAGES,   /* several pages of a file are pending, or one that can be torn */
	POWER_NAMES,   /* changes of names or sizes are pending, or data older than one */
	POWER_PAIR,    /* the second sync in a row */
	POWER_ANY,
	POWER_KILL, /* the recording has all changes so far */
	POWER_CLASSES
};

/** Numbers of the entry in flight, ascending; image_count(): after the last entry. */
struct power_list {
	uint64_t *done, count;
};

/** Whether a state may be made with entry `done` in flight. */
bool
power_is_moment(const struct image *image, uint64_t done);

struct power_moments {
	struct power_list of[POWER_CLASSES];
	uint64_t turn; /* selects other kinds of states at the same moments */
};

NB_MUST_CHECK int
power_moments_create(struct power_moments *moments, const struct image *image, bool is_coarse);

void
power_moments_destroy(struct power_moments *moments);

struct power_draw {
	uint64_t done, seed;
	uint32_t kind; /* IMAGE_* */
};

/** Draw state `i` of `total`. `has_losses`: the level promises something about power loss. */
void
power_draw(struct power_draw *out, const struct power_moments *moments, uint64_t i,
	uint64_t total, bool has_losses, struct rng *rng);

#endif /* CRASH_POWER_H */
