/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values of job keys, parsed from text into their fields and written back. Rejected text leaves
 * the field unchanged.
 *
 * Numbers are written exactly, not rounded to a suffix; reals with as many digits as needed to
 * restore them.
 */
#include "workload/job_type.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "workload/tao_job.h"

enum {
	CPU_MAX = 1023, /* limit of glibc's cpu_set_t */
	WORDS_MAX = 16, /* maximum for a choice */
	WORD_SIZE = 128 /* bytes of all words of a choice */
};

static bool
can_hold(const char *text)
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
	locale_t before = c_locale_enter();
	for (int digits = 6; digits <= 17; digits++) {
		snprintf(buf, size, "%.*g", digits, real);
		if (strtod(buf, NULL) == real)
			break;
	}
	c_locale_leave(before);
}

void
job_write_real(FILE *to, const char *before, double real)
{
	char text[64];
	job_value_real_text(text, sizeof(text), real);
	fprintf(to, "%s%s", before, text);
}

static void *
job_field(const struct job_key *key, const void *object)
{
	return (char *)object + key->offset;
}

static char *
text_of(const struct job_key *key, const void *object)
{
	return *(char **)job_field(key, object);
}

/* ---- numbers ---- */

static void
store(const struct job_key *key, void *object, uint64_t value)
{
	if (key->width == sizeof(uint32_t))
		*(uint32_t *)job_field(key, object) = (uint32_t)value;
	else
		*(uint64_t *)job_field(key, object) = value;
}

uint64_t
job_load(const struct job_key *key, const void *object)
{
	return key->width == sizeof(uint32_t) ? *(uint32_t *)job_field(key, object)
					      : *(uint64_t *)job_field(key, object);
}

int
job_check_number(const struct job_key *key, uint64_t number, const char *text)
{
	if (number >= key->min && number <= key->max)
		return NB_OK;
	return error_set(NB_ERR_USAGE, "%.*s is too %s; allowed: %" PRIu64 " to %" PRIu64 "%s",
		JOB_QUOTE_MAX, text, number < key->min ? "small" : "large", key->min, key->max,
		key->type == JOB_BYTES ? " bytes" : "");
}

int
job_parse_number(uint64_t *out, const struct job_key *key, const char *text)
{
	int rc = key->type == JOB_BYTES    ? nb_parse_bytes(out, text)
		: key->type == JOB_THREADS ? nb_parse_threads(out, text)
					   : nb_parse_count(out, text);
	return rc == NB_OK ? job_check_number(key, *out, text) : rc;
}

static int
set_number(const struct job_key *key, void *object, const char *text)
{
	uint64_t number;
	int rc = job_parse_number(&number, key, text);
	if (rc == NB_OK)
		store(key, object, number);
	return rc;
}

int
job_number_check(const struct job_key *key, const void *object)
{
	char text[32];
	snprintf(text, sizeof(text), "%" PRIu64, job_load(key, object));
	return job_check_number(key, job_load(key, object), text);
}

void
job_number_write(FILE *to, const struct job_key *key, const void *object)
{
	fprintf(to, "%" PRIu64, job_load(key, object));
}

static int
set_time(const struct job_key *key, void *object, const char *text)
{
	return nb_parse_time(job_field(key, object), text);
}

void
job_write_duration(FILE *to, uint64_t ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"h", 3600000000000u}, {"m", 60000000000u}, {"s", 1000000000u},
		{"ms", 1000000u}, {"us", 1000u}, {"ns", 1}};
	size_t i = ns == 0 ? 2 : 0;
	while (ns % units[i].ns != 0)
		i++;
	fprintf(to, "%" PRIu64 "%s", ns / units[i].ns, units[i].name);
}

static void
write_time(FILE *to, const struct job_key *key, const void *object)
{
	job_write_duration(to, job_load(key, object));
}

static int
check_real(const struct job_key *key, double real, const char *text)
{
	if (real >= key->real_min && real <= key->real_max) /* false for NaN */
		return NB_OK;
	char min[32], max[32];
	job_value_real_text(min, sizeof(min), key->real_min);
	job_value_real_text(max, sizeof(max), key->real_max);
	return error_set(NB_ERR_USAGE, "%.*s is too %s; allowed: %s to %s", JOB_QUOTE_MAX, text,
		real < key->real_min ? "small" : "large", min, max);
}

static int
set_real(const struct job_key *key, void *object, const char *text)
{
	double real;
	int rc = nb_parse_real(&real, text);
	if (rc == NB_OK)
		rc = check_real(key, real, text);
	if (rc == NB_OK)
		*(double *)job_field(key, object) = real;
	return rc;
}

static void
write_real_field(FILE *to, const struct job_key *key, const void *object)
{
	job_write_real(to, "", *(double *)job_field(key, object));
}

