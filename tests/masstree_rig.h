/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MASSTREE_RIG_H
#define MASSTREE_RIG_H
/** Helpers for tests of masstree's tree: open a tree, and make keys in several formats. */
#include "internal.h"
#include "plugin_host.h"
#include "racing.h"
#include "unit.h"

enum { RIG_KEY_MAX = 64, RIG_VALUE_MAX = 3000, RIG_SIZES = 4 };

struct rig_format {
	const char *name;
	struct nb_slice (*key)(
		uint8_t *room, uint64_t number); /* keys are in the order of the numbers */
	size_t values[RIG_SIZES];                /* sizes of values */
	bool has_no_permutation;
	bool is_wide; /* has more keys of one slice than a leaf of one line has room for */
};

/** Format i, of those that fit the leaf size of this build; i < rig_format_count(). */
const struct rig_format *
rig_format(int i);
int
rig_format_count(void);

struct nb_db *
rig_open(const struct rig_format *format);

struct nb_session *
rig_session(struct nb_db *tree, uint32_t id);

/** Check that mt_check() finds no violation and `records` records (-1: any number). */
void
rig_check(struct nb_db *tree, int64_t records);

/** The number of a key of the format, below `count`. */
uint64_t
rig_number(const struct rig_format *format, struct nb_slice key, uint64_t count);

struct nb_slice
rig_value(uint8_t *room, const struct rig_format *format, uint64_t *random, uint64_t mark);

#endif /* MASSTREE_RIG_H */
