/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_MASSTREE_TESTS_H
#define WORKLOAD_MASSTREE_TESTS_H
/** The tests of the source `masstree`. */
#include "workload/ops_choose.h"

enum { MASSTREE_FIXED_STEP = 1024 /* distance between fixed records of scan1 */ };

/** The `local`-th stratum of a range, and its operations. */
struct masstree_draw {
	const struct ops_spec *spec;
	uint64_t local;
	uint32_t range;
	uint64_t random[OPS_STRATUM];
	uint8_t kinds[OPS_STRATUM], expects[OPS_STRATUM];
	uint64_t numbers[OPS_STRATUM];
};

/** A row of the table of tests. */
struct masstree_test {
	uint32_t kinds; /* the mix must contain exactly these kinds: bits 1 << NB_OP_* */
	uint32_t ranges_min;
	bool has_own_keys; /* no two threads write the same record */
	bool has_waits;    /* threads of odd ranges follow those of even ranges */
	void (*draw)(struct masstree_draw *draw);
	/** State OPS_* of a record after done[r] operations of each range r. */
	uint8_t (*after)(const struct ops_spec *spec, const uint64_t *done, uint64_t number);
	/** Number of records; UINT64_MAX: the number of inserts. */
	uint64_t (*numbers)(const struct nb_job *job);
};

/** By NB_TEST_*. */
extern const struct masstree_test masstree_tests[NB_TESTS];

/** The number of records of a test that has a set of them. */
static inline uint64_t
masstree_set_size(const struct nb_job *job)
{
	return job->space > 0 ? job->space : 1;
}

#endif /* WORKLOAD_MASSTREE_TESTS_H */
