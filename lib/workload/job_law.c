/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Job keys for shares of a mix and for distributions of sizes and rates.
 *
 * Shares are decimals on any scale: percent, or counts of each kind. They are stored as integer
 * weights. All weights of a group have the same scale, the smallest power of ten without a
 * fraction. So 99.5 and 0.5 are 995 and 5, and counts of a trace stay unchanged. Rejected:
 * doubles with the sum 1, because a stratum of the mix would depend on rounding.
 *
 * Sizes and rates are written as they were typed, because a reader of the job wants to see the
 * name of the histogram or schedule file.
 */
#include "workload/job_type.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "workload/sizes.h"

enum { SHARE_SCALE_MAX = 10000 }; /* four decimals */

/* ---- shares ---- */

/** Parse a share in units of 1/SHARE_SCALE_MAX. */
static int
parse_share(uint64_t *out, const char *text)
{
	uint64_t whole = 0;
	int rc = nb_parse_count(&whole, text);
	if (rc == NB_OK && whole > UINT32_MAX)
		return error_set(NB_ERR_USAGE, "%s is too large; allowed: 0 to %" PRIu32, text,
			UINT32_MAX);
	*out = whole * SHARE_SCALE_MAX;
	size_t length = strlen(text);
	if (rc == NB_OK || length == 0 || length >= 32 ||
		text[strspn(text, "0123456789.")] != '\0')
		return rc;
	char scaled[40];
	snprintf(scaled, sizeof(scaled), "%se4", text);
	if (nb_parse_count(out, scaled) != NB_OK)
		return error_set(
			NB_ERR_USAGE, "'%s' is not a number of at most four decimals", text);
	return NB_OK;
}

int
job_share_set(const struct job_key *key, void *object, const char *text)
{
	struct nb_group *group = object;
	uint64_t weights[NB_KINDS_MAX], share, divisor = 1;
	uint64_t scale = group->weight_scale > 0 ? group->weight_scale : 1;
	int rc = parse_share(&share, text);
	if (rc != NB_OK)
		return rc;
	size_t set = (key->offset - offsetof(struct nb_group, weights)) / sizeof(uint32_t);
	for (size_t i = 0; i < NB_KINDS_MAX; i++)
		weights[i] = i == set ? share : group->weights[i] * (SHARE_SCALE_MAX / scale);
	for (bool is_whole = true; divisor < SHARE_SCALE_MAX; divisor *= 10) {
		for (size_t i = 0; i < NB_KINDS_MAX; i++)
			is_whole &= weights[i] % (divisor * 10) == 0;
		if (!is_whole)
			break;
	}
	for (size_t i = 0; i < NB_KINDS_MAX; i++) {
		if (weights[i] / divisor > UINT32_MAX)
			return error_set(NB_ERR_USAGE,
				"'%s' and the other shares are too far apart for their decimals",
				text);
	}
	for (size_t i = 0; i < NB_KINDS_MAX; i++)
		group->weights[i] = (uint32_t)(weights[i] / divisor);
	group->weight_scale = (uint32_t)(SHARE_SCALE_MAX / divisor);
	return NB_OK;
}

void
job_share_write(FILE *to, const struct job_key *key, const void *object)
{
	const struct nb_group *group = object;
	uint64_t scale = group->weight_scale > 0 ? group->weight_scale : 1;
	uint64_t weight = job_load(key, object), fraction = weight % scale;
	fprintf(to, "%" PRIu64 "%s", weight / scale, fraction > 0 ? "." : "");
	for (; fraction > 0; fraction = fraction * 10 % scale)
		fprintf(to, "%" PRIu64, fraction * 10 / scale);
}

/* ---- sizes and rates, parsed elsewhere ---- */

int
job_sizes_set(const struct job_key *key, void *object, const char *text)
{
	struct nb_job *job = object;
	struct nb_sizes sizes = {0};
	(void)key;
	int rc = nb_sizes_parse(&sizes, text);
	if (rc == NB_OK)
		rc = job_replace_text(&job->values_text, text);
	if (rc != NB_OK) {
		nb_sizes_destroy(&sizes);
		return rc;
	}
	nb_sizes_destroy(&job->values);
	job->values = sizes;
	return NB_OK;
}

static void
print_sizes(FILE *to, const struct nb_sizes *sizes)
{
	if (sizes->kind != NB_SIZE_FIXED)
		fprintf(to, "%s:", sizes_law_name(sizes->kind));
	if (sizes->kind == NB_SIZE_NORMAL || sizes->kind == NB_SIZE_PARETO) {
		job_write_real(to, "", sizes->a);
		job_write_real(to, ",", sizes->b);
		fputc(',', to);
	}
	fprintf(to, "%" PRIu64, sizes->min);
	if (sizes->kind != NB_SIZE_FIXED)
		fprintf(to, "..%" PRIu64, sizes->max);
	if (sizes->kind == NB_SIZE_ZIPFIAN)
		job_write_real(to, ",", sizes->a);
}

