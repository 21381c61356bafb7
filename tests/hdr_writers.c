/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Our half of test_hdr_writers.py: results as HdrHistogram's texts in the directory given,
 * and what is in them, by our own reckoning.
 *
 *     over-time.hlog   a job and a put with what they kept over time
 *     whole.hlog       the same without that
 *     whole.hgrm       likewise
 *
 * Prints "over-time TITLE KIND RESPONSE COUNT P50 P99 MAX" for each kind in the samples.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "record_rig.h"
#include "report/walk.h"
#include "unit.h"

static const char *dir;

static void
write_to(const struct nb_results *results, const char *name)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	const char *format = strrchr(name, '.') + 1;
	ck_assert_msg(nb_results_write_file(results, format, path, 0) == NB_OK, "%s",
		nb_error_text());
}

/** All samples of one kind together, as we read them. */
static void
print_kind(const struct nb_results *results, size_t index, uint32_t kind, uint32_t is_response)
{
	const struct record *record = &results->records[index];
	const struct series *series = &record->run->measured.series;
	struct nb_histogram *sum, *one;
	char title[WALK_TITLE];
	ck_assert_int_eq(nb_histogram_new(&sum), NB_OK);
	for (size_t i = 0; i < series->count; i++) {
		const struct sample *sample = &series->samples[i];
		for (size_t j = 0; j < sample->latency_count; j++) {
			const struct sample_latency *it = &sample->latencies[j];
			if (it->kind != kind || it->is_response != is_response)
				continue;
			ck_assert_int_eq(nb_histogram_decode(&one, it->hdr), NB_OK);
			nb_histogram_merge(sum, one);
			nb_histogram_delete(one);
		}
	}
	walk_title(results, index, title);
	if (nb_histogram_count(sum) > 0)
		printf("over-time %s %s %" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu64
		       " %" PRIu64 "\n",
			title, walk_sample_kind(record, kind), is_response,
			nb_histogram_count(sum), nb_histogram_percentile(sum, 50),
			nb_histogram_percentile(sum, 99), nb_histogram_max(sum));
	nb_histogram_delete(sum);
}

TEST(results_are_written)
{
	struct nb_results *results = record_rig_new();
	record_rig_add_job(results, "leveldb", 1);
	record_rig_add_put(results, "lmdb", 2);
	write_to(results, "over-time.hlog");
	for (size_t i = 0; i < results->count; i++) {
		for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++) {
			print_kind(results, i, kind, 0);
			print_kind(results, i, kind, 1);
		}
		series_destroy(&results->records[i].run->measured.series);
		results->records[i].run->measured.series = (struct series){0};
	}
	write_to(results, "whole.hlog");
	write_to(results, "whole.hgrm");
	nb_results_delete(results);
}

int
main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	dir = argv[1];
	return unit_run();
}
