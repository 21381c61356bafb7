/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRASH_POWER_H
#define CRASH_POWER_H
/** At which moments of a recording states are made, and which. */
#include "base/rng.h"
#include "crash/image.h"

/** Classes of moments; one may be of several. */
enum {
	POWER_PROMISE, /* a sync or an operation is about to have returned */
	POWER_PENDING, /* likewise, and something is pending */
	POWER_LATE,    /* likewise, of an operation */
	POWER_PAGES,   /* several pages of a file are pending, or one that can be torn */
	POWER_NAMES,   /* changes of names or sizes are pending, or data older than one */
	POWER_PAIR,    /* the second sync in a row */
	POWER_ANY,
	POWER_KILL, /* all that was done is known */
	POWER_CLASSES
};

/** Numbers of the entry in flight, ascending; that of all entries: after the last one. */
struct power_list {
	uint64_t *done, count;
};

struct power_moments {
	struct power_list of[POWER_CLASSES];
	uint64_t turn; /* another number draws other kinds of states at the same moments */
};

NB_MUST_CHECK int
power_moments_create(struct power_moments *moments, const struct image *image, bool is_coarse);

void
power_moments_destroy(struct power_moments *moments);

struct power_draw {
	uint64_t done, seed;
	uint32_t kind; /* IMAGE_* */
};

/** State `i` of `total`. `has_losses`: the level promises something at a power loss. */
void
power_draw(struct power_draw *out, const struct power_moments *moments, uint64_t i,
	uint64_t total, bool has_losses, struct rng *rng);

#endif /* CRASH_POWER_H */
