/* SPDX-License-Identifier: BSD-2-Clause */
/* A workload as a job: the same keys and values in the same order, and a digest. */
#include "workload/verb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "unit.h"
#include "workload/ops.h"

enum { COUNT = 200 };

/**
 * Write `count` random keys to an unlinked file. Returns its descriptor; the path is /dev/fd/N.
 */
static int
write_keys(char path[32], uint64_t key_size, uint64_t count, uint64_t seed, uint8_t **bytes)
{
	struct rng rng;
	rng_create(&rng, seed);
	FILE *file = tmpfile();
	ck_assert_ptr_nonnull(file);
	*bytes = malloc(key_size * count);
	for (uint64_t i = 0; i < key_size * count; i++)
		(*bytes)[i] = (uint8_t)rng_next(&rng);
	ck_assert_uint_eq(fwrite(*bytes, key_size, count, file), count);
	ck_assert_int_eq(fflush(file), 0);
	int fd = dup(fileno(file));
	fclose(file);
	snprintf(path, 32, "/dev/fd/%d", fd);
	return fd;
}

static struct nb_workload
workload_of(uint32_t verb, uint64_t key_size, uint64_t value_size)
{
	struct nb_workload workload = NB_WORKLOAD_INIT;
	workload.verb = verb;
	workload.key_size = key_size;
	workload.value_size = value_size;
	workload.count = COUNT;
	return workload;
}

/** The operations of a workload. */
struct fixture {
	struct nb_workload workload;
	char path[32];
	int fd;
	uint8_t *bytes; /* all keys */
	struct nb_job *job;
	struct keyspace keys;
	struct sizes sizes;
	struct ops_spec spec;
	struct ops_maker maker;
};

static void
set_up(struct fixture *f, uint32_t verb, uint64_t key_size, uint64_t value_size, uint64_t count)
{
	f->workload = workload_of(verb, key_size, value_size);
	f->workload.count = count;
	f->workload.keys_path = f->path;
	f->fd = write_keys(f->path, key_size, count, key_size + value_size, &f->bytes);
	ck_assert_int_eq(verb_job(&f->job, &f->workload, 3), NB_OK);
	ck_assert_msg(nb_job_check(f->job) == NB_OK, "%s", nb_error_text());
	ck_assert_int_eq(keyspace_create(&f->keys, f->job, count), NB_OK);
	ck_assert_int_eq(sizes_create(&f->sizes, &f->job->values), NB_OK);
	const struct nb_group *group = verb == NB_VERB_PUT ? f->job->load : &f->job->groups[0];
	ck_assert_uint_eq(group->threads, 3);
	ops_spec_create(&f->spec, f->job, group, &f->keys, &f->sizes, 0, 1);
	f->spec.end = count;
	ck_assert_int_eq(ops_maker_create(&f->maker, &f->spec), NB_OK);
}

static void
tear_down(struct fixture *f)
{
	ops_maker_destroy(&f->maker);
	sizes_destroy(&f->sizes);
	keyspace_destroy(&f->keys);
	nb_job_delete(f->job);
	close(f->fd);
	free(f->bytes);
}

/** The expected value, made independently. */
static void
check_op(const struct fixture *f, const struct ops_op *op)
{
	static const uint32_t kinds[] = {[NB_VERB_PUT] = NB_OP_INSERT,
		[NB_VERB_GET] = NB_OP_READ,
		[NB_VERB_DELETE] = NB_OP_DELETE};
	const struct nb_workload *workload = &f->workload;
	size_t key_size = workload->key_size, size = workload->value_size;
	const uint8_t *key = f->bytes + op->index * key_size;
	ck_assert_uint_eq(op->kind, kinds[workload->verb]);
	ck_assert_uint_eq(op->items, 1);
	ck_assert_uint_eq(op->numbers[0], op->index);
	ck_assert_uint_eq(op->keys[0].size, key_size);
	ck_assert_mem_eq(op->keys[0].data, key, key_size);
	if (workload->verb != NB_VERB_PUT)
		return;
	ck_assert_int_eq(value_check(op->values[0], size, op->keys[0]), VALUE_GOOD);
	struct value_spec spec;
	value_spec_create(&spec, size, workload->value_ratio, workload->seed);
	uint8_t *value = malloc(size + 1);
	ck_assert_ptr_nonnull(value);
	value_prepare(&spec, value);
	values_write(&spec, value, size, key, key_size, 1, 0);
	ck_assert_mem_eq(op->values[0].data, value, size);
	free(value);
}

/** Check all operations of a stratum. */
static void
check_stratum(struct fixture *f, uint64_t stratum)
{
	uint64_t i = stratum * OPS_STRATUM, end = i + OPS_STRATUM;
	ops_begin(&f->maker, stratum);
	for (uint32_t made; (made = ops_make(&f->maker)) > 0;)
		for (uint32_t j = 0; j < made; j++, i++) {
			ck_assert_uint_eq(f->maker.ops[j].index, i);
			check_op(f, &f->maker.ops[j]);
		}
	ck_assert_uint_eq(i, end < f->workload.count ? end : f->workload.count);
}

static const uint64_t key_sizes[] = {1, 7, 8, 16, 17, 64, 65, 1000};
static const uint64_t value_sizes[] = {0, 1, 15, 16, 63, 64, 65, 100, 1000, 5000};

enum { SIZES = UNIT_COUNT(key_sizes) * UNIT_COUNT(value_sizes) };

static void
set_up_nth(struct fixture *f, uint32_t verb, size_t n)
{
	set_up(f, verb, key_sizes[n % UNIT_COUNT(key_sizes)],
		value_sizes[n / UNIT_COUNT(key_sizes)], COUNT);
}

