/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values of the keys of jobs, from text into their fields. What is refused leaves the
 * field as it was.
 *
 * Shares of a mix are decimals, and any numbers will do: percent, or how often each was
 * counted. They are kept as whole weights, all of a group on one scale, which is the
 * smallest power of ten that leaves no fraction. So 99.5 and 0.5 are 995 and 5, and
 * counts of a trace stay what they are. Rejected: doubles that are normed to 1, with which
 * a stratum of the mix would depend on how a sum was rounded.
 */
#include "workload/job.h"

#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum {
	SHARE_SCALE_MAX = 10000, /* four decimals */
	CPU_MAX = 1023           /* of glibc's cpu_set_t */
};

bool
job_value_can_hold(const char *text)
{
	size_t length = strlen(text);
	for (size_t i = 0; i < length; i++) {
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	}
	return length == 0 || (text[0] != ' ' && text[length - 1] != ' ');
}

void
job_value_real_text(char *buf, size_t size, double real)
{
	locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	locale_t before = c_locale != (locale_t)0 ? uselocale(c_locale) : (locale_t)0;
	for (int digits = 6; digits <= 17; digits++) {
		snprintf(buf, size, "%.*g", digits, real);
		if (strtod(buf, NULL) == real)
			break;
	}
	if (c_locale != (locale_t)0) {
		uselocale(before);
		freelocale(c_locale);
	}
}

static void
store(const struct job_key *key, void *object, uint64_t value)
{
	char *field = (char *)object + key->offset;
	if (key->width == sizeof(uint32_t))
		*(uint32_t *)field = (uint32_t)value;
	else
		*(uint64_t *)field = value;
}

uint64_t
job_value_number(const struct job_key *key, const void *object)
{
	const char *field = (const char *)object + key->offset;
	return key->width == sizeof(uint32_t) ? *(const uint32_t *)(const void *)field
					      : *(const uint64_t *)(const void *)field;
}

int
job_value_choose(const struct job_key *key, const char *text, uint32_t *out)
{
	char choices[128], allowed[160] = "", *rest = choices;
	const char *words[16];
	uint32_t count = 0;
	snprintf(choices, sizeof(choices), "%s", key->said.choices);
	for (char *word; count < 16 && (word = strsep(&rest, "|")) != NULL;)
		words[count++] = word;
	for (uint32_t i = 0; i < count; i++) {
		if (strcmp(words[i], text) == 0) {
			*out = i;
			return NB_OK;
		}
		size_t used = strlen(allowed);
		snprintf(allowed + used, sizeof(allowed) - used, "%s%s", i > 0 ? ", " : "",
			words[i]);
	}
	const char *near = nb_nearest(text, words, count);
	return error_set(NB_ERR_USAGE, "'%.*s' is not known%s%s%s%s", JOB_QUOTE_MAX, text,
		near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
		near != NULL ? "'? Allowed: " : "; allowed: ", allowed);
}

static int
set_choice(const struct job_key *key, void *object, const char *text)
{
	uint32_t index;
	int rc = job_value_choose(key, text, &index);
	if (rc == NB_OK)
		store(key, object, index + key->min);
	return rc;
}

static int
parse_number(uint64_t *out, const struct job_key *key, const char *text)
{
	bool is_bytes = key->type == JOB_BYTES;
	int rc = is_bytes ? nb_parse_bytes(out, text) : nb_parse_count(out, text);
	if (rc < 0 || (*out >= key->min && *out <= key->max))
		return rc;
	return error_set(NB_ERR_USAGE, "%.*s is too %s; allowed: %" PRIu64 " to %" PRIu64 "%s",
		JOB_QUOTE_MAX, text, *out < key->min ? "small" : "large", key->min, key->max,
		is_bytes ? " bytes" : "");
}

static int
set_number(const struct job_key *key, void *object, const char *text)
{
	uint64_t number;
	int rc = parse_number(&number, key, text);
	if (rc == NB_OK)
		store(key, object, number);
	return rc;
}

static int
set_time(const struct job_key *key, void *object, const char *text)
{
	uint64_t ns;
	int rc = nb_parse_time(&ns, text);
	if (rc == NB_OK)
		store(key, object, ns);
	return rc;
}

static int
set_real(const struct job_key *key, void *object, const char *text)
{
	double real;
	int rc = nb_parse_real(&real, text);
	if (rc < 0)
		return rc;
	if (real >= key->real_min && real <= key->real_max) {
		*(double *)((char *)object + key->offset) = real;
		return NB_OK;
	}
	char min[32], max[32];
	job_value_real_text(min, sizeof(min), key->real_min);
	job_value_real_text(max, sizeof(max), key->real_max);
	return error_set(NB_ERR_USAGE, "%.*s is too %s; allowed: %s to %s", JOB_QUOTE_MAX, text,
		real < key->real_min ? "small" : "large", min, max);
}

