/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BERKELEYDB_SHARING_H
#define BERKELEYDB_SHARING_H
/**
 * Which processes may have a directory open at once. All on the thread of the database.
 */
#include "environment.h"

/**
 * Call before the environment is opened; db->is_shared is set. Sets db->is_alone: this process
 * must recover a shared environment. Waits for processes that open or close it. A failure
 * leaves nothing to undo; sharing_leave() undoes a success.
 */
int
sharing_enter(struct nb_db *db, const char *path);

/** The environment is open: let others in. */
void
sharing_settle(struct nb_db *db);

/** Call before it is closed. Sets db->is_alone to false if others have it open. */
void
sharing_begin_leave(struct nb_db *db);

/** Call after it was closed. The last process removes what a shared environment needs. */
void
sharing_leave(struct nb_db *db, const char *path);

#endif /* BERKELEYDB_SHARING_H */