/** Write the sizes as typed, or construct them from sizes that a program has set. */
void
job_sizes_write(FILE *to, const struct job_key *key, const void *object)
{
	const struct nb_job *job = object;
	(void)key;
	if (job->values_text != NULL)
		fputs(job->values_text, to);
	else
		print_sizes(to, &job->values);
}

/** A histogram is rejected, because a group owns no tables. */
static int
check_law(const struct job_key *key, const struct nb_sizes *sizes, const char *text)
{
	if (sizes->kind == NB_SIZE_HISTOGRAM)
		return error_set(NB_ERR_USAGE,
			"a histogram cannot be used; use uniform, zipfian, normal or pareto");
	int rc = sizes_check(sizes);
	if (rc == NB_OK)
		rc = job_check_number(key, sizes->min, text);
	return rc == NB_OK ? job_check_number(key, sizes->max, text) : rc;
}

/** Parse a number or a distribution of numbers. */
static int
parse_items(struct nb_sizes *sizes, const struct job_key *key, const char *text)
{
	*sizes = (struct nb_sizes){0};
	if (strchr(text, ':') == NULL) {
		int rc = job_parse_number(&sizes->max, key, text);
		sizes->min = sizes->max;
		return rc;
	}
	int rc = nb_sizes_parse(sizes, text);
	if (rc == NB_OK && (rc = check_law(key, sizes, text)) != NB_OK)
		nb_sizes_destroy(sizes);
	return rc;
}

int
job_degree_set(const struct job_key *key, void *object, const char *text)
{
	struct nb_sizes sizes;
	int rc = parse_items(&sizes, key, text);
	if (rc == NB_OK)
		((struct nb_job *)object)->degree = sizes;
	return rc;
}

void
job_degree_write(FILE *to, const struct job_key *key, const void *object)
{
	(void)key;
	print_sizes(to, &((const struct nb_job *)object)->degree);
}

int
job_items_set(const struct job_key *key, void *object, const char *text)
{
	struct nb_group *group = object;
	struct nb_sizes sizes;
	int rc = parse_items(&sizes, key, text);
	if (rc != NB_OK)
		return rc;
	group->items = sizes.max;
	group->item_sizes = sizes.kind == NB_SIZE_FIXED ? (struct nb_sizes){0} : sizes;
	return NB_OK;
}

void
job_items_write(FILE *to, const struct job_key *key, const void *object)
{
	const struct nb_group *group = object;
	if (group->item_sizes.kind == NB_SIZE_FIXED)
		job_number_write(to, key, object);
	else
		print_sizes(to, &group->item_sizes);
}

int
job_items_check(const struct job_key *key, const void *object)
{
	const struct nb_group *group = object;
	if (group->item_sizes.kind == NB_SIZE_FIXED)
		return job_number_check(key, object);
	int rc = check_law(key, &group->item_sizes, "its law");
	if (rc == NB_OK && group->item_sizes.max != group->items)
		rc = error_set(NB_ERR_USAGE, "must be the largest that its law draws");
	return rc;
}

int
job_rate_set(const struct job_key *key, void *object, const char *text)
{
	struct nb_group *group = object;
	struct nb_rate_step *steps = NULL;
	size_t count = 0;
	(void)key;
	bool is_none = strcmp(text, "none") == 0;
	int rc = is_none ? NB_OK : nb_rate_parse(&steps, &count, text);
	if (rc == NB_OK)
		rc = job_replace_text(&group->rate_text, is_none ? NULL : text);
	if (rc != NB_OK) {
		free(steps);
		return rc;
	}
	free(group->rate);
	group->rate = steps;
	group->rate_count = count;
	job_settle_arrivals(group);
	return NB_OK;
}

/** Write the rate as typed, or construct it from steps that a program has set. */
void
job_rate_write(FILE *to, const struct job_key *key, const void *object)
{
	const struct nb_group *group = object;
	(void)key;
	if (group->rate_text != NULL)
		fputs(group->rate_text, to);
	for (size_t i = 0; group->rate_text == NULL && i < group->rate_count; i++) {
		const struct nb_rate_step *step = &group->rate[i];
		job_write_real(to, i > 0 ? "," : "", step->from_ops_s);
		if (step->to_ops_s != step->from_ops_s)
			job_write_real(to, "..", step->to_ops_s);
		if (step->duration_ns != UINT64_MAX) {
			fputc('/', to);
			job_write_duration(to, step->duration_ns);
		}
	}
}
