/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A durability level is given or refused, never approximated: an engine that
 * quietly runs at another level than the one asked for is compared unfairly,
 * and no number in the result would show it. That a level is honoured cannot be
 * seen from here, only that it is accepted exactly where it is offered.
 */
#include <stdio.h>

#include "check/suite.h"

enum { LEVELS = NB_DUR_COMMIT + 1 };

static bool
offers(const struct suite *s, uint32_t level)
{
	return (s->engine->durabilities & NB_DUR_BIT(level)) != 0;
}

static int
open_at(struct suite *s, uint32_t level)
{
	s->main.durability = level;
	return place_open(&s->main, NB_OPEN_CREATE);
}

void
check_offered_levels_open(struct suite *s)
{
	char call[64];
	bool keeps = (s->engine->caps & NB_CAP_SYNTHETIC) == 0;
	for (uint32_t level = 0; level < LEVELS; level++) {
		if (!offers(s, level))
			continue;
		if (!place_make(s, &s->main, s->engine, s->args->options))
			return;
		int rc = open_at(s, level);
		if (rc != NB_OK) {
			snprintf(call, sizeof(call), "open at the offered level %s",
				nb_durability_name(level));
			suite_wrong(s, call, rc, "NB_OK");
			return;
		}
		if (!expect_put(s, s->main.session, SLICE("k"), SLICE("v")))
			return;
		if (keeps && !expect_value(s, s->main.session, SLICE("k"), SLICE("v")))
			return;
		place_remove(&s->main);
	}
}

void
check_other_levels_are_refused(struct suite *s)
{
	char call[64];
	uint32_t refused = 0;
	for (uint32_t level = 0; level < LEVELS; level++) {
		if (offers(s, level))
			continue;
		if (!place_make(s, &s->main, s->engine, s->args->options))
			return;
		snprintf(call, sizeof(call), "open at the level %s, which is not offered,",
			nb_durability_name(level));
		int rc = open_at(s, level);
		if (rc != NB_UNSUPPORTED)
			suite_wrong(s, call, rc, "NB_UNSUPPORTED");
		else
			suite_failed(s, call, rc);
		place_remove(&s->main);
		refused++;
	}
	if (refused == 0)
		suite_skip(s, "it offers every level");
}
