/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PLUGIN_HOST_H
#define PLUGIN_HOST_H
/** A host for tests of plugin parts. It stores the last text of fail() and of log(). */
#include <mininb/engine.h>

extern const struct nb_host plugin_host;

/** The last failure of this thread. */
extern _Thread_local char host_failure[1024];

/** The last warning, and the number of warnings since the start. */
extern char host_logged[1024];
extern int host_logs;

#endif /* PLUGIN_HOST_H */
