/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_LOCK_H
#define RUN_LOCK_H
/** A lock on a file, which the kernel releases when the process ends. */
#include <stdbool.h>

#include <mininb/mininb.h>

/**
 * Lock the open file: shared with other shared locks, or alone. The lock ends when `fd` and the
 * copies of it that forked processes have are closed. If another process keeps its lock for
 * half a second, NB_FAIL, with `what` and that process in the text. A file system without locks
 * is a warning.
 */
NB_MUST_CHECK int
lock_take(int fd, bool is_shared, const char *what);

#endif /* RUN_LOCK_H */
