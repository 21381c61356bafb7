/* SPDX-License-Identifier: BSD-2-Clause */
#include "workload/stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "unit.h"

enum { COUNT = 3000 };

/** `count` keys in memory, as if they were mapped. */
static struct keys
make_keys(uint64_t key_size, uint64_t count, uint64_t seed)
{
	uint8_t *bytes = malloc(key_size * count);
	ck_assert_ptr_nonnull(bytes);
	struct rng rng;
	rng_create(&rng, seed);
	for (uint64_t i = 0; i < key_size * count; i++)
		bytes[i] = (uint8_t)rng_next(&rng);
	return (struct keys){.data = bytes, .key_size = key_size, .count = count};
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

static void
open_stream(struct stream *stream, const struct nb_workload *workload, const struct keys *keys)
{
	ck_assert_int_eq(stream_create(stream, workload, keys), NB_OK);
	ck_assert_uint_ge(stream->block, 1);
	ck_assert_uint_le(stream->block, STREAM_BLOCK_MAX);
}

/** Operation i as an independent hand would make it. */
static void
check_op(const struct op *op, const struct nb_workload *workload, const struct keys *keys,
	uint64_t i)
{
	const uint8_t *key = keys->data + i * keys->key_size;
	ck_assert_uint_eq(op->key.size, keys->key_size);
	ck_assert_mem_eq(op->key.data, key, keys->key_size);
	if (workload->verb != NB_VERB_PUT) {
		ck_assert_uint_eq(op->value.size, 0);
		return;
	}
	size_t size = workload->value_size;
	ck_assert_int_eq(value_check(op->value, size, op->key), VALUE_GOOD);
	struct value_spec spec;
	value_spec_create(&spec, size, workload->value_ratio, workload->seed);
	uint8_t *value = malloc(size + 1);
	ck_assert_ptr_nonnull(value);
	value_prepare(&spec, value);
	values_write(&spec, value, size, key, keys->key_size, 1, 0);
	ck_assert_mem_eq(op->value.data, value, size);
	free(value);
}

static void
check_range(struct stream *stream, const struct nb_workload *workload, uint64_t first,
	uint32_t count)
{
	stream_fill(stream, first, count);
	for (uint32_t j = 0; j < count; j++)
		check_op(&stream->ops[j], workload, stream->keys, first + j);
}

static const uint64_t key_sizes[] = {1, 7, 8, 16, 17, 64, 65, 1000};
static const uint64_t value_sizes[] = {0, 1, 15, 16, 63, 64, 65, 100, 1000, 5000};

enum {
	KEY_SIZES = sizeof(key_sizes) / sizeof(key_sizes[0]),
	VALUE_SIZES = sizeof(value_sizes) / sizeof(value_sizes[0])
};

/* Any shard is a range, any block in it too: that all ranges give op i its bytes is enough. */
START_TEST(an_operation_is_the_same_in_any_block_and_shard)
{
	struct rng rng;
	rng_create(&rng, 1);
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++)
		for (size_t n = 0; n < KEY_SIZES * VALUE_SIZES; n++) {
			struct keys keys = make_keys(key_sizes[n % KEY_SIZES], 200, n);
			struct nb_workload workload = workload_of(
				verb, keys.key_size, value_sizes[n / KEY_SIZES]);
			struct stream stream;
			open_stream(&stream, &workload, &keys);
			for (int i = 0; i < 12; i++) {
				uint64_t first = rng_below(&rng, 200);
				uint64_t most = 200 - first < stream.block ? 200 - first
									   : stream.block;
				check_range(&stream, &workload, first,
					(uint32_t)rng_below(&rng, most) + 1);
			}
			check_range(&stream, &workload, 199, 1);
			stream_destroy(&stream);
			free((void *)keys.data);
		}
}
END_TEST

static int
overlap(struct nb_slice a, struct nb_slice b)
{
	const uint8_t *x = a.data, *y = b.data;
	return a.size > 0 && b.size > 0 && x < y + b.size && y < x + a.size;
}

