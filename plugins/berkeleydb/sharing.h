/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BERKELEYDB_SHARING_H
#define BERKELEYDB_SHARING_H
/**
 * Controls which processes may have a directory open at once. All functions run on the
 * database thread.
 */
#include "environment.h"

/**
 * Call it before opening the environment, with db->is_shared set. Sets db->is_alone: this
 * process must recover a shared environment. Waits for processes that open or close it. A
 * failed call needs no sharing_leave().
 */
int
sharing_enter(struct nb_db *db, const char *path);

/** Admit other processes, after the environment is open. */
void
sharing_settle(struct nb_db *db);

/** Call it before closing. Sets db->is_alone to false if other processes have it open. */
void
sharing_begin_leave(struct nb_db *db);

/** Call it after closing. The last process removes the files of a shared environment. */
void
sharing_leave(struct nb_db *db, const char *path);

#endif /* BERKELEYDB_SHARING_H */
