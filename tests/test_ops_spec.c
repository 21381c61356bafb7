/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>

#include "ops_rig.h"

static void
count_kind(const struct ops_op *op, void *arg)
{
	((uint64_t *)arg)[op->kind]++;
}

TEST(mix_is_exact_at_every_stratum)
{
	struct fixture f;
	uint64_t counts[NB_OP_KINDS] = {0};
	set_up(&f);
	f.group.weights[NB_OP_READ] = 174548;
	f.group.weights[NB_OP_INSERT] = 175452;
	make_spec(&f, &f.group, 0, 1); /* the mix of a published run */
	ck_assert_uint_eq(ops_count_before(&f.spec, NB_OP_INSERT, 350000), 175452);
	ck_assert_uint_eq(ops_count_before(&f.spec, NB_OP_READ, 350000), 174548);
	tear_down(&f);
	f.group.weights[NB_OP_SCAN] = 12345;
	make_spec(&f, &f.group, 0, 1);
	for (uint64_t s = 0; s < STRATA; s++) {
		each_op(&f.maker, s, count_kind, counts);
		for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++) {
			uint64_t n = (s + 1) * OPS_STRATUM;
			double exact = (double)n * f.group.weights[kind] /
				(174548 + 175452 + 12345);
			ck_assert_uint_eq(counts[kind], ops_count_before(&f.spec, kind, n));
			ck_assert(fabs((double)counts[kind] - exact) <= 1);
		}
	}
	tear_down(&f);
}

/** The last stratum is short. Bit j is set if operation j has the second kind. */
TEST(kinds_of_two_equal_those_of_the_first_release)
{
	static const struct {
		uint32_t first, weight, second;
		uint64_t bits[3];
	} mixes[] = {
		{NB_OP_READ, 1, NB_OP_UPDATE,
			{0xe21b3b6947ed9811, 0x0dadb55237da0732, 0x164d8caa57}},
		{NB_OP_UPDATE, 3, NB_OP_RMW,
			{0xc013232841209800, 0x01059040161a0702, 0x06048c2052}},
		{NB_OP_READ, 19, NB_OP_INSERT,
			{0x8011000000000800, 0x0000100010000002, 0x0000080010}},
	};
	for (size_t m = 0; m < 3; m++) {
		struct fixture f;
		set_up(&f);
		f.group.weights[mixes[m].first] = mixes[m].weight;
		f.group.weights[mixes[m].second] = 1;
		f.group.count = 2 * OPS_STRATUM + 37;
		make_spec(&f, &f.group, 0, 1);
		for (uint64_t s = 0; s < 3; s++) {
			uint8_t kinds[OPS_STRATUM];
			ops_kinds(&f.spec, s, kinds);
			for (uint32_t j = 0; j < OPS_STRATUM; j++) {
				bool is_second = (mixes[m].bits[s] >> j & 1) != 0;
				bool is_made = s < 2 || j < 37;
				ck_assert_uint_eq(kinds[j],
					is_second         ? mixes[m].second
						: is_made ? mixes[m].first
							  : NB_OP_READ);
			}
		}
		tear_down(&f);
	}
}

/**
 * Counts must not decrease from stratum to stratum, as they would if each sum of shares were
 * rounded separately.
 */
TEST(rare_kinds_are_counted_as_they_are_made)
{
	struct fixture f;
	uint64_t counts[NB_OP_KINDS] = {0};
	static const uint32_t weights[NB_OP_KINDS] = {[NB_OP_READ] = 96971,
		[NB_OP_UPDATE] = 141,
		[NB_OP_INSERT] = 78,
		[NB_OP_DELETE] = 12,
		[NB_OP_SCAN] = 2798};
	set_up(&f);
	memcpy(f.group.weights, weights, sizeof(weights));
	make_spec(&f, &f.group, 0, 1);
	for (uint64_t s = 0; s < 20 * STRATA; s++) {
		uint64_t n = (s + 1) * OPS_STRATUM;
		uint8_t kinds[OPS_STRATUM];
		ops_kinds(&f.spec, s, kinds);
		for (uint32_t j = 0; j < OPS_STRATUM; j++)
			counts[kinds[j]]++;
		for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++) {
			double exact = (double)n * weights[kind] / 100000;
			if (counts[kind] != ops_count_before(&f.spec, kind, n) ||
				fabs((double)counts[kind] - exact) > NB_OP_KINDS)
				ck_abort_msg(
					"stratum %llu, kind %u", (unsigned long long)s, kind);
		}
	}
	tear_down(&f);
}

