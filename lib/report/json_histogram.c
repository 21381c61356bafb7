/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A histogram as JSON and back.
 *
 * HdrHistogram's V2 has only the counts of the buckets. It lacks minimum, maximum and sum,
 * which are exact here. It also lacks the number of values below each bound of the classic
 * table that lies inside a bucket. So these are written as additional members. A file may
 * have been edited, so they must be consistent with the buckets: otherwise figures of one
 * report would contradict each other. The sum is not checked, because some histograms have
 * none.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/histogram.h"
#include "report/json_value.h"

static const struct {
	const char *name;
	double percent;
} percentiles[] = {{"p50_ns", 50}, {"p75_ns", 75}, {"p90_ns", 90}, {"p95_ns", 95},
	{"p99_ns", 99}, {"p999_ns", 99.9}, {"p9999_ns", 99.99}};

/* ---- writing ---- */

/** Write pairs of a bound and the number of its bucket's values below it, if not 0. */
static json_t *
from_below(struct json_writer *writer, const struct nb_histogram *histogram)
{
	json_t *list = json_array();
	for (size_t i = 0; i < HISTOGRAM_BOUNDS; i++) {
		if (histogram->below[i] == 0)
			continue;
		json_t *pair = json_array();
		json_add(writer, pair, json_from_u64(nb_histogram_bound(i)));
		json_add(writer, pair, json_from_u64(histogram->below[i]));
		json_add(writer, list, pair);
	}
	return list;
}

json_t *
json_from_histogram(struct json_writer *writer, const struct nb_histogram *histogram)
{
	char *hdr = NULL;
	if (histogram == NULL)
		return json_null();
	json_t *object = json_object();
	json_put(writer, object, "count", json_from_u64(nb_histogram_count(histogram)));
	json_put(writer, object, "min_ns", json_from_u64(nb_histogram_min(histogram)));
	json_put(writer, object, "mean_ns", json_from_real(nb_histogram_mean(histogram)));
	for (size_t i = 0; i < sizeof(percentiles) / sizeof(*percentiles); i++)
		if (nb_histogram_supports(histogram, percentiles[i].percent, NULL))
			json_put(writer, object, percentiles[i].name,
				json_from_u64(nb_histogram_percentile(
					histogram, percentiles[i].percent)));
	json_put(writer, object, "max_ns", json_from_u64(histogram->max));
	json_put(writer, object, "sum_ns", json_from_u128(histogram->sum));
	json_put(writer, object, "below", from_below(writer, histogram));
	if (nb_histogram_encode(histogram, &hdr) != NB_OK)
		writer->has_failed = true;
	json_put(writer, object, "hdr", json_string(hdr));
	free(hdr);
	return object;
}

/* ---- reading ---- */

/** Read an integer member; `otherwise` if it is missing. */
static uint64_t
member(struct json_reader *reader, const json_t *object, const char *name, uint64_t otherwise)
{
	const json_t *json = json_object_get(object, name);
	JSON_ENTER(reader, place, name);
	uint64_t value = json != NULL ? json_to_u64(reader, json, UINT64_MAX) : otherwise;
	JSON_LEAVE(reader, place);
	return value;
}

static void
read_extremes(struct json_reader *reader, const json_t *object, struct nb_histogram *into)
{
	uint64_t has = nb_histogram_count(into), low = nb_histogram_min(into);
	uint64_t count = member(reader, object, "count", has);
	uint64_t least = member(reader, object, "min_ns", low);
	uint64_t most = member(reader, object, "max_ns", into->max);
	if (reader->rc != NB_OK)
		return;
	if (count != has)
		json_bad(reader, "count is %llu, but hdr has %llu values",
			(unsigned long long)count, (unsigned long long)has);
	if (has == 0)
		return;
	if (histogram_bucket(least) != histogram_bucket(low) ||
		histogram_bucket(most) != histogram_bucket(into->max) || least > most)
		json_bad(reader, "min_ns and max_ns differ from hdr");
	into->min = least;
	into->max = most;
}

static void
read_sum(struct json_reader *reader, const json_t *json, struct nb_histogram *into)
{
	JSON_ENTER(reader, place, "sum_ns");
	if (json != NULL)
		into->sum = json_to_u128(reader, json);
	JSON_LEAVE(reader, place);
}

/** The index of a bound inside a bucket; HISTOGRAM_BOUNDS: not such a bound. */
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

static void
read_pair(struct json_reader *reader, const json_t *pair, void *into)
{
	struct nb_histogram *histogram = into;
	if (json_array_size(pair) != 2) { /* the size is 0 if it is not an array */
		json_bad(reader, "must be an array of a bound and a count");
		return;
	}
	uint64_t bound_ns = json_to_u64(reader, json_array_get(pair, 0), UINT64_MAX);
	uint64_t count = json_to_u64(reader, json_array_get(pair, 1), UINT64_MAX);
	size_t i = find_bound(bound_ns);
	if (i == HISTOGRAM_BOUNDS)
		json_bad(reader, "%llu is not a bound of the classic table inside a bucket",
			(unsigned long long)bound_ns);
	else if (count > histogram_at(histogram, histogram_index(bound_ns)))
		json_bad(reader, "is more than that bucket has values");
	else
		histogram->below[i] = count;
}

static void
read_below(struct json_reader *reader, const json_t *list, struct nb_histogram *into)
{
	JSON_ENTER(reader, place, "below");
	json_each(reader, list, SIZE_MAX, read_pair, into);
	JSON_LEAVE(reader, place);
}

struct nb_histogram *
json_to_histogram(struct json_reader *reader, const json_t *json)
{
	const char *hdr = json_string_value(json_object_get(json, "hdr"));
	struct nb_histogram *histogram = NULL;
	if (json_is_null(json))
		return NULL;
	if (hdr == NULL)
		json_bad(reader, "must be an object with a text hdr");
	else if (reader->histograms++ == JSON_HISTOGRAMS_MAX)
		json_bad(reader, "is after %d other histograms, which is the limit",
			JSON_HISTOGRAMS_MAX);
	if (reader->rc != NB_OK)
		return NULL;
	int rc = nb_histogram_decode(&histogram, hdr);
	if (rc == NB_ERR_DATA)
		json_bad(reader, "%s", nb_error_text());
	reader->rc = rc;
	if (rc != NB_OK)
		return NULL;
	read_extremes(reader, json, histogram);
	read_sum(reader, json_object_get(json, "sum_ns"), histogram);
	read_below(reader, json_object_get(json, "below"), histogram);
	if (reader->rc == NB_OK)
		return histogram;
	nb_histogram_delete(histogram);
	return NULL;
}
