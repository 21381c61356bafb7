/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef JOB_EQUAL_H
#define JOB_EQUAL_H
/** Assert that two jobs do exactly the same. Their names may differ. */
#include <string.h>

#include "job_text.h"

static inline void
assert_same_text(const char *what, const char *a, const char *b)
{
	ck_assert_msg(strcmp(a != NULL ? a : "(none)", b != NULL ? b : "(none)") == 0,
		"%s: '%s' and '%s'", what, a, b);
}

#define SAME(field) \
	ck_assert_msg(memcmp(&a->field, &b->field, sizeof(a->field)) == 0, "%s differs", #field)

static inline void
assert_same_group(const struct nb_group *a, const struct nb_group *b)
{
	SAME(size);
	ck_assert_str_eq(a->name, b->name);
	SAME(phase);
	SAME(threads);
	SAME(weights);
	SAME(distribution);
	SAME(scan_distribution);
	SAME(scan_min);
	SAME(scan_max);
	SAME(items);
	SAME(insert_verb);
	SAME(key_range);
	SAME(source);
	SAME(masstree_test);
	SAME(verify_rate);
	ck_assert_str_eq(a->again, b->again);
	SAME(theta);
	SAME(hot_share);
	SAME(hot_ops);
	SAME(exp_percent);
	SAME(exp_share);
	SAME(pareto_h);
	SAME(count);
	SAME(duration_ns);
	SAME(warmup_ns);
	SAME(warmup_count);
	SAME(arrivals);
	SAME(is_background);
	SAME(rate_count);
	for (size_t i = 0; i < a->rate_count; i++) {
		SAME(rate[i].duration_ns);
		SAME(rate[i].from_ops_s);
		SAME(rate[i].to_ops_s);
	}
	assert_same_text("cpus", a->cpus, b->cpus);
	SAME(weight_scale);
	SAME(arrivals_asked);
	SAME(latency);
}

static inline void
assert_same_job(const struct nb_job *a, const struct nb_job *b)
{
	SAME(size);
	assert_same_text("summary", a->summary, b->summary);
	SAME(seed);
	SAME(records);
	SAME(space);
	SAME(key_format);
	SAME(key_order);
	SAME(key_size);
	SAME(key_prefix);
	SAME(key_digits);
	SAME(edges);
	SAME(epoch);
	SAME(graph_update);
	SAME(edge_range);
	SAME(preconditions);
	SAME(batch_read);
	SAME(degree.kind);
	SAME(degree.min);
	SAME(degree.max);
	assert_same_text("keys", a->keys_path, b->keys_path);
	SAME(values.kind);
	SAME(values.count);
	SAME(values.min);
	SAME(values.max);
	SAME(values.a);
	SAME(values.b);
	SAME(value_ratio);
	SAME(lag);
	assert_same_group(a->load, b->load);
	SAME(group_count);
	for (size_t i = 0; i < a->group_count; i++)
		assert_same_group(&a->groups[i], &b->groups[i]);
}

/**
 * Assert that a job survives writing and reading, and that a second write gives the same text.
 */
static inline void
assert_written_whole(const struct nb_job *job)
{
	char *text, *again;
	ck_assert_msg(nb_job_write(job, &text) == NB_OK, "%s", nb_error_text());
	struct nb_job *back = job_of_text(text);
	assert_same_job(job, back);
	ck_assert_int_eq(nb_job_write(back, &again), NB_OK);
	ck_assert_str_eq(text, again);
	nb_job_delete(back);
	free(text);
	free(again);
}

#endif /* JOB_EQUAL_H */