TEST(version_identifies_its_operation)
{
	struct fixture f;
	set_up(&f);
	f.group.weights[NB_OP_UPDATE] = 1;
	make_spec(&f, &f.group, 2, 5);
	static const uint64_t places[] = {0, 1, 63, 64, 12345, 858993458, 858993459, 858993460,
		4294967295, 4294967296, 99999999999};
	for (size_t p = 0; p < sizeof(places) / sizeof(*places); p++) {
		uint64_t i = places[p], found;
		for (size_t size = 16; size <= 24; size += 8) {
			uint64_t versions = value_versions(size);
			uint64_t version = value_version_in(ops_version(&f.spec, i), size);
			ck_assert_uint_ge(version, 1);
			ck_assert_uint_le(version, versions);
			ck_assert(ops_version_index(&f.spec, version, versions, i, &found));
			ck_assert_uint_eq(found, i);
			ck_assert(ops_version_index(
				&f.spec, version, versions, i + 100000, &found));
			ck_assert_uint_eq(found, i);
		}
		/* a wide version also identifies an operation far away */
		ck_assert(ops_version_index(
			&f.spec, ops_version(&f.spec, i), VALUE_VERSIONS, 7, &found));
		ck_assert_uint_eq(found, i);
	}
	uint64_t found;
	struct ops_spec neighbour = f.spec;
	neighbour.stream = 3;
	ck_assert(!ops_version_index(
		&neighbour, ops_version(&f.spec, 77), VALUE_VERSIONS, 77, &found));
	ck_assert(!ops_version_index(&f.spec, 0, VALUE_VERSIONS, 77, &found));
	tear_down(&f);
}

static uint64_t
digest_of(const struct fixture *f)
{
	struct ops_spec spec;
	ops_spec_create(&spec, &f->job, &f->group, &f->keys, &f->sizes, 0, 1);
	return ops_digest(&spec, keyspace_hash(&f->keys));
}

TEST(digest_covers_everything_that_determines_the_stream)
{
	struct fixture f;
	set_up(&f);
	f.group.weights[NB_OP_READ] = 1;
	f.group.count = 1000;
	make_spec(&f, &f.group, 0, 1);
	uint64_t first = digest_of(&f);
	ck_assert_uint_eq(digest_of(&f), first);
	f.group.item_sizes = (struct nb_sizes){
		.kind = NB_SIZE_UNIFORM, .min = 1, .max = f.group.items};
	uint64_t drawn = digest_of(&f);
	ck_assert_uint_ne(drawn, first);
	f.group.item_sizes.min = 2;
	ck_assert_uint_ne(digest_of(&f), drawn);
	f.group.item_sizes = (struct nb_sizes){0};
	f.group.threads = 8; /* does not affect the stream */
	f.group.duration_ns = 5;
	ck_assert_uint_eq(digest_of(&f), first);
	f.group.key_range = NB_RANGE_PRIVATE; /* now it does */
	uint64_t of_8 = digest_of(&f);
	ck_assert_uint_ne(of_8, first);
	f.group.threads = 7;
	ck_assert_uint_ne(digest_of(&f), of_8);
	f.group.threads = 1;
	ck_assert_uint_eq(digest_of(&f), first);
	f.group.key_range = NB_RANGE_SHARED;
	uint64_t *const numbers[] = {&f.job.seed, &f.group.count};
	double *const reals[] = {&f.group.theta, &f.job.value_ratio};
	for (int i = 0; i < 2; i++) {
		++*numbers[i];
		ck_assert_uint_ne(digest_of(&f), first);
		--*numbers[i];
		double before = *reals[i];
		*reals[i] = 0.25;
		ck_assert_uint_ne(digest_of(&f), first);
		*reals[i] = before;
	}
	f.group.weights[NB_OP_UPDATE] = 1;
	ck_assert_uint_ne(digest_of(&f), first);
	f.group.weights[NB_OP_UPDATE] = 0;
	ck_assert_uint_eq(digest_of(&f), first);
	tear_down(&f);
}

/* ---- the verified sample ---- */

static uint64_t
count_samples(uint64_t begin, uint64_t end, double rate)
{
	uint64_t threshold = sample_threshold(rate), count = 0;
	for (uint64_t i = begin; i < end; i++)
		count += is_sampled(i, threshold);
	return count;
}

TEST(the_sample_is_the_share_that_was_asked_for)
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

TEST(rate_0_takes_none_and_rate_1_all)
{
	ck_assert_uint_eq(count_samples(0, 1000000, 0), 0);
	ck_assert_uint_eq(count_samples(0, 1000000, -1), 0);
	ck_assert_uint_eq(count_samples(0, 1000000, NAN), 0);
	ck_assert_uint_eq(count_samples(0, 1000000, 1), 1000000);
	ck_assert_uint_eq(count_samples(0, 1000000, 2), 1000000);
	ck_assert_uint_eq(count_samples(0, 1000000, nextafter(1, 0)), 1000000);
	ck_assert_uint_eq(count_samples(0, 1000, 1e-300), 0);
}

TEST(a_larger_rate_takes_the_same_ones_and_more)
{
	for (uint64_t i = 0; i < 100000; i++)
		ck_assert(!is_sampled(i, sample_threshold(0.1)) ||
			is_sampled(i, sample_threshold(0.2)));
}

/*
 * The sample has a tenth of each range of 1000 numbers and of each residue modulo small
 * numbers.
 */
TEST(sample_has_no_period)
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
