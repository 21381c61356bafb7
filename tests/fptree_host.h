/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_HOST_H
#define FPTREE_HOST_H
/** A host for the parts of fptree, which keeps the last text of fail() and of log(). */
#include <mininb/engine.h>

extern const struct nb_host fptree_host;

/** The last failure in this thread. */
extern _Thread_local char host_failure[1024];

/** The last warning, and the number of warnings since the start. */
extern char host_logged[1024];
extern int host_logs;

#endif /* FPTREE_HOST_H */
