/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A job as a file that is read as the same job. What is as if nothing was said of it
 * is left out, but for the few keys that a reader looks for first.
 *
 * Numbers are written whole and not rounded to a suffix, reals with as many digits as
 * bring them back. Sizes and rates stand as they were typed: of a histogram or a
 * schedule that came from a file, that file is what one wants to read there.
 */
#include "workload/job.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static const char *
load_text(const struct job_key *key, const void *object)
{
	return *(char *const *)(const void *)((const char *)object + key->offset);
}

static void
write_time(FILE *to, uint64_t ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"h", 3600000000000u}, {"m", 60000000000u}, {"s", 1000000000u},
		{"ms", 1000000u}, {"us", 1000u}, {"ns", 1}};
	size_t i = 0;
	while (ns % units[i].ns != 0)
		i++;
	fprintf(to, "%" PRIu64 "%s", ns / units[i].ns, units[ns == 0 ? 2 : i].name);
}

static void
write_real(FILE *to, double real)
{
	char text[64];
	job_value_real_text(text, sizeof(text), real);
	fputs(text, to);
}

static int
write_choice(FILE *to, const struct job_key *key, uint64_t index)
{
	const char *choice = key->said.choices;
	for (uint64_t i = 0; i < index; i++) {
		choice += strcspn(choice, "|");
		if (*choice++ == '\0')
			return error_set(NB_ERR_USAGE, "%s: there is no choice %" PRIu64,
				key->said.name, index);
	}
	fprintf(to, "%.*s", (int)strcspn(choice, "|"), choice);
	return NB_OK;
}

static void
write_share(FILE *to, const struct nb_group *group, uint64_t weight)
{
	uint64_t scale = group->weight_scale > 0 ? group->weight_scale : 1;
	uint64_t fraction = weight % scale;
	fprintf(to, "%" PRIu64, weight / scale);
	if (fraction == 0)
		return;
	fputc('.', to);
	for (; fraction > 0; fraction = fraction * 10 % scale)
		fprintf(to, "%" PRIu64, fraction * 10 / scale);
}

/** Of sizes that were not typed. */
static int
write_sizes(FILE *to, const struct nb_sizes *sizes)
{
	static const char *const names[] = {[NB_SIZE_FIXED] = "",
		[NB_SIZE_UNIFORM] = "uniform:",
		[NB_SIZE_ZIPFIAN] = "zipfian:",
		[NB_SIZE_NORMAL] = "normal:",
		[NB_SIZE_PARETO] = "pareto:"};
	if (sizes->kind >= sizeof(names) / sizeof(names[0]))
		return error_set(NB_ERR_USAGE,
			"value-size: of a histogram only the name of its file can be written");
	fputs(names[sizes->kind], to);
	if (sizes->kind == NB_SIZE_NORMAL || sizes->kind == NB_SIZE_PARETO) {
		write_real(to, sizes->a);
		fputc(',', to);
		write_real(to, sizes->b);
		fputc(',', to);
	}
	fprintf(to, "%" PRIu64, sizes->min);
	if (sizes->kind != NB_SIZE_FIXED)
		fprintf(to, "..%" PRIu64, sizes->max);
	if (sizes->kind == NB_SIZE_ZIPFIAN) {
		fputc(',', to);
		write_real(to, sizes->a);
	}
	return NB_OK;
}

/** Of a rate that was not typed. */
static void
write_rate(FILE *to, const struct nb_group *group)
{
	for (size_t i = 0; i < group->rate_count; i++) {
		const struct nb_rate_step *step = &group->rate[i];
		fputs(i > 0 ? "," : "", to);
		write_real(to, step->from_ops_s);
		if (step->to_ops_s != step->from_ops_s) {
			fputs("..", to);
			write_real(to, step->to_ops_s);
		}
		if (step->duration_ns == UINT64_MAX)
			continue;
		fputc('/', to);
		write_time(to, step->duration_ns);
	}
}

/** What was asked for, also where there is no rate. */
static int
write_arrivals(FILE *to, const struct job_key *key, const struct nb_group *group)
{
	uint32_t arrivals = group->rate_count > 0 ? group->arrivals : group->arrivals_asked;
	if (arrivals == NB_ARRIVAL_CLOSED)
		arrivals = NB_ARRIVAL_FIXED;
	return write_choice(to, key, arrivals - key->min);
}

static void
write_warmup(FILE *to, const struct nb_group *group)
{
	if (group->warmup_count > 0)
		fprintf(to, "%" PRIu64, group->warmup_count);
	else if (group->warmup_ns > 0)
		write_time(to, group->warmup_ns);
}

