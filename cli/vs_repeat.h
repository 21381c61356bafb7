/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_VS_REPEAT_H
#define CLI_VS_REPEAT_H
/**
 * One repetition of vs, or one run of a matrix cell: an engine on new data, with a process for
 * each step.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cmd;
struct nb_results;
struct options;

/** The directory of all repetitions. */
struct vs_place {
	char directory[4096]; /* a new directory in --path; removed at the end */
	char keys[4200];      /* "": the user's key file */
	char shuffled[4200];  /* the keys in the order of get; "": that of put */
};

/** Returns an exit status. After a failure, which was reported, nothing needs to be removed. */
int
vs_place_create(struct vs_place *place, const struct options *options);

void
vs_place_destroy(struct vs_place *place);

/** Whether --shuffle has keys to shuffle; a usage error was reported. */
int
vs_check(const struct options *options);

enum { VS_STEPS = 2 };

/** The actions of a repetition, in order; returns their number. */
size_t
vs_steps(const struct options *options, const struct cmd *steps[VS_STEPS]);

/** 0..count-1 in a random order that depends on the seed and the round. */
void
vs_draw_order(size_t *order, size_t count, uint64_t seed, uint32_t round);

struct vs_repetition {
	const struct vs_place *place;
	const struct options *options; /* of the user's action, with `driver` and its options */
	const char *label;             /* of the contestant */
	uint32_t contestant;           /* its position on the command line, from 1 */
	uint32_t round;                /* from 1 */
	bool keeps_data;               /* keep the database */
	struct nb_results *results;    /* destination */
	void (*tick)(void *arg);       /* called about once a second */
	void *tick_arg;
};

/**
 * STATUS_DONE: the results are appended. STATUS_INTERRUPTED: nothing is appended. Else the
 * repetition failed: the failure was reported and is in the results.
 */
int
vs_repeat(const struct vs_repetition *repetition);

#endif /* CLI_VS_REPEAT_H */