START_TEST(operations_of_a_block_share_no_bytes)
{
	for (size_t n = 0; n < KEY_SIZES * VALUE_SIZES; n++) {
		struct keys keys = make_keys(key_sizes[n % KEY_SIZES], 200, n);
		struct nb_workload workload = workload_of(
			NB_VERB_PUT, keys.key_size, value_sizes[n / KEY_SIZES]);
		struct stream stream;
		open_stream(&stream, &workload, &keys);
		for (uint32_t i = 0; i < stream.block; i++)
			for (uint32_t j = 0; j < stream.block; j++) {
				const struct op *a = &stream.ops[i], *b = &stream.ops[j];
				ck_assert(!overlap(a->key, b->value));
				ck_assert(i == j || !overlap(a->key, b->key));
				ck_assert(i == j || !overlap(a->value, b->value));
			}
		stream_destroy(&stream);
		free((void *)keys.data);
	}
}
END_TEST

START_TEST(large_values_come_one_by_one)
{
	struct keys keys = make_keys(16, 5, 1);
	struct nb_workload workload = workload_of(NB_VERB_PUT, 16, 1 << 20);
	struct stream stream;
	open_stream(&stream, &workload, &keys);
	ck_assert_uint_eq(stream.block, 1);
	for (uint64_t i = 5; i > 0; i--)
		check_range(&stream, &workload, i - 1, 1);
	stream_destroy(&stream);
	free((void *)keys.data);
}
END_TEST

START_TEST(large_keys_come_one_by_one)
{
	struct keys keys = make_keys(NB_KEY_SIZE_MAX, 3, 1);
	for (uint32_t verb = NB_VERB_PUT; verb <= NB_VERB_DELETE; verb++) {
		struct nb_workload workload = workload_of(verb, keys.key_size, 100);
		struct stream stream;
		open_stream(&stream, &workload, &keys);
		ck_assert_uint_eq(stream.block, 1);
		for (uint64_t i = 0; i < 3; i++)
			check_range(&stream, &workload, i, 1);
		stream_destroy(&stream);
	}
	free((void *)keys.data);
}
END_TEST

START_TEST(small_operations_fill_whole_blocks)
{
	struct keys keys = make_keys(16, COUNT, 1);
	struct nb_workload workload = workload_of(NB_VERB_PUT, 16, 100);
	struct stream stream;
	open_stream(&stream, &workload, &keys);
	ck_assert_uint_eq(stream.block, STREAM_BLOCK_MAX);
	stream_destroy(&stream);
	free((void *)keys.data);
}
END_TEST

START_TEST(a_get_and_a_delete_hold_no_value)
{
	struct keys keys = make_keys(16, COUNT, 1);
	for (uint32_t verb = NB_VERB_GET; verb <= NB_VERB_DELETE; verb++) {
		struct nb_workload workload = workload_of(verb, 16, NB_VALUE_SIZE_MAX);
		struct stream stream;
		open_stream(&stream, &workload, &keys);
		ck_assert_uint_eq(stream.block, STREAM_BLOCK_MAX);
		ck_assert_uint_eq(stream.ops[0].value.size, 0);
		stream_destroy(&stream);
	}
	free((void *)keys.data);
}
END_TEST

START_TEST(the_digest_names_all_that_makes_a_put)
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
		digests[i] = stream_digest(&others[i], 42);
	digests[8] = stream_digest(&put, 43);
	for (int i = 0; i < 9; i++)
		for (int j = 0; j < i; j++)
			ck_assert_uint_ne(digests[i], digests[j]);
	put.keys_path = "/elsewhere/keys.bin"; /* the same keys in another place */
	put.spare_u32 = 9;
	ck_assert_uint_eq(stream_digest(&put, 42), digests[0]);
}
END_TEST

START_TEST(the_digest_of_gets_does_not_ask_how_values_were_made)
{
	for (uint32_t verb = NB_VERB_GET; verb <= NB_VERB_DELETE; verb++) {
		struct nb_workload one = workload_of(verb, 16, 100), other = one;
		other.seed++;
		other.value_ratio = 1;
		ck_assert_uint_eq(stream_digest(&one, 42), stream_digest(&other, 42));
		other.count++;
		ck_assert_uint_ne(stream_digest(&one, 42), stream_digest(&other, 42));
		ck_assert_uint_ne(stream_digest(&one, 42), stream_digest(&one, 43));
	}
}
END_TEST

