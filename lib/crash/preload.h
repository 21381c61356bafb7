/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRASH_PRELOAD_H
#define CRASH_PRELOAD_H
/**
 * The functions of the recorder that is loaded in this process. Its path:
 * nb_crash_recorder_path().
 */
#include <stdbool.h>

#include "crash/syscall_log.h"

struct preload {
	recorder_begin_fn begin;
	recorder_point_fn point;
	recorder_boot_fn boot;
};

/** Find the recorder. False: it is not loaded. */
bool
preload_find(struct preload *recorder);

#endif /* CRASH_PRELOAD_H */
