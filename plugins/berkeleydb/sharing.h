/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BERKELEYDB_SHARING_H
#define BERKELEYDB_SHARING_H
/**
 * Which processes may have a directory open at once, and which of them are alone with
 * it. All on the thread of the database.
 */
#include "environment.h"

/**
 * Before the environment is opened; db->is_shared says how. Sets db->is_alone, which
 * with a shared environment says that it has to be recovered, by this process. Waits for
 * others that are opening or closing it. A failure leaves nothing to undo; what succeeded
 * is undone by sharing_leave().
 */
int
sharing_enter(struct nb_db *db, const char *path);

/** It is open: let others in. */
void
sharing_settle(struct nb_db *db);

/** It is going to be closed, and db->is_alone tells whether others have it open. */
void
sharing_begin_leave(struct nb_db *db);

/** After the environment was closed. What only a shared one needs is removed by the last. */
void
sharing_leave(struct nb_db *db, const char *path);

#endif /* BERKELEYDB_SHARING_H */
