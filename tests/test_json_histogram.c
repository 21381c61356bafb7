/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A histogram in a file has everything that it had in memory. Contradictory members are
 * rejected.
 */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/histogram.h"
#include "report/json_value.h"
#include "unit.h"

static struct nb_histogram *histogram;
static struct json_reader reader;
static struct json_writer writer;

static void
begin(void)
{
	reader = (struct json_reader){.file = "a.json"};
	nb_histogram_delete(histogram);
	ck_assert_int_eq(nb_histogram_new(&histogram), NB_OK);
}

/** Write the histogram and read it back from text. */
static struct nb_histogram *
again(const struct nb_histogram *from)
{
	json_t *json = json_from_histogram(&writer, from);
	char *text = json_dumps(json, JSON_REAL_PRECISION(17));
	json_t *loaded = json_loads(text, 0, NULL);
	struct nb_histogram *out = json_to_histogram(&reader, loaded);
	ck_assert(!writer.has_failed);
	ck_assert_msg(reader.rc == NB_OK, "%s", nb_error_text());
	json_decref(json);
	json_decref(loaded);
	free(text);
	return out;
}

static void
assert_same_again(void)
{
	struct nb_histogram *read = again(histogram);
	ck_assert(read->sum == histogram->sum);
	ck_assert(read->min == histogram->min);
	ck_assert(read->max == histogram->max);
	ck_assert(memcmp(read->counts, histogram->counts, sizeof(read->counts)) == 0);
	ck_assert(memcmp(read->below, histogram->below, sizeof(read->below)) == 0);
	nb_histogram_delete(read);
}

TEST(histogram_is_read_back_unchanged)
{
	struct rng rng;
	begin();
	rng_create(&rng, 1);
	for (int i = 0; i < 100000; i++)
		nb_histogram_add(histogram, rng_next(&rng) >> (24 + rng_next(&rng) % 40));
	assert_same_again();
}

TEST(counts_at_bounds_within_buckets_are_read_back_unchanged)
{
	begin();
	for (size_t i = 0; nb_histogram_bound(i) != UINT64_MAX; i++) {
		uint64_t bound = nb_histogram_bound(i);
		for (uint64_t k = 0; k < 3; k++)
			nb_histogram_add(histogram, bound > 0 ? bound - 1 : 0);
		nb_histogram_add(histogram, bound);
	}
	assert_same_again();
}

TEST(empty_histogram_is_read_back_unchanged)
{
	begin();
	assert_same_again();
}

TEST(long_times_and_large_sums_are_read_back_unchanged)
{
	begin();
	for (int i = 0; i < 5; i++)
		nb_histogram_add(histogram, UINT64_MAX);
	nb_histogram_add(histogram, 7);
	assert_same_again();
}

TEST(missing_histogram_is_null)
{
	begin();
	ck_assert(json_is_null(json_from_histogram(&writer, NULL)));
	ck_assert_ptr_null(json_to_histogram(&reader, json_null()));
	ck_assert_int_eq(reader.rc, NB_OK);
}

TEST(percentiles_appear_if_the_values_support_them)
{
	begin();
	for (uint64_t i = 1; i <= 1000; i++) /* below 2048 ns, each value has its own bucket */
		nb_histogram_add(histogram, i);
	json_t *json = json_from_histogram(&writer, histogram);
	ck_assert_int_eq(json_integer_value(json_object_get(json, "count")), 1000);
	ck_assert_int_eq(json_integer_value(json_object_get(json, "min_ns")), 1);
	ck_assert_int_eq(json_integer_value(json_object_get(json, "p50_ns")), 500);
	ck_assert_int_eq(json_integer_value(json_object_get(json, "p99_ns")), 990);
	ck_assert_int_eq(json_integer_value(json_object_get(json, "max_ns")), 1000);
	ck_assert_int_eq(json_integer_value(json_object_get(json, "sum_ns")), 500500);
	ck_assert(json_real_value(json_object_get(json, "mean_ns")) == 500.5);
	ck_assert_ptr_null(json_object_get(json, "p999_ns")); /* a single value has none */
	json_decref(json);
}

/** The error text if a member of a valid histogram is replaced; NULL if it is accepted. */
static const char *
said_of(const char *name, const char *value)
{
	json_t *json = json_from_histogram(&writer, histogram);
	json_t *other = json_loads(value, JSON_DECODE_ANY, NULL);
	ck_assert_ptr_nonnull(other);
	json_object_set_new(json, name, other);
	reader.rc = NB_OK;
	struct nb_histogram *out = json_to_histogram(&reader, json);
	json_decref(json);
	ck_assert_int_eq(out != NULL, reader.rc == NB_OK);
	nb_histogram_delete(out);
	return reader.rc == NB_OK ? NULL : nb_error_text();
}

TEST(values_that_contradict_the_buckets_are_refused)
{
	static const struct {
		const char *name, *value, *said;
	} bad[] = {{"count", "2", "a.json: count is 2, but hdr has 3 values"},
		{"count", "\"x\"", "a.json: count: must be a number"},
		{"min_ns", "5", "a.json: min_ns and max_ns differ from hdr"},
		{"max_ns", "90000", "a.json: min_ns and max_ns differ from hdr"},
		{"max_ns", "\"99999999999999999999\"",
			"a.json: max_ns: must be at most 18446744073709551615"},
		{"sum_ns", "-1", "a.json: sum_ns: must be a whole number, and not below 0"},
		{"below", "{}", "a.json: below: must be an array"},
		{"below", "[7]", "a.json: below[0]: must be an array of a bound and a count"},
		{"below", "[[25000, 1], [25000]]",
			"a.json: below[1]: must be an array of a bound and a count"},
		{"below", "[[12345, 1]]",
			"a.json: below[0]: 12345 is not a bound of the classic table inside a bucket"},
		{"below", "[[35000, 1]]",
			"a.json: below[0]: is more than that bucket has values"},
		{"hdr", "7", "a.json: must be an object with a text hdr"},
		{"hdr", "\"HISTFAAA\"",
			"a.json: not a histogram: the cookie is not that of V2, compressed"}};
	begin();
	nb_histogram_add(histogram, 100);
	nb_histogram_add(histogram, 25001);
	nb_histogram_add(histogram, 25002);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		const char *said = said_of(bad[i].name, bad[i].value);
		ck_assert_ptr_nonnull(said);
		ck_assert_str_eq(said, bad[i].said);
	}
	ck_assert_ptr_null(said_of("min_ns", "100"));
	ck_assert_ptr_null(said_of("p50_ns", "\"ignored\""));
}

TEST(another_hdrhistograms_text_alone_is_enough)
{
	begin();
	nb_histogram_add(histogram, 1000);
	json_t *json = json_from_histogram(&writer, histogram), *bare = json_object();
	json_object_set(bare, "hdr", json_object_get(json, "hdr"));
	struct nb_histogram *out = json_to_histogram(&reader, bare);
	ck_assert_uint_eq(nb_histogram_count(out), 1);
	ck_assert_uint_eq(nb_histogram_max(out), 1000);
	nb_histogram_delete(out);
	json_decref(json);
	json_decref(bare);
}

TEST(number_of_histograms_in_a_document_is_limited)
{
	begin();
	json_t *json = json_from_histogram(&writer, histogram);
	reader.histograms = JSON_HISTOGRAMS_MAX;
	ck_assert_ptr_null(json_to_histogram(&reader, json));
	ck_assert_int_eq(reader.rc, NB_ERR_DATA);
	json_decref(json);
}