/* Threads take strata in turn. So it is enough that all strata give operation i its bytes. */
TEST(operation_does_not_depend_on_earlier_ones)
{
	static const uint64_t strata[] = {2, 0, 3, 3, 1};
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++)
		for (size_t n = 0; n < SIZES; n++) {
			struct fixture f;
			set_up_nth(&f, verb, n);
			for (size_t s = 0; s < UNIT_COUNT(strata); s++)
				check_stratum(&f, strata[s]);
			tear_down(&f);
		}
}

static bool
overlap(struct nb_slice a, struct nb_slice b)
{
	const uint8_t *x = a.data, *y = b.data;
	return a.size > 0 && b.size > 0 && x < y + b.size && y < x + a.size;
}

TEST(operations_of_a_block_share_no_bytes)
{
	for (size_t n = 0; n < SIZES; n++) {
		struct fixture f;
		set_up_nth(&f, NB_VERB_PUT, n);
		ops_begin(&f.maker, 0);
		uint32_t made = ops_make(&f.maker);
		for (uint32_t i = 0; i < made; i++)
			for (uint32_t j = 0; j < made; j++) {
				const struct ops_op *a = &f.maker.ops[i], *b = &f.maker.ops[j];
				ck_assert(!overlap(a->keys[0], b->values[0]));
				ck_assert(i == j || !overlap(a->keys[0], b->keys[0]));
				ck_assert(i == j || !overlap(a->values[0], b->values[0]));
			}
		tear_down(&f);
	}
}

TEST(large_keys_and_values_have_blocks_of_one_operation)
{
	static const struct {
		uint32_t verb;
		uint64_t key_size, value_size;
		uint32_t block; /* 32: whole blocks */
	} cases[] = {{NB_VERB_PUT, 16, 1 << 20, 1}, {NB_VERB_PUT, 16, 100, 56},
		{NB_VERB_PUT, NB_KEY_SIZE_MAX, 100, 1}, {NB_VERB_GET, NB_KEY_SIZE_MAX, 100, 1},
		{NB_VERB_DELETE, NB_KEY_SIZE_MAX, 100, 1},
		/* these have no value */
		{NB_VERB_GET, 16, NB_VALUE_SIZE_MAX, 64},
		{NB_VERB_DELETE, 16, NB_VALUE_SIZE_MAX, 64}};
	for (size_t c = 0; c < UNIT_COUNT(cases); c++) {
		struct fixture f;
		uint64_t count = cases[c].block == 1 ? 3 : COUNT;
		set_up(&f, cases[c].verb, cases[c].key_size, cases[c].value_size, count);
		ck_assert_uint_eq(f.maker.block, cases[c].block);
		check_stratum(&f, 0);
		tear_down(&f);
	}
}

TEST(digest_covers_everything_that_determines_a_put)
{
	struct nb_workload put = workload_of(NB_VERB_PUT, 16, 100);
	struct nb_workload others[] = {put, put, put, put, put, put, put, put};
	others[1].verb = NB_VERB_GET;
	others[2].count++;
	others[3].key_size++;
	others[4].value_size++;
	others[5].value_ratio = 0.51;
	others[6].seed++;
	others[7].verb = NB_VERB_DELETE;
	uint64_t digests[9];
	for (int i = 0; i < 8; i++)
		digests[i] = verb_digest(&others[i], 42);
	digests[8] = verb_digest(&put, 43);
	for (int i = 0; i < 9; i++)
		for (int j = 0; j < i; j++)
			ck_assert_uint_ne(digests[i], digests[j]);
	put.keys_path = "/elsewhere/keys.bin"; /* the same keys in another file */
	put.spare_u32 = 9;
	ck_assert_uint_eq(verb_digest(&put, 42), digests[0]);
}

TEST(digest_of_gets_does_not_depend_on_values)
{
	for (uint32_t verb = NB_VERB_GET; verb <= NB_VERB_DELETE; verb++) {
		struct nb_workload one = workload_of(verb, 16, 100), other = one;
		other.seed++;
		other.value_ratio = 1;
		ck_assert_uint_eq(verb_digest(&one, 42), verb_digest(&other, 42));
		other.count++;
		ck_assert_uint_ne(verb_digest(&one, 42), verb_digest(&other, 42));
		ck_assert_uint_ne(verb_digest(&one, 42), verb_digest(&one, 43));
	}
}

/* In a gibibyte, a ratio larger by 1e-7 means 13 more incompressible words. */
TEST(different_bytes_have_different_digests)
{
	struct nb_workload one = workload_of(NB_VERB_PUT, 16, NB_VALUE_SIZE_MAX), other = one;
	other.value_ratio += 1e-7;
	struct value_spec specs[2];
	value_spec_create(&specs[0], one.value_size, one.value_ratio, 1);
	value_spec_create(&specs[1], other.value_size, other.value_ratio, 1);
	ck_assert_uint_ne(specs[0].random_size, specs[1].random_size);
	ck_assert_uint_ne(verb_digest(&one, 42), verb_digest(&other, 42));
}

TEST(verbs_have_names)
{
	ck_assert_str_eq(nb_verb_name(NB_VERB_PUT), "put");
	ck_assert_str_eq(nb_verb_name(NB_VERB_GET), "get");
	ck_assert_str_eq(nb_verb_name(NB_VERB_DELETE), "delete");
	ck_assert_ptr_null(nb_verb_name(3));
	ck_assert_ptr_null(nb_verb_name(UINT32_MAX));
}