static int
replace_text(char **field, const char *text)
{
	char *copy = NULL;
	if (text != NULL && (copy = strdup(text)) == NULL)
		return error_system("memory for a job");
	free(*field);
	*field = copy;
	return NB_OK;
}

static int
set_text(const struct job_key *key, void *object, const char *text)
{
	if (text[0] == '\0' && key->min > 0)
		return error_set(NB_ERR_USAGE, "%s must not be empty", key->said.arg);
	return replace_text(
		(char **)((char *)object + key->offset), text[0] != '\0' ? text : NULL);
}

static int
set_prefix(const struct job_key *key, void *object, const char *text)
{
	if (strlen(text) >= key->width)
		return error_set(NB_ERR_USAGE, "'%.*s' is too long; allowed: up to %zu bytes",
			JOB_QUOTE_MAX, text, key->width - 1);
	char *field = (char *)object + key->offset;
	memset(field, 0, key->width);
	memcpy(field, text, strlen(text));
	return NB_OK;
}

static int
set_range(const struct job_key *key, void *object, const char *text)
{
	uint64_t *field = (uint64_t *)(void *)((char *)object + key->offset);
	const char *dots = strstr(text, "..");
	char first[64];
	size_t length = dots != NULL ? (size_t)(dots - text) : strlen(text);
	if (length >= sizeof(first))
		return error_set(NB_ERR_USAGE, "'%.*s' is no MIN..MAX", JOB_QUOTE_MAX, text);
	memcpy(first, text, length);
	first[length] = '\0';
	uint64_t min, max;
	int rc = parse_number(&min, key, first);
	max = min;
	if (rc == NB_OK && dots != NULL)
		rc = parse_number(&max, key, dots + 2);
	if (rc != NB_OK)
		return rc;
	if (min > max)
		return error_set(
			NB_ERR_USAGE, "'%s': the first number must not be the larger", text);
	field[0] = min;
	field[1] = max;
	return NB_OK;
}

/** "10s" is a time and "10k" a count: no suffix is both. */
static int
set_warmup(struct nb_group *group, const char *text)
{
	uint64_t ns = 0, count = 0;
	if (nb_parse_count(&count, text) != NB_OK && nb_parse_time(&ns, text) != NB_OK)
		return error_set(NB_ERR_USAGE,
			"'%.*s' is neither a time, such as 10s, nor a count, such as 10k",
			JOB_QUOTE_MAX, text);
	group->warmup_ns = ns;
	group->warmup_count = count;
	return NB_OK;
}

/* ---- shares ---- */

/** In units of 1/SHARE_SCALE_MAX. */
static int
parse_share(uint64_t *out, const char *text)
{
	uint64_t whole;
	int rc = nb_parse_count(&whole, text);
	if (rc == NB_OK && whole <= UINT32_MAX) {
		*out = whole * SHARE_SCALE_MAX;
		return NB_OK;
	}
	if (rc == NB_OK)
		return error_set(NB_ERR_USAGE, "%s is too large; allowed: 0 to %" PRIu32, text,
			UINT32_MAX);
	size_t length = strlen(text);
	if (length == 0 || length >= 32 || text[strspn(text, "0123456789.")] != '\0')
		return rc;
	char scaled[40];
	snprintf(scaled, sizeof(scaled), "%se4", text);
	if (nb_parse_count(out, scaled) != NB_OK)
		return error_set(
			NB_ERR_USAGE, "'%s' is no number of at most four decimals", text);
	return NB_OK;
}

static int
set_share(const struct job_key *key, struct nb_group *group, const char *text)
{
	uint64_t weights[NB_OP_KINDS], scale = group->weight_scale, share;
	int rc = parse_share(&share, text);
	if (rc != NB_OK)
		return rc;
	size_t kind = (key->offset - offsetof(struct nb_group, weights)) / sizeof(uint32_t);
	if (scale == 0)
		scale = 1;
	for (size_t i = 0; i < NB_OP_KINDS; i++)
		weights[i] = i == kind ? share : group->weights[i] * (SHARE_SCALE_MAX / scale);
	scale = SHARE_SCALE_MAX;
	for (bool has_fraction = false; scale > 1; scale /= 10) {
		for (size_t i = 0; i < NB_OP_KINDS; i++)
			has_fraction |= weights[i] % 10 != 0;
		if (has_fraction)
			break;
		for (size_t i = 0; i < NB_OP_KINDS; i++)
			weights[i] /= 10;
	}
	for (size_t i = 0; i < NB_OP_KINDS; i++) {
		if (weights[i] > UINT32_MAX)
			return error_set(NB_ERR_USAGE,
				"'%s' and the other shares are too far apart for their decimals",
				text);
	}
	for (size_t i = 0; i < NB_OP_KINDS; i++)
		group->weights[i] = (uint32_t)weights[i];
	group->weight_scale = (uint32_t)scale;
	return NB_OK;
}