static int
check_real_field(const struct job_key *key, const void *object)
{
	char text[64];
	double real = *(double *)job_field(key, object);
	job_value_real_text(text, sizeof(text), real);
	return check_real(key, real, text);
}

static int
set_range(const struct job_key *key, void *object, const char *text)
{
	const char *dots = strstr(text, "..");
	char first[64];
	size_t length = dots != NULL ? (size_t)(dots - text) : strlen(text);
	if (length >= sizeof(first))
		return error_set(NB_ERR_USAGE, "'%.*s' is not MIN..MAX", JOB_QUOTE_MAX, text);
	snprintf(first, sizeof(first), "%.*s", (int)length, text);
	uint64_t range[2];
	int rc = job_parse_number(&range[0], key, first);
	range[1] = range[0];
	if (rc == NB_OK && dots != NULL)
		rc = job_parse_number(&range[1], key, dots + 2);
	if (rc == NB_OK && range[0] > range[1])
		rc = error_set(
			NB_ERR_USAGE, "'%s': the first number must not be the larger", text);
	if (rc == NB_OK)
		memcpy(job_field(key, object), range, sizeof(range));
	return rc;
}

static void
write_range(FILE *to, const struct job_key *key, const void *object)
{
	const uint64_t *range = job_field(key, object);
	fprintf(to, "%" PRIu64, range[0]);
	if (range[1] != range[0])
		fprintf(to, "..%" PRIu64, range[1]);
}

/** "10s" is a time and "10k" a count: no suffix belongs to both. */
static int
set_warmup(const struct job_key *key, void *object, const char *text)
{
	struct nb_group *group = object;
	uint64_t ns = 0, count = 0;
	(void)key;
	if (nb_parse_count(&count, text) != NB_OK && nb_parse_time(&ns, text) != NB_OK)
		return error_set(NB_ERR_USAGE,
			"'%.*s' is neither a time, such as 10s, nor a count, such as 10k",
			JOB_QUOTE_MAX, text);
	group->warmup_ns = ns;
	group->warmup_count = count;
	return NB_OK;
}

static void
write_warmup(FILE *to, const struct job_key *key, const void *object)
{
	const struct nb_group *group = object;
	(void)key;
	if (group->warmup_count > 0)
		fprintf(to, "%" PRIu64, group->warmup_count);
	else if (group->warmup_ns > 0)
		job_write_duration(to, group->warmup_ns);
}

/* ---- words and texts ---- */

/** Split key->said.choices, copied to `text`; returns the number of words. */
static size_t
words_of(const struct job_key *key, char text[WORD_SIZE], const char *words[WORDS_MAX])
{
	size_t count = 0;
	snprintf(text, WORD_SIZE, "%s", key->said.choices);
	for (char *word; count < WORDS_MAX && (word = strsep(&text, "|")) != NULL;)
		words[count++] = word;
	return count;
}

static int
set_choice(const struct job_key *key, void *object, const char *text)
{
	char buf[WORD_SIZE];
	const char *words[WORDS_MAX];
	size_t count = words_of(key, buf, words);
	for (size_t i = 0; i < count; i++) {
		if (strcmp(words[i], text) == 0) {
			store(key, object, i + key->min);
			return NB_OK;
		}
	}
	return error_unknown(text, words, count, "'%.*s' is not known", JOB_QUOTE_MAX, text);
}

static void
print_choice(FILE *to, const struct job_key *key, uint64_t value)
{
	char buf[WORD_SIZE];
	const char *words[WORDS_MAX];
	uint64_t index = value - key->min;
	if (index < words_of(key, buf, words))
		fputs(words[index], to);
}

static void
write_choice(FILE *to, const struct job_key *key, const void *object)
{
	print_choice(to, key, job_load(key, object));
}

/** arrivals_asked applies if there is a rate. */
void
job_settle_arrivals(struct nb_group *group)
{
	uint32_t asked = group->arrivals_asked;
	group->arrivals = group->rate_count == 0 ? NB_ARRIVAL_CLOSED
		: asked != NB_ARRIVAL_CLOSED     ? asked
						 : NB_ARRIVAL_FIXED;
}

static int
set_arrivals(const struct job_key *key, void *object, const char *text)
{
	int rc = set_choice(key, object, text);
	if (rc == NB_OK)
		job_settle_arrivals(object);
	return rc;
}

static int
check_choice(const struct job_key *key, const void *object)
{
	char buf[WORD_SIZE];
	const char *words[WORDS_MAX];
	uint64_t choice = job_load(key, object);
	return choice < words_of(key, buf, words)
		? NB_OK
		: error_set(NB_ERR_USAGE, "unknown choice %" PRIu64, choice);
}

