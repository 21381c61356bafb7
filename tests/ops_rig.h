/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_OPS_RIG_H
#define TESTS_OPS_RIG_H
/**
 * A job of one group and its operations, for the tests of ops.c, ops_spec.c and ops_choose.c.
 */
#include <string.h>

#include "unit.h"
#include "workload/ops.h"

enum { RECORDS = 1000, STRATA = 200 };

/** A job of one group, and the objects that make its operations. */
struct fixture {
	struct nb_group group, loading;
	struct nb_job job;
	struct keyspace keys;
	struct sizes sizes;
	struct ops_spec spec;
	struct ops_maker maker;
};

static inline struct nb_group
group_of(const char *name)
{
	struct nb_group group = {.size = sizeof(group),
		.threads = 1,
		.scan_min = 1,
		.scan_max = 100,
		.items = 4,
		.theta = 0.99,
		.hot_share = 0.2,
		.hot_ops = 0.8,
		.exp_percent = 95,
		.exp_share = 0.86,
		.pareto_h = 0.2};
	snprintf(group.name, sizeof(group.name), "%s", name);
	return group;
}

static inline void
set_up(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	f->loading = group_of("load");
	f->loading.weights[NB_OP_INSERT] = 1;
	f->group = group_of("run");
	f->job = (struct nb_job){.size = sizeof(f->job),
		.seed = 7,
		.records = RECORDS,
		.key_size = 16,
		.values = {.kind = NB_SIZE_FIXED, .min = 100, .max = 100},
		.value_ratio = 0.5,
		.load = &f->loading,
		.groups = &f->group,
		.group_count = 1,
		.lag = 256};
}

static inline void
make_spec(struct fixture *f, const struct nb_group *group, uint32_t stream, uint32_t streams)
{
	ck_assert_int_eq(keyspace_create(&f->keys, &f->job, 1 << 20), NB_OK);
	ck_assert_int_eq(sizes_create(&f->sizes, &f->job.values), NB_OK);
	ops_spec_create(&f->spec, &f->job, group, &f->keys, &f->sizes, stream, streams);
	ck_assert_int_eq(ops_maker_create(&f->maker, &f->spec), NB_OK);
}

static inline void
tear_down(struct fixture *f)
{
	ops_maker_destroy(&f->maker);
	sizes_destroy(&f->sizes);
	keyspace_destroy(&f->keys);
}

/** Call `look` with each operation of a stratum, in order. */
static inline void
each_op(struct ops_maker *maker, uint64_t stratum,
	void (*look)(const struct ops_op *op, void *arg), void *arg)
{
	uint32_t made, all = 0;
	uint64_t left = maker->spec->end - stratum * OPS_STRATUM;
	ops_begin(maker, stratum);
	while ((made = ops_make(maker)) > 0) {
		for (uint32_t j = 0; j < made; j++) {
			ck_assert_uint_eq(maker->ops[j].index, stratum * OPS_STRATUM + all++);
			look(&maker->ops[j], arg);
		}
	}
	ck_assert_uint_eq(all, left < OPS_STRATUM ? left : OPS_STRATUM);
}

static inline void
set_all_kinds(struct fixture *f)
{
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++)
		f->group.weights[kind] = kind + 1;
}

#endif /* TESTS_OPS_RIG_H */
