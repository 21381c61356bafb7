/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * convert: one trace into another.
 *
 * The counts go to stderr, for stdout may be the trace itself. What was left out is a
 * warning, which --quiet does not silence: bad lines that were skipped, operations of
 * kinds that mininb does not do.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "job_options.h"
#include "message.h"
#include "options.h"
#include "progress.h"

/* By the choices of --to-format; those of --from-format are in the order of NB_TRACE_*. */
static const uint32_t to_formats[] = {NB_TRACE_YCSB_TEXT, NB_TRACE_YCSB_LOG, NB_TRACE_U64,
	NB_TRACE_KEYS, NB_TRACE_CACHE_CSV, NB_TRACE_MININB};

/* By the choices of --key-bytes and --bare-as. */
static const uint32_t key_flags[] = {0, NB_TRACE_KEY_LITTLE, NB_TRACE_KEY_TEXT};
static const uint32_t bare_kinds[] = {NB_OP_READ, NB_OP_UPDATE, NB_OP_INSERT, NB_OP_DELETE};

static double
now_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/** "2 inserts, 1 scan": those kinds that there are. */
static void
list_kinds(char *text, size_t size, const struct nb_trace_counts *counts)
{
	const struct {
		uint64_t count;
		const char *name;
	} kinds[] = {
		{counts->reads, "reads"},
		{counts->inserts, "inserts"},
		{counts->updates, "updates"},
		{counts->upserts, "upserts"},
		{counts->rmws, "read-modify-writes"},
		{counts->deletes, "deletes"},
		{counts->scans, "scans"},
	};
	uint64_t bare = counts->ops;
	size_t used = 0;
	text[0] = '\0';
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		bare -= kinds[i].count;
		if (kinds[i].count > 0)
			used += (size_t)snprintf(text + used, size - used, "%s%" PRIu64 " %s",
				used > 0 ? ", " : "", kinds[i].count, kinds[i].name);
	}
	if (bare > 0)
		snprintf(text + used, size - used, "%s%" PRIu64 " bare keys",
			used > 0 ? ", " : "", bare);
}

static void
say_counts(const struct nb_trace_counts *counts, double seconds, bool is_of_file)
{
	char kinds[256], text[512];
	list_kinds(kinds, sizeof(kinds), counts);
	int used = snprintf(text, sizeof(text), "convert: %" PRIu64 " operations%s%s%s",
		counts->ops, kinds[0] != '\0' ? " (" : "", kinds, kinds[0] != '\0' ? ")" : "");
	if (is_of_file)
		snprintf(text + used, sizeof(text) - (size_t)used,
			"; %" PRIu64 " lines ignored, %" PRIu64 " of other kinds, %" PRIu64
			" bad; %.1f MB read, %.0f MB/s",
			counts->ignored, counts->others, counts->bad,
			(double)counts->bytes / 1e6,
			seconds > 0 ? (double)counts->bytes / 1e6 / seconds : 0.0);
	message_log(NULL, NB_LOG_INFO, text);
	if (counts->others > 0) {
		snprintf(text, sizeof(text),
			"convert: left out: %" PRIu64
			" operations of kinds that mininb does not do",
			counts->others);
		message_log(NULL, NB_LOG_WARNING, text);
	}
	if (counts->bad > 0) {
		snprintf(text, sizeof(text),
			"convert: left out: %" PRIu64 " bad; the first is %s", counts->bad,
			counts->first_bad);
		message_log(NULL, NB_LOG_WARNING, text);
	}
}

/** The operations of a workload, which is no file. */
static int
generate(const struct options *options, const char *name, const struct nb_trace_options *to,
	struct nb_trace_counts *counts, nb_progress_fn progress)
{
	struct nb_job *job;
	int rc = job_options_read(&job, name, options);
	if (rc < 0)
		return rc;
	rc = nb_trace_generate(job, options->phase == 0 ? NB_JOB_LOAD : NB_JOB_RUN, to, counts,
		progress, NULL);
	nb_job_delete(job);
	return rc;
}

static int
convert_file(const struct options *options)
{
	static const char workload[] = "workload:";
	struct nb_trace_options from = NB_TRACE_OPTIONS_INIT, to = NB_TRACE_OPTIONS_INIT;
	struct nb_trace_counts counts = {.size = sizeof(counts)};
	nb_progress_fn progress = progress_function(
		!options->is_quiet && options->report_interval > 0);
	from.path = options->from;
	from.format = (uint32_t)options->from_format;
	from.flags = key_flags[options->key_bytes];
	if (options->skips_bad)
		from.flags |= NB_TRACE_SKIP_BAD;
	from.key_size = options->key_size;
	from.value_size = options->value_size;
	to.path = options->to;
	to.format = to_formats[options->to_format];
	to.flags = key_flags[options->key_bytes];
	to.key_size = options->key_size;
	to.bare_kind = bare_kinds[options->bare_kind];
	double begin_s = now_s();
	bool is_of_file = strncmp(options->from, workload, strlen(workload)) != 0;
	int rc = is_of_file
		? nb_trace_convert(&from, &to, &counts, progress, NULL)
		: generate(options, options->from + strlen(workload), &to, &counts, progress);
	progress_clear();
	if (rc < 0)
		return message_last_failure(rc);
	say_counts(&counts, now_s() - begin_s, is_of_file);
	return STATUS_DONE;
}

int
cmd_convert(const struct options *options)
{
	if (options->from == NULL || options->to == NULL)
		return message_usage("convert: --%s is missing (mininb convert --from=FILE "
				     "--to=FILE)",
			options->from == NULL ? "from" : "to");
	return convert_file(options);
}
