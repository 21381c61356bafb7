/* SPDX-License-Identifier: BSD-2-Clause */
#include "run/system.h"

/** The numbers behind `known`, as a list. */
static const uint64_t *
numbers(const struct system_counts *counts)
{
	return &counts->known + 1;
}

struct system_counts
system_between(const struct system_counts *before, const struct system_counts *after)
{
	struct system_counts grown = {.known = before->known & after->known};
	uint64_t *into = &grown.known + 1;
	for (int i = 0; i < SYSTEM_COUNTS; i++)
		into[i] = numbers(after)[i] > numbers(before)[i]
			? numbers(after)[i] - numbers(before)[i]
			: 0;
	return grown;
}

void
system_add(struct system_counts *sum, const struct system_counts *more)
{
	uint64_t *into = &sum->known + 1;
	bool is_empty = sum->known == 0;
	for (int i = 0; i < SYSTEM_COUNTS; i++) {
		is_empty &= into[i] == 0;
		into[i] += numbers(more)[i];
	}
	sum->known = is_empty ? more->known : sum->known & more->known;
}