/** `before` is the phase of the group before, or that of the group if it is the first. */
static int
write_value(FILE *to, const struct job_key *key, const void *object, uint32_t before)
{
	const struct nb_job *job = object;
	const struct nb_group *group = object; /* what it is is said by key->said.is_global */
	switch (key->type) {
	case JOB_COUNT:
	case JOB_BYTES:
		fprintf(to, "%" PRIu64, job_value_number(key, object));
		break;
	case JOB_TIME:
		write_time(to, job_value_number(key, object));
		break;
	case JOB_REAL:
		write_real(to,
			*(const double *)(const void *)((const char *)object + key->offset));
		break;
	case JOB_CHOICE:
		return write_choice(to, key, job_value_number(key, object));
	case JOB_TEXT:
	case JOB_CPUS:
		fputs(load_text(key, object) != NULL ? load_text(key, object) : "", to);
		break;
	case JOB_PREFIX:
		fprintf(to, "%.*s", (int)key->width, (const char *)object + key->offset);
		break;
	case JOB_SHARE:
		write_share(to, group, job_value_number(key, object));
		break;
	case JOB_RANGE:
		fprintf(to, "%" PRIu64, group->scan_min);
		if (group->scan_max != group->scan_min)
			fprintf(to, "..%" PRIu64, group->scan_max);
		break;
	case JOB_WARMUP:
		write_warmup(to, group);
		break;
	case JOB_SIZES:
		if (job->values_text == NULL)
			return write_sizes(to, &job->values);
		fputs(job->values_text, to);
		break;
	case JOB_RATE:
		if (group->rate_text != NULL)
			fputs(group->rate_text, to);
		else
			write_rate(to, group);
		break;
	case JOB_ARRIVALS:
		return write_arrivals(to, key, group);
	case JOB_START:
		return write_choice(to, key, group->phase > before);
	}
	return NB_OK;
}

/** The value as it would be typed. */
static int
value_text(char **out, const struct job_key *key, const void *object, uint32_t before)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	if (stream == NULL)
		return error_system("memory for a job");
	int rc = write_value(stream, key, object, before);
	if (fclose(stream) != 0 && rc == NB_OK)
		rc = error_system("memory for a job");
	if (rc == NB_OK && !job_value_can_hold(text))
		rc = error_set(NB_ERR_USAGE,
			"%s: holds a control character, or a blank at its edge, which no job file can",
			key->said.name);
	if (rc == NB_OK)
		*out = text;
	else
		free(text);
	return rc;
}

/** One line, unless it says what holds anyway. */
static int
write_key(FILE *to, const struct job_key *key, const void *object, const void *defaults,
	uint32_t before)
{
	char *text = NULL, *usual = NULL;
	int rc = value_text(&text, key, object, before);
	if (rc == NB_OK)
		rc = value_text(&usual, key, defaults, 0);
	bool is_missing = rc == NB_OK && key->type == JOB_TEXT && text[0] == '\0';
	if (rc == NB_OK && !is_missing && (key->is_shown || strcmp(text, usual) != 0))
		fprintf(to, "%s =%s%s\n", key->said.name, text[0] != '\0' ? " " : "", text);
	free(text);
	free(usual);
	return rc;
}

static int
write_keys(FILE *to, const void *object, const void *defaults, bool is_global, bool is_load,
	uint32_t before)
{
	int rc = NB_OK;
	for (const struct job_key *key = job_keys; rc == NB_OK && key->said.name != NULL;
		key++) {
		if (key->said.is_global == is_global && (!is_load || key->is_of_load))
			rc = write_key(to, key, object, defaults, before);
	}
	return rc;
}

static int
write_group(FILE *to, const struct nb_job *job, size_t i, const struct nb_group *defaults)
{
	const struct nb_group *group = &job->groups[i];
	if (!job_name_is_good(group->name))
		return error_set(NB_ERR_USAGE, "'%s' is no name of a group", group->name);
	fprintf(to, "\n[%s]\n", group->name);
	return write_keys(
		to, group, defaults, false, false, i > 0 ? group[-1].phase : group->phase);
}

static int
write_job(FILE *to, const struct nb_job *job, const struct nb_job *defaults)
{
	fputs("[workload]\n", to);
	int rc = write_keys(to, job, defaults, true, false, 0);
	if (rc == NB_OK && job->load != NULL) {
		fputs("\n[load]\n", to);
		rc = write_keys(to, job->load, defaults->load, false, true, 0);
	}
	for (size_t i = 0; rc == NB_OK && i < job->group_count; i++)
		rc = write_group(to, job, i, &defaults->groups[0]);
	return rc;
}

int
nb_job_write(const struct nb_job *job, char **out)
{
	struct nb_job *defaults;
	int rc = nb_job_read(&defaults, NULL);
	if (rc != NB_OK)
		return rc;
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	if (stream == NULL) {
		nb_job_delete(defaults);
		return error_system("memory for a job");
	}
	rc = write_job(stream, job, defaults);
	if (fclose(stream) != 0 && rc == NB_OK)
		rc = error_system("memory for a job");
	nb_job_delete(defaults);
	if (rc == NB_OK)
		*out = text;
	else
		free(text);
	return rc;
}
