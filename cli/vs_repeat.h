/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_VS_REPEAT_H
#define CLI_VS_REPEAT_H
/** One repetition of vs: an engine on new data, each step in its own process. */
#include <stdint.h>

struct nb_results;
struct options;

/** The directory of all repetitions. */
struct vs_place {
	char directory[4096]; /* a new directory in --path; removed at the end */
	char keys[4200];      /* "": the keys that the user named */
};

/** Returns an exit status; after a failure, which was reported, there is nothing to remove. */
int
vs_place_create(struct vs_place *place, const struct options *options);

void
vs_place_destroy(struct vs_place *place);

struct vs_repetition {
	const struct vs_place *place;
	const struct options *options; /* with `driver` and its options */
	const char *label;             /* of the contestant */
	uint32_t contestant;           /* its place on the command line, from 1 */
	uint32_t round;                /* from 1 */
	struct nb_results *results;    /* to append to */
	void (*tick)(void *arg);       /* called about once a second */
	void *tick_arg;
};

/**
 * STATUS_DONE: the results are kept. STATUS_INTERRUPTED: nothing of it is kept. Else it failed:
 * the failure was reported and is in the results.
 */
int
vs_repeat(const struct vs_repetition *repetition);

#endif /* CLI_VS_REPEAT_H */