/** Write the requested arrivals, even without a rate. */
static void
write_arrivals(FILE *to, const struct job_key *key, const void *object)
{
	const struct nb_group *group = object;
	uint32_t arrivals = group->rate_count > 0 ? group->arrivals : group->arrivals_asked;
	print_choice(to, key, arrivals == NB_ARRIVAL_CLOSED ? NB_ARRIVAL_FIXED : arrivals);
}

/** NULL clears it. */
int
job_replace_text(char **field, const char *text)
{
	char *copy = text != NULL ? strdup(text) : NULL;
	if (text != NULL && copy == NULL)
		return error_memory();
	free(*field);
	*field = copy;
	return NB_OK;
}

static int
set_text(const struct job_key *key, void *object, const char *text)
{
	if (text[0] == '\0' && key->min > 0)
		return error_set(NB_ERR_USAGE, "%s must not be empty", key->said.arg);
	return job_replace_text(job_field(key, object), text[0] != '\0' ? text : NULL);
}

static void
write_text(FILE *to, const struct job_key *key, const void *object)
{
	const char *text = text_of(key, object);
	fputs(text != NULL ? text : "", to);
}

static int
set_prefix(const struct job_key *key, void *object, const char *text)
{
	if (strlen(text) >= key->width)
		return error_set(NB_ERR_USAGE, "'%.*s' is too long; allowed: up to %zu bytes",
			JOB_QUOTE_MAX, text, key->width - 1);
	strncpy(job_field(key, object), text, key->width);
	return NB_OK;
}

static void
write_prefix(FILE *to, const struct job_key *key, const void *object)
{
	fprintf(to, "%.*s", (int)key->width, (char *)job_field(key, object));
}

/** Parse one CPU of a list; returns the rest, or NULL. */
static const char *
scan_cpu(const char *text, unsigned *out)
{
	const char *at = text;
	for (*out = 0; *at >= '0' && *at <= '9' && *out <= CPU_MAX; at++)
		*out = *out * 10 + (unsigned)(*at - '0');
	return at == text || *out > CPU_MAX ? NULL : at;
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
			"'%.*s' is not a list of CPUs, such as 0-3,8; allowed: 0 to %u",
			JOB_QUOTE_MAX, text, CPU_MAX);
	return NB_OK;
}

static int
set_cpus(const struct job_key *key, void *object, const char *text)
{
	bool is_any = strcmp(text, "any") == 0;
	int rc = is_any ? NB_OK : job_value_check_cpus(text);
	return rc == NB_OK ? job_replace_text(job_field(key, object), is_any ? NULL : text)
			   : rc;
}

static int
set_graph(const struct job_key *key, void *object, const char *text)
{
	(void)key;
	return tao_job_set_graph(object, text);
}

/* ---- shards ---- */

static int
check_shard(const struct job_key *key, const void *object)
{
	const struct nb_job *job = object;
	uint32_t shards = job->shards > 0 ? job->shards : 1;
	if (shards > key->max)
		return error_set(
			NB_ERR_USAGE, "the number of shards must be 1 to %" PRIu64, key->max);
	if (job->shard >= shards)
		return error_set(NB_ERR_USAGE,
			"shard %" PRIu32 " of %" PRIu32 " does not exist"
			"; they are numbered from 0 to %" PRIu32,
			job->shard, shards, shards - 1);
	return NB_OK;
}

static int
set_shard(const struct job_key *key, void *object, const char *text)
{
	const char *slash = strchr(text, '/');
	char first[32] = "";
	uint64_t shard, shards;
	if (slash != NULL && (size_t)(slash - text) < sizeof(first))
		memcpy(first, text, (size_t)(slash - text));
	if (slash == NULL || nb_parse_count(&shard, first) != NB_OK ||
		nb_parse_count(&shards, slash + 1) != NB_OK)
		return error_set(
			NB_ERR_USAGE, "'%.*s' is not K/N, such as 0/4", JOB_QUOTE_MAX, text);
	struct nb_job wanted = {.shard = shard < UINT32_MAX ? (uint32_t)shard : UINT32_MAX,
		.shards = shards > 0 && shards <= key->max ? (uint32_t)shards : UINT32_MAX};
	int rc = check_shard(key, &wanted);
	if (rc == NB_OK)
		memcpy(job_field(key, object), &wanted.shard, 2 * sizeof(wanted.shard));
	return rc;
}

static void
write_shard(FILE *to, const struct job_key *key, const void *object)
{
	const struct nb_job *job = object;
	(void)key;
	fprintf(to, "%" PRIu32 "/%" PRIu32, job->shard, job->shards > 0 ? job->shards : 1);
}

/* ---- latency ---- */

#define SAMPLED "sampled:"

