/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A histogram as JSON and back.
 *
 * HdrHistogram's V2 has the counts of the buckets and nothing else. Lost in it are minimum,
 * maximum and sum, which are exact here, and how the values of a bucket lie around a bound
 * of the classic table inside it; these stand beside it. A file may have been edited, so
 * what stands there must be possible for these buckets: otherwise figures of one report
 * would contradict each other. The sum is taken as it is, since some histograms have none.
 */
#include "report/json_histogram.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

struct percentile {
	const char *name;
	double percent;
};

static const struct percentile percentiles[] = {{"p50_ns", 50}, {"p75_ns", 75}, {"p90_ns", 90},
	{"p95_ns", 95}, {"p99_ns", 99}, {"p999_ns", 99.9}, {"p9999_ns", 99.99}};

/* ---- writing ---- */

/** Pairs of a bound and how many of its bucket's values are below it, where there are some. */
static json_t *
from_below(const struct nb_histogram *histogram)
{
	json_t *list = json_array();
	bool is_good = list != NULL;
	for (size_t i = 0; i < HISTOGRAM_BOUNDS && is_good; i++) {
		if (histogram->below[i] == 0)
			continue;
		json_t *pair = json_array();
		is_good = json_array_append_new(list, pair) == 0 &&
			json_array_append_new(pair, json_from_u64(nb_histogram_bound(i))) ==
				0 &&
			json_array_append_new(pair, json_from_u64(histogram->below[i])) == 0;
	}
	if (!is_good) {
		json_decref(list);
		return NULL;
	}
	return list;
}

static bool
set_percentiles(json_t *object, const struct nb_histogram *histogram)
{
	bool is_good = true;
	for (size_t i = 0; i < sizeof(percentiles) / sizeof(*percentiles) && is_good; i++) {
		double percent = percentiles[i].percent;
		if (nb_histogram_supports(histogram, percent, NULL))
			is_good = json_object_set_new(object, percentiles[i].name,
					  json_from_u64(nb_histogram_percentile(
						  histogram, percent))) == 0;
	}
	return is_good;
}

static bool
set_hdr(json_t *object, const struct nb_histogram *histogram)
{
	char *hdr;
	if (nb_histogram_encode(histogram, &hdr) != NB_OK)
		return false;
	bool is_good = json_object_set_new(object, "hdr", json_string(hdr)) == 0;
	free(hdr);
	return is_good;
}

json_t *
json_from_histogram(const struct nb_histogram *histogram)
{
	if (histogram == NULL)
		return json_null();
	json_t *object = json_object();
	uint64_t count = nb_histogram_count(histogram);
	bool is_good = object != NULL &&
		json_object_set_new(object, "count", json_from_u64(count)) == 0 &&
		json_object_set_new(
			object, "min_ns", json_from_u64(nb_histogram_min(histogram))) == 0 &&
		json_object_set_new(
			object, "mean_ns", json_from_real(nb_histogram_mean(histogram))) == 0 &&
		set_percentiles(object, histogram) &&
		json_object_set_new(object, "max_ns", json_from_u64(histogram->max)) == 0 &&
		json_object_set_new(object, "sum_ns", json_from_u128(histogram->sum)) == 0 &&
		json_object_set_new(object, "below", from_below(histogram)) == 0 &&
		set_hdr(object, histogram);
	if (!is_good) {
		json_decref(object);
		return NULL;
	}
	return object;
}

/* ---- reading ---- */

/** A member of an object; one that is not there is left as it is. */
static int
member_u64(struct json_reader *reader, const json_t *object, const char *name, uint64_t *value)
{
	const json_t *json = json_object_get(object, name);
	struct json_place place = {.up = reader->place, .name = name};
	if (json == NULL)
		return NB_OK;
	reader->place = &place;
	int rc = json_to_u64(reader, json, UINT64_MAX, value);
	reader->place = place.up;
	return rc;
}

/** The bucket that a value is counted in. */
static size_t
bucket(uint64_t value_ns)
{
	return histogram_index(value_ns < HISTOGRAM_HOUR ? value_ns : HISTOGRAM_HOUR);
}

