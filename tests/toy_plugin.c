/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A table with every verb that a job can need. Jobs are checked against it before the toy
 * replaces it, so none of these verbs is ever called.
 */
#include <mininb/engine.h>

static const char *
version(void)
{
	return "0";
}

static void
never(void)
{
}

#define NEVER(verb) .verb = (__typeof__(((struct nb_engine *)0)->verb))never

static const struct nb_engine engine = {.abi = NB_ENGINE_ABI,
	.size = sizeof(engine),
	.name = "toy",
	.summary = "stands in for the engine of a test",
	.licence = "BSD-2-Clause",
	.home = "part of mininb's tests",
	.build = NB_ENGINE_BUILD,
	.caps = NB_CAP_ORDERED | NB_CAP_CONCURRENT | NB_CAP_MULTI_PROCESS,
	.durabilities = NB_DUR_BIT(NB_DUR_NONE),
	.auto_durability = NB_DUR_NONE,
	.version = version,
	NEVER(open),
	NEVER(close),
	NEVER(session_open),
	NEVER(session_close),
	NEVER(get),
	NEVER(put),
	NEVER(del),
	NEVER(scan_open),
	NEVER(scan_next),
	NEVER(scan_close),
	NEVER(batch),
	NEVER(multi_get),
	NEVER(begin),
	NEVER(commit),
	NEVER(abort),
	NEVER(insert),
	NEVER(submit),
	NEVER(reap)};
NB_ENGINE_PLUGIN(engine)
