/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A log of histograms over time, in HdrHistogram's format 1.3 with tags, for its tools
 * (HistogramLogAnalyzer, HistogramLogProcessor, hdrhistogram of PyPI). It has a line for
 * each kind of operation in each interval of a run:
 *
 *     Tag=leveldb/read/service,BEGIN,LENGTH,MAX,HISTOGRAM
 *
 * By its convention, begin and length are in seconds and the maximum is in milliseconds;
 * values in the histograms are nanoseconds. A run without a time series has one line for
 * each histogram of the whole run. Hiccups, and how late the harness woke up, are always
 * for the whole run.
 *
 * Times are relative to the start of the first run; each run begins at its own wall-clock
 * time. So lines ascend in time, which the tools expect. The samples contain no latencies
 * of a warm-up; the interval in which it ends has those that count.
 *
 * A tag must not contain a comma or a blank. All characters except letters, digits and
 * "_.-/@%" are replaced, because it becomes part of file names.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/walk.h"

/** The output, and the reference of its times. */
struct log {
	FILE *out;
	double start_s; /* of the first run, since 1970; 0: unknown */
	double begin_s; /* of this run, relative to start_s */
};

/** Parse "2026-11-22T04:30:37+00:00" into seconds since 1970; 0: invalid. */
static double
parse_begun(const char *begun)
{
	struct tm tm = {0};
	int hours = 0, minutes = 0;
	char sign = '+';
	const char *rest = strptime(begun, "%Y-%m-%dT%H:%M:%S", &tm);
	if (rest == NULL)
		return 0;
	if (sscanf(rest, "%c%2d:%2d", &sign, &hours, &minutes) != 3)
		hours = minutes = 0;
	double east = hours * 3600.0 + minutes * 60.0;
	return (double)timegm(&tm) - (sign == '-' ? -east : east);
}

static void
write_word(const struct log *log, const char *word)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/@%";
	for (; *word != '\0'; word++)
		fputc(strchr(allowed, *word) != NULL ? *word : '_', log->out);
}

/** `group` may be NULL. */
static void
write_tag(const struct log *log, const char *title, const char *group, const char *kind,
	const char *series)
{
	const char *const words[] = {title, group, kind, series};
	fputs("Tag=", log->out);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (words[i] == NULL)
			continue;
		if (i > 0)
			fputc('/', log->out);
		write_word(log, words[i]);
	}
	fputc(',', log->out);
}

static void
write_line(const struct log *log, uint64_t begin_ns, uint64_t duration_ns, uint64_t max_ns,
	const char *hdr)
{
	fprintf(log->out, "%.6f,%.6f,%.6f,%s\n", log->begin_s + (double)begin_ns / 1e9,
		(double)duration_ns / 1e9, (double)max_ns / 1e6, hdr);
}

static void
write_sample(const struct log *log, const struct record *record, const char *title,
	const struct sample *sample)
{
	for (size_t i = 0; i < sample->latency_count; i++) {
		const struct sample_latency *it = &sample->latencies[i];
		if (it->count == 0 || it->hdr == NULL)
			continue;
		write_tag(log, title, NULL, walk_sample_kind(record, it->kind),
			it->is_response ? "response" : "service");
		write_line(log, sample->end_ns - sample->duration_ns, sample->duration_ns,
			it->max_ns, it->hdr);
	}
}

static bool
has_samples(const struct record *record)
{
	const struct series *series = &record->run->measured.series;
	for (size_t i = 0; i < series->count; i++) {
		const struct sample *sample = &series->samples[i];
		for (size_t j = 0; j < sample->latency_count; j++) {
			if (sample->latencies[j].hdr != NULL)
				return true;
		}
	}
	return false;
}

/** Write a histogram of the whole run, unless the log has it over time. */
static int
write_whole(void *to, const struct walk_row *row)
{
	const struct log *log = to;
	char *hdr;
	const struct record_group *group = row->group;
	bool is_operation = row->what == WALK_KIND;
	if (row->what == WALK_ALL || (is_operation && has_samples(row->record)) ||
		nb_histogram_count(row->histogram) == 0)
		return NB_OK;
	int rc = nb_histogram_encode(row->histogram, &hdr);
	if (rc != NB_OK)
		return rc;
	write_tag(log, row->title, group != NULL && group->job != NULL ? group->name : NULL,
		row->kind, row->series);
	write_line(log, 0, group != NULL ? group->wall_ns : row->record->run->measured.wall_ns,
		nb_histogram_max(row->histogram), hdr);
	free(hdr);
	return NB_OK;
}

static int
write_record(const struct nb_results *results, size_t index, struct log *log)
{
	char title[WALK_TITLE];
	const struct record *record = &results->records[index];
	const struct series *series = &record->run->measured.series;
	double begun_s = parse_begun(record->run->environment.begun);
	log->begin_s = begun_s > log->start_s ? begun_s - log->start_s : 0;
	walk_title(results, index, title);
	int rc = walk_record(results, index, write_whole, log);
	for (size_t i = 0; i < series->count; i++)
		write_sample(log, record, title, &series->samples[i]);
	return rc;
}

/** Write the start time of the first run, unless no record has a run. */
static void
write_head(const struct nb_results *results, struct log *log)
{
	const char *begun = "";
	for (size_t i = 0; i < results->count && begun[0] == '\0'; i++) {
		if (results->records[i].run != NULL)
			begun = results->records[i].run->environment.begun;
	}
	log->start_s = parse_begun(begun);
	fprintf(log->out, "#[Logged with mininb %s]\n", nb_version());
	fputs("#[Histogram log format version 1.3]\n", log->out);
	if (log->start_s > 0)
		fprintf(log->out,
			"#[StartTime: %.3f (seconds since epoch), %s]\n"
			"#[BaseTime: %.3f (seconds since epoch)]\n",
			log->start_s, begun, log->start_s);
	fputs("\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
		log->out);
}

int
write_hlog(const struct nb_results *results, FILE *out, uint32_t flags)
{
	struct log log = {.out = out};
	int rc = NB_OK;
	(void)flags;
	write_head(results, &log);
	for (size_t i = 0; i < results->count && rc == NB_OK; i++) {
		if (results->records[i].run != NULL)
			rc = write_record(results, i, &log);
	}
	return rc;
}