/* Of a gibibyte a ratio of 1e-7 more is 13 words more that do not compress. */
START_TEST(other_bytes_have_another_digest)
{
	struct nb_workload one = workload_of(NB_VERB_PUT, 16, NB_VALUE_SIZE_MAX), other = one;
	other.value_ratio += 1e-7;
	struct value_spec specs[2];
	value_spec_create(&specs[0], one.value_size, one.value_ratio, 1);
	value_spec_create(&specs[1], other.value_size, other.value_ratio, 1);
	ck_assert_uint_ne(specs[0].random_size, specs[1].random_size);
	ck_assert_uint_ne(stream_digest(&one, 42), stream_digest(&other, 42));
}
END_TEST

static uint64_t
count_samples(uint64_t begin, uint64_t end, double rate)
{
	uint64_t threshold = sample_threshold(rate), count = 0;
	for (uint64_t i = begin; i < end; i++)
		count += is_sampled(i, threshold);
	return count;
}

START_TEST(the_sample_is_the_share_that_was_asked_for)
{
	static const double rates[] = {0.001, 0.01, 0.0625, 0.1, 1.0 / 3, 0.5, 0.9, 0.999};
	enum { OPS = 1000000 };
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		for (uint64_t begin = 0; begin < UINT64_C(4) << 40;
			begin += UINT64_C(1) << 41) {
			double share = (double)count_samples(begin, begin + OPS, rates[i]) /
				OPS;
			ck_assert_double_le(fabs(share - rates[i]), rates[i] * 0.01);
		}
}
END_TEST

START_TEST(rate_0_takes_none_and_rate_1_all)
{
	ck_assert_uint_eq(count_samples(0, 1000000, 0), 0);
	ck_assert_uint_eq(count_samples(0, 1000000, -1), 0);
	ck_assert_uint_eq(count_samples(0, 1000000, NAN), 0);
	ck_assert_uint_eq(count_samples(0, 1000000, 1), 1000000);
	ck_assert_uint_eq(count_samples(0, 1000000, 2), 1000000);
	ck_assert_uint_eq(count_samples(0, 1000000, nextafter(1, 0)), 1000000);
	ck_assert_uint_eq(count_samples(0, 1000, 1e-300), 0);
}
END_TEST

START_TEST(a_larger_rate_takes_the_same_ones_and_more)
{
	for (uint64_t i = 0; i < 100000; i++)
		ck_assert(!is_sampled(i, sample_threshold(0.1)) ||
			is_sampled(i, sample_threshold(0.2)));
}
END_TEST

/* Every stretch of 1000 and every residue of small moduli has its share of a tenth. */
START_TEST(the_sample_is_in_step_with_nothing)
{
	uint64_t threshold = sample_threshold(0.1);
	for (uint64_t begin = 0; begin < 100000; begin += 1000)
		ck_assert_double_le(
			fabs((double)count_samples(begin, begin + 1000, 0.1) - 100), 5);
	for (uint64_t step = 2; step <= 128; step++)
		for (uint64_t from = 0; from < step; from++) {
			uint64_t count = 0;
			for (uint64_t n = 0; n < 10000; n++)
				count += is_sampled(from + n * step, threshold);
			ck_assert_double_le(fabs((double)count - 1000), 100);
		}
}
END_TEST

START_TEST(verbs_have_names)
{
	ck_assert_str_eq(nb_verb_name(NB_VERB_PUT), "put");
	ck_assert_str_eq(nb_verb_name(NB_VERB_GET), "get");
	ck_assert_str_eq(nb_verb_name(NB_VERB_DELETE), "delete");
	ck_assert_ptr_null(nb_verb_name(3));
	ck_assert_ptr_null(nb_verb_name(UINT32_MAX));
}
END_TEST

int
main(void)
{
	return UNIT_RUN("stream", an_operation_is_the_same_in_any_block_and_shard,
		operations_of_a_block_share_no_bytes, large_values_come_one_by_one,
		large_keys_come_one_by_one, small_operations_fill_whole_blocks,
		a_get_and_a_delete_hold_no_value, the_digest_names_all_that_makes_a_put,
		the_digest_of_gets_does_not_ask_how_values_were_made,
		other_bytes_have_another_digest, the_sample_is_the_share_that_was_asked_for,
		rate_0_takes_none_and_rate_1_all, a_larger_rate_takes_the_same_ones_and_more,
		the_sample_is_in_step_with_nothing, verbs_have_names);
}