/* ---- what is read by others ---- */

static int
set_sizes(struct nb_job *job, const char *text)
{
	struct nb_sizes sizes = {0};
	int rc = nb_sizes_parse(&sizes, text);
	if (rc == NB_OK && (rc = replace_text(&job->values_text, text)) != NB_OK)
		nb_sizes_destroy(&sizes);
	if (rc != NB_OK)
		return rc;
	nb_sizes_destroy(&job->values);
	job->values = sizes;
	return NB_OK;
}

/** Arrivals that were asked for are in force where there is a rate. */
static void
settle_arrivals(struct nb_group *group)
{
	if (group->rate_count == 0)
		group->arrivals = NB_ARRIVAL_CLOSED;
	else if (group->arrivals_asked != NB_ARRIVAL_CLOSED)
		group->arrivals = group->arrivals_asked;
	else
		group->arrivals = NB_ARRIVAL_FIXED;
}

static int
set_rate(struct nb_group *group, const char *text)
{
	struct nb_rate_step *steps = NULL;
	size_t count = 0;
	bool is_none = strcmp(text, "none") == 0;
	int rc = is_none ? NB_OK : nb_rate_parse(&steps, &count, text);
	if (rc == NB_OK &&
		(rc = replace_text(&group->rate_text, is_none ? NULL : text)) != NB_OK)
		free(steps);
	if (rc != NB_OK)
		return rc;
	free(group->rate);
	group->rate = steps;
	group->rate_count = count;
	settle_arrivals(group);
	return NB_OK;
}

/** One CPU of a list; returns what is behind it, or NULL. */
static const char *
scan_cpu(const char *text, unsigned *out)
{
	const char *at = text;
	for (*out = 0; *at >= '0' && *at <= '9'; at++) {
		*out = *out * 10 + (unsigned)(*at - '0');
		if (*out > CPU_MAX)
			return NULL;
	}
	return at == text ? NULL : at;
}

int
job_value_check_cpus(const char *text)
{
	unsigned first, last;
	const char *at = text;
	do {
		at = scan_cpu(at == text ? at : at + 1, &first);
		last = first;
		if (at != NULL && *at == '-')
			at = scan_cpu(at + 1, &last);
	} while (at != NULL && last >= first && *at == ',');
	if (at == NULL || last < first || *at != '\0')
		return error_set(NB_ERR_USAGE,
			"'%.*s' is no list of CPUs, such as 0-3,8; allowed: 0 to %u",
			JOB_QUOTE_MAX, text, CPU_MAX);
	return NB_OK;
}

static int
set_cpus(const struct job_key *key, void *object, const char *text)
{
	bool is_any = strcmp(text, "any") == 0;
	int rc = is_any ? NB_OK : job_value_check_cpus(text);
	if (rc == NB_OK)
		rc = replace_text(
			(char **)((char *)object + key->offset), is_any ? NULL : text);
	return rc;
}

static int
set_value(const struct job_key *key, void *object, const char *text)
{
	switch (key->type) {
	case JOB_COUNT:
	case JOB_BYTES:
		return set_number(key, object, text);
	case JOB_TIME:
		return set_time(key, object, text);
	case JOB_REAL:
		return set_real(key, object, text);
	case JOB_CHOICE:
		return set_choice(key, object, text);
	case JOB_TEXT:
		return set_text(key, object, text);
	case JOB_PREFIX:
		return set_prefix(key, object, text);
	case JOB_SHARE:
		return set_share(key, object, text);
	case JOB_RANGE:
		return set_range(key, object, text);
	case JOB_WARMUP:
		return set_warmup(object, text);
	case JOB_SIZES:
		return set_sizes(object, text);
	case JOB_RATE:
		return set_rate(object, text);
	case JOB_CPUS:
		return set_cpus(key, object, text);
	case JOB_ARRIVALS: {
		int rc = set_choice(key, object, text);
		if (rc == NB_OK)
			settle_arrivals(object);
		return rc;
	}
	case JOB_START:
		break;
	}
	return error_set(NB_FAIL, "no value of one group alone");
}

int
job_value_set(const struct job_key *key, void *object, const char *text)
{
	int rc = job_value_can_hold(text)
		? set_value(key, object, text)
		: error_set(NB_ERR_USAGE,
			  "the value holds a control character, or a blank at its edge");
	return rc == NB_OK ? NB_OK : error_prefix(rc, "%s", key->said.name);
}