static int
read_extremes(struct json_reader *reader, const json_t *object, struct nb_histogram *into)
{
	uint64_t count = nb_histogram_count(into), told = count;
	uint64_t low = nb_histogram_min(into), least = low;
	uint64_t high = into->max, most = high;
	int rc = member_u64(reader, object, "count", &told);
	if (rc == NB_OK && told != count)
		return json_bad(reader, "count is %llu, but hdr has %llu values",
			(unsigned long long)told, (unsigned long long)count);
	if (rc == NB_OK)
		rc = member_u64(reader, object, "min_ns", &least);
	if (rc == NB_OK)
		rc = member_u64(reader, object, "max_ns", &most);
	if (rc != NB_OK || count == 0)
		return rc;
	if (bucket(least) != bucket(low) || bucket(most) != bucket(high) || least > most)
		return json_bad(reader, "min_ns and max_ns are not those of hdr");
	into->min = least;
	into->max = most;
	return NB_OK;
}

static int
read_sum(struct json_reader *reader, const json_t *object, struct nb_histogram *into)
{
	const json_t *json = json_object_get(object, "sum_ns");
	struct json_place place = {.up = reader->place, .name = "sum_ns"};
	if (json == NULL)
		return NB_OK;
	reader->place = &place;
	int rc = json_to_u128(reader, json, &into->sum);
	reader->place = place.up;
	return rc;
}

/** HISTOGRAM_BOUNDS if it is no bound inside a bucket. */
static size_t
find_bound(uint64_t bound_ns)
{
	size_t i = 0;
	while (i < HISTOGRAM_BOUNDS && nb_histogram_bound(i) != bound_ns)
		i++;
	bool is_inside = i < HISTOGRAM_BOUNDS &&
		histogram_low(histogram_index(bound_ns)) < bound_ns;
	return is_inside ? i : HISTOGRAM_BOUNDS;
}

static int
read_pair(struct json_reader *reader, const json_t *pair, struct nb_histogram *into)
{
	uint64_t bound_ns, count;
	if (json_array_size(pair) != 2) /* 0 if it is no array */
		return json_bad(reader, "must be an array of a bound and a count");
	int rc = json_to_u64(reader, json_array_get(pair, 0), UINT64_MAX, &bound_ns);
	if (rc == NB_OK)
		rc = json_to_u64(reader, json_array_get(pair, 1), UINT64_MAX, &count);
	if (rc != NB_OK)
		return rc;
	size_t i = find_bound(bound_ns);
	if (i == HISTOGRAM_BOUNDS)
		return json_bad(reader, "%llu is no bound of the classic table inside a bucket",
			(unsigned long long)bound_ns);
	if (count > histogram_at(into, histogram_index(bound_ns)))
		return json_bad(reader, "there are not so many values in that bucket");
	into->below[i] = count;
	return NB_OK;
}

static int
read_below(struct json_reader *reader, const json_t *object, struct nb_histogram *into)
{
	const json_t *list = json_object_get(object, "below");
	struct json_place place = {.up = reader->place, .name = "below"};
	struct json_place element = {.up = &place};
	if (list == NULL || json_is_null(list))
		return NB_OK;
	reader->place = &place;
	int rc = json_is_array(list) ? NB_OK : json_bad(reader, "must be an array");
	reader->place = &element;
	for (size_t i = 0; i < json_array_size(list) && rc == NB_OK; i++) {
		element.index = i;
		rc = read_pair(reader, json_array_get(list, i), into);
	}
	reader->place = place.up;
	return rc;
}

int
json_to_histogram(struct json_reader *reader, const json_t *json, struct nb_histogram **out)
{
	const char *hdr = json_string_value(json_object_get(json, "hdr"));
	*out = NULL;
	if (json_is_null(json))
		return NB_OK;
	if (hdr == NULL)
		return json_bad(reader, "must be an object with a text hdr");
	if (reader->histograms++ == JSON_HISTOGRAMS_MAX)
		return json_bad(reader, "there are more than %d histograms before it",
			JSON_HISTOGRAMS_MAX);
	int rc = nb_histogram_decode(out, hdr);
	if (rc == NB_ERR_DATA) {
		char text[256];
		snprintf(text, sizeof(text), "%s", nb_error_text());
		return json_bad(reader, "%s", text);
	}
	if (rc == NB_OK)
		rc = read_extremes(reader, json, *out);
	if (rc == NB_OK)
		rc = read_sum(reader, json, *out);
	if (rc == NB_OK)
		rc = read_below(reader, json, *out);
	if (rc != NB_OK) {
		nb_histogram_delete(*out);
		*out = NULL;
	}
	return rc;
}
