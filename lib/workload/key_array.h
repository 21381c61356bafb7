/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_KEY_ARRAY_H
#define WORKLOAD_KEY_ARRAY_H
/**
 * A mapped file of 64-bit keys as a source of operations: operation i of a group uses key i
 * modulo their number. No thread reads ahead, so threads share no data.
 */
#include <mininb/trace.h>

#include "workload/ops.h"

/** Data that ops_spec_create() borrows; outlives the spec. */
struct array {
	struct nb_job job; /* the group's job, but with as many records as the file has keys */
	struct nb_group group;
	struct keyspace keys;
	struct sizes sizes;
};

/**
 * Map the file and make `spec` the operations of the group on its keys. NB_ERR_USAGE or
 * NB_ERR_DATA: the file, its format or the mix is not usable.
 */
NB_MUST_CHECK int
array_open(struct array *array, struct ops_spec *spec, const struct nb_trace_options *options);

/** Also for a zeroed one. */
void
array_close(struct array *array);

#endif /* WORKLOAD_KEY_ARRAY_H */
