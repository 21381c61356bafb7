/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A list of experiments in the format of TAOBench: each line is "THREADS,WARMUP,LENGTH", in
 * seconds; the warm-up is part of the length. They run consecutively on one database, and each
 * has its own result.
 *
 * An experiment changes the database for the next one. So each has the next epoch: its new ids
 * and timestamps follow those of earlier experiments. Otherwise its inserts would find existing
 * keys, and its updates newer values.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mininb/mininb.h>

#include "cmd_run.h"
#include "message.h"
#include "output.h"

struct experiments_own experiments_own;

enum { EXPERIMENTS_MAX = 16, LINE_SIZE = 256 };

struct experiment {
	unsigned threads;
	double warmup_s, length_s;
};

/* clang-format off */
const struct option_row experiments_options[] = {
	{.name = "experiments", .arg = "FILE", .type = OPTION_TEXT, .group = GROUP_MEASURE,
		.before = "pin", .words = WORDS_FILE, .decides = true,
		.into = &experiments_own.path,
		.help = "run the workload once for each line THREADS,WARMUP,LENGTH of FILE, in seconds"},
	{.name = NULL},
};

const struct option_row closing_options[] = {
	{.name = "format", .arg = "FORMAT", .type = OPTION_CHOICE, .def = "text",
		.choices = "text|taobench", .group = GROUP_OUTPUT, .before = "quiet",
		.into = &experiments_own.format,
		.help = "format of the report: text, or the closing block of TAOBench"},
	{.name = NULL},
};
/* clang-format on */

/** False: the line is not an experiment. */
static bool
parse_line(struct experiment *out, const char *line)
{
	char rest;
	return sscanf(line, " %u , %lf , %lf %c", &out->threads, &out->warmup_s, &out->length_s,
		       &rest) == 3 &&
		out->threads > 0 && out->warmup_s >= 0 && out->length_s > out->warmup_s &&
		out->length_s < 1e9;
}

/** Reads the experiments of the file; returns their number, or 0: a failure was reported. */
static size_t
read_file(struct experiment *experiments, const char *path, int *status)
{
	char line[LINE_SIZE];
	size_t count = 0, number = 0;
	FILE *file = fopen(path, "re");
	*status = STATUS_DONE;
	if (file == NULL) {
		message_error("--experiments: %s: %s", path, strerror(errno));
		*status = STATUS_FAILED;
		return 0;
	}
	while (*status == STATUS_DONE && fgets(line, sizeof(line), file) != NULL) {
		number++;
		line[strcspn(line, "#\r\n")] = '\0';
		if (line[strspn(line, " \t")] == '\0')
			continue;
		if (count == EXPERIMENTS_MAX)
			*status = message_usage("--experiments: %s: more than %d experiments",
				path, EXPERIMENTS_MAX);
		else if (!parse_line(&experiments[count++], line))
			*status = message_usage(
				"--experiments: %s:%zu: '%.60s' is not THREADS,WARMUP,LENGTH: a number of threads and two times in seconds, the second one longer",
				path, number, line);
	}
	fclose(file);
	if (*status == STATUS_DONE && count == 0)
		*status = message_usage("--experiments: %s: has no experiment", path);
	return *status == STATUS_DONE ? count : 0;
}

static void
tell(const struct experiment *experiment)
{
	if (experiments_own.format != CLOSING_TAOBENCH)
		return;
	fprintf(output_text(),
		"Running experiment: %u threads, %.15g seconds (warmup), %.15g seconds (experiment)\n",
		experiment->threads, experiment->warmup_s, experiment->length_s);
	fflush(output_text());
}

/** Set a key of all groups, or of the job. */
static int
set(struct nb_job *job, const char *key, double value, const char *unit)
{
	char text[64];
	snprintf(text, sizeof(text), "%s=%.15g%s", key, value, unit);
	return nb_job_set(job, text);
}

static int
apply(struct nb_job *job, const struct experiment *experiment, uint64_t epoch, bool is_later)
{
	int rc = set(job, "threads", experiment->threads, "");
	/* first, because a warm-up must be shorter than the duration */
	if (rc == NB_OK)
		rc = set(job, "duration", experiment->length_s * 1e6, "us");
	if (rc == NB_OK)
		rc = set(job, "warmup", experiment->warmup_s * 1e6, "us");
	if (rc == NB_OK)
		rc = set(job, "count", 0, "");
	if (rc == NB_OK && is_later) /* edges are read once, as in the original */
		rc = nb_job_set(job, "batch-read=no");
	if (rc == NB_OK && epoch > 0)
		rc = set(job, "epoch", (double)epoch, "");
	return rc == NB_OK ? nb_job_check(job) : rc;
}

int
experiments_execute(const struct options *options, struct nb_job *job,
	struct nb_run_options *run, const struct run_sink *sink)
{
	struct experiment experiments[EXPERIMENTS_MAX];
	uint64_t first = job->epoch;
	int status;
	size_t count = read_file(experiments, experiments_own.path, &status);
	if (count > 0 && experiments_own.format == CLOSING_TAOBENCH)
		fputs("running benchmark!\nInputted experiments:\n", output_text());
	for (size_t i = 0; i < count; i++)
		tell(&experiments[i]);
	for (size_t i = 0; i < count && status == STATUS_DONE; i++) {
		status = message_last_failure(apply(job, &experiments[i], first + i, i > 0));
		if (status != STATUS_DONE)
			break;
		tell(&experiments[i]);
		run->threads = experiments[i].threads;
		status = run_one(options, run, sink);
	}
	return status;
}
