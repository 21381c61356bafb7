/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRASH_POWER_H
#define CRASH_POWER_H
/** At which moments of a recording states are made, and which. */
#include "base/rng.h"
#include "crash/image.h"

/** Numbers of the entry in flight; that of all entries: after the last one. */
struct power_moments {
	uint64_t *any, *boundaries, *kills;
	uint64_t any_count;
	uint64_t boundary_count; /* a sync or an operation is about to have returned */
	uint64_t kill_count;     /* moments at which all that was done is known */
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
