/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rounds of power loss. They need the calls of the writer recorded (record.h), which this
 * build cannot do yet.
 */
#include "base/error.h"
#include "crash/crash.h"

int
crash_run_power(struct crash_run *run)
{
	return error_set(NB_UNSUPPORTED,
		"%s: a loss of power cannot be simulated by this build",
		run->args->engine->name);
}