static int
set_latency(const struct job_key *key, void *object, const char *text)
{
	uint64_t every = 0;
	bool is_sampled = strncmp(text, SAMPLED, strlen(SAMPLED)) == 0;
	if (is_sampled && nb_parse_count(&every, text + strlen(SAMPLED)) == NB_OK &&
		every >= 2 && every <= UINT32_MAX)
		store(key, object, every);
	else if (strcmp(text, "each") == 0 || strcmp(text, "block") == 0)
		store(key, object, text[0] == 'e' ? NB_LATENCY_EACH : NB_LATENCY_BLOCK);
	else
		return error_set(NB_ERR_USAGE,
			"'%.*s' is not known; allowed: each, block, and " SAMPLED
			"N with N from 2 to %" PRIu32 ", such as " SAMPLED "64",
			JOB_QUOTE_MAX, text, UINT32_MAX);
	return NB_OK;
}

static void
write_latency(FILE *to, const struct job_key *key, const void *object)
{
	char text[JOB_LATENCY_SIZE];
	fputs(job_latency_text((uint32_t)job_load(key, object), text), to);
}

const char *
job_latency_text(uint32_t latency, char text[JOB_LATENCY_SIZE])
{
	snprintf(text, JOB_LATENCY_SIZE, SAMPLED "%" PRIu32, latency);
	return latency == NB_LATENCY_EACH     ? "each"
		: latency == NB_LATENCY_BLOCK ? "block"
					      : text;
}

/* ---- all types ---- */

static const struct {
	int (*set)(const struct job_key *key, void *object, const char *text);
	void (*write)(FILE *to, const struct job_key *key, const void *object);
	/* NULL: any value is valid. */
	int (*check)(const struct job_key *key, const void *object);
} types[] = {
	[JOB_COUNT] = {set_number, job_number_write, job_number_check},
	[JOB_BYTES] = {set_number, job_number_write, job_number_check},
	[JOB_TIME] = {set_time, write_time},
	[JOB_REAL] = {set_real, write_real_field, check_real_field},
	[JOB_CHOICE] = {set_choice, write_choice, check_choice},
	[JOB_TEXT] = {set_text, write_text},
	[JOB_PREFIX] = {set_prefix, write_prefix},
	[JOB_SHARE] = {job_share_set, job_share_write},
	[JOB_THREADS] = {set_number, job_number_write, job_number_check},
	[JOB_RANGE] = {set_range, write_range},
	[JOB_WARMUP] = {set_warmup, write_warmup},
	[JOB_SIZES] = {job_sizes_set, job_sizes_write},
	[JOB_ITEMS] = {job_items_set, job_items_write, job_items_check},
	[JOB_RATE] = {job_rate_set, job_rate_write},
	[JOB_ARRIVALS] = {set_arrivals, write_arrivals},
	[JOB_CPUS] = {set_cpus, write_text},
	[JOB_LATENCY] = {set_latency, write_latency},
	[JOB_SHARD] = {set_shard, write_shard, check_shard},
	[JOB_GRAPH] = {set_graph, write_text},
	[JOB_DEGREE] = {job_degree_set, job_degree_write},
	[JOB_START] = {set_choice,
		write_choice}, /* later a phase, of which any value is valid */
};

int
job_value_set(const struct job_key *key, void *object, const char *text)
{
	int rc = can_hold(text)
		? types[key->type].set(key, object, text)
		: error_set(NB_ERR_USAGE,
			  "the value contains a control character, or a blank at its edge");
	return rc == NB_OK ? NB_OK : error_prefix(rc, "%s", key->said.name);
}

int
job_value_check(const struct job_key *key, const void *object)
{
	int rc = types[key->type].check != NULL ? types[key->type].check(key, object) : NB_OK;
	return rc == NB_OK ? NB_OK : error_prefix(rc, "%s", key->said.name);
}

int
job_value_text(char **out, const struct job_key *key, const void *object)
{
	char *text = NULL;
	size_t size;
	const struct nb_job *job = object;
	int rc = job_value_check(key, object);
	if (rc == NB_OK && key->type == JOB_SIZES && job->values_text == NULL &&
		job->values.kind >= NB_SIZE_HISTOGRAM)
		rc = error_set(NB_ERR_USAGE,
			"%s: a histogram without the name of its file cannot be written",
			key->said.name);
	if (rc != NB_OK)
		return rc;
	FILE *stream = open_memstream(&text, &size);
	if (stream == NULL)
		return error_memory();
	types[key->type].write(stream, key, object);
	if (fclose(stream) != 0)
		rc = error_memory();
	else if (!can_hold(text))
		rc = error_set(NB_ERR_USAGE,
			"%s: a job file cannot hold a control character, or a blank at the edge of a value",
			key->said.name);
	if (rc == NB_OK)
		*out = text;
	else
		free(text);
	return rc;
}
