/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRASH_PRELOAD_H
#define CRASH_PRELOAD_H
/** The recorder, as it is found in this process. Its path: nb_crash_recorder_path(). */
#include <stdbool.h>

#include "crash/record.h"

struct preload {
	recorder_begin_fn begin;
	recorder_point_fn point;
};

/** False: it was not loaded when the process began. */
bool
preload_find(struct preload *recorder);

#endif /* CRASH_PRELOAD_H */
