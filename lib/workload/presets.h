/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_PRESETS_H
#define WORKLOAD_PRESETS_H
/** Where presets are, and what of a job file is told of one. */
#include <mininb/job.h>

/** Path of the preset; NB_ERR_USAGE names the nearest. *out is yours to free(). */
NB_MUST_CHECK int
presets_find(char **out, const char *name);

#endif /* WORKLOAD_PRESETS_H */
