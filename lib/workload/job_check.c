/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a job fits together. A job that was read has every value within its own range
 * already; one that was put together by hand may hold anything, so ranges are looked at
 * here as well, by the same table.
 */
#include "workload/job.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "workload/op_kind.h"

enum { THREADS_MAX = 1024, DECIMALS_MAX = 20 /* of a uint64_t */ };

static uint64_t
count_choices(const struct job_key *key)
{
	uint64_t count = 1;
	for (const char *c = key->said.choices; *c != '\0'; c++)
		count += *c == '|';
	return count;
}

/** What the table says of one field. */
static int
check_value(const struct job_key *key, const void *object)
{
	const char *field = (const char *)object + key->offset;
	if (key->type == JOB_REAL) {
		double real = *(const double *)(const void *)field;
		char min[32], max[32];
		if (real >= key->real_min && real <= key->real_max) /* no NaN is */
			return NB_OK;
		job_value_real_text(min, sizeof(min), key->real_min);
		job_value_real_text(max, sizeof(max), key->real_max);
		return error_set(NB_ERR_USAGE, "%s: is out of range; allowed: %s to %s",
			key->said.name, min, max);
	}
	uint64_t min = key->min, max = key->max;
	if (key->type == JOB_CHOICE)
		max = count_choices(key) - 1;
	else if (key->type != JOB_COUNT && key->type != JOB_BYTES)
		return NB_OK;
	uint64_t number = job_value_number(key, object);
	if (number >= min && number <= max)
		return NB_OK;
	return error_set(NB_ERR_USAGE,
		"%s: %" PRIu64 " is out of range; allowed: %" PRIu64 " to %" PRIu64,
		key->said.name, number, min, max);
}

static int
check_values(const void *object, bool is_global)
{
	int rc = NB_OK;
	for (const struct job_key *key = job_keys; rc == NB_OK && key->said.name != NULL;
		key++) {
		if (key->said.is_global == is_global)
			rc = check_value(key, object);
	}
	return rc;
}

/* ---- of the job ---- */

static int
check_key_format(const struct nb_job *job)
{
	if (job->key_format == NB_KEY_FILE && job->keys_path == NULL)
		return error_set(NB_ERR_USAGE, "keys: which file is not said");
	if (strnlen(job->key_prefix, sizeof(job->key_prefix)) == sizeof(job->key_prefix))
		return error_set(NB_ERR_USAGE, "key-prefix: is too long");
	uint64_t digits = job->key_digits > DECIMALS_MAX ? job->key_digits : DECIMALS_MAX;
	if (job->key_format == NB_KEY_TEXT &&
		strlen(job->key_prefix) + digits > NB_KEY_SIZE_MAX)
		return error_set(NB_ERR_USAGE,
			"key-digits: with its prefix a key may get longer than %u bytes",
			NB_KEY_SIZE_MAX);
	return NB_OK;
}

static int
check_sizes(const struct nb_sizes *sizes)
{
	uint64_t largest = sizes->kind == NB_SIZE_FIXED ? sizes->min : sizes->max;
	if (sizes->kind > NB_SIZE_HISTOGRAM)
		return error_set(
			NB_ERR_USAGE, "value-size: there is no kind %" PRIu32, sizes->kind);
	if (sizes->kind == NB_SIZE_HISTOGRAM) {
		largest = 0;
		for (uint32_t i = 0; i < sizes->count; i++)
			largest = sizes->sizes[i] > largest ? sizes->sizes[i] : largest;
	} else if (sizes->min > largest) {
		return error_set(NB_ERR_USAGE, "value-size: its least is above its most");
	}
	if (largest > NB_VALUE_SIZE_MAX)
		return error_set(NB_ERR_USAGE,
			"value-size: %" PRIu64 " is too large; allowed: 0 to %u bytes", largest,
			NB_VALUE_SIZE_MAX);
	return NB_OK;
}

/* ---- of a group ---- */

static int
check_mix(const struct nb_job *job, const struct nb_group *group)
{
	uint64_t sum = 0, space = job->space > 0 ? job->space : job->records;
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++) {
		if (group->weights[kind] == 0)
			continue;
		sum += group->weights[kind];
		if (!op_is(kind, OP_NEW | OP_SPACE) && job->records == 0)
			return error_set(NB_ERR_USAGE,
				"%s: goes to records that are there, and records is 0",
				nb_op_name(kind));
		if (op_is(kind, OP_SPACE) && space == 0)
			return error_set(NB_ERR_USAGE,
				"%s: space and records are both 0, so there is nothing to go to",
				nb_op_name(kind));
	}
	if (sum == 0)
		return error_set(NB_ERR_USAGE,
			"the mix is empty; say what is done, such as read = 95 and update = 5");
	uint32_t scale = group->weight_scale;
	if (scale > 1 && scale != 10 && scale != 100 && scale != 1000 && scale != 10000)
		return error_set(NB_ERR_USAGE, "the scale of its mix is no power of ten");
	return NB_OK;
}

static int
check_distribution(const struct nb_group *group)
{
	if (group->distribution == NB_DIST_ZIPFIAN_YCSB && group->theta != 0.99)
		return error_set(NB_ERR_USAGE,
			"theta: zipfian-ycsb has 0.99 and no other; zipfian has any");
	if (group->distribution == NB_DIST_EXPONENTIAL &&
		(group->exp_percent == 0 || group->exp_percent == 100))
		return error_set(
			NB_ERR_USAGE, "exp-percent: has to be more than 0 and less than 100");
	if (group->distribution == NB_DIST_EXPONENTIAL && group->exp_share == 0)
		return error_set(NB_ERR_USAGE, "exp-share: has to be more than 0");
	if (group->distribution == NB_DIST_PARETO &&
		(group->pareto_h == 0 || group->pareto_h == 1))
		return error_set(
			NB_ERR_USAGE, "pareto-h: has to be more than 0 and less than 1");
	if (group->scan_min < 1 || group->scan_min > group->scan_max)
		return error_set(NB_ERR_USAGE, "scan-length: is no range from 1 up");
	return NB_OK;
}

static bool
is_rate(double rate)
{
	return isfinite(rate) && rate >= 0;
}

static int
check_rate(const struct nb_group *group)
{
	bool has_rate = group->rate_count > 0;
	if (has_rate != (group->arrivals != NB_ARRIVAL_CLOSED) ||
		group->arrivals > NB_ARRIVAL_POISSON)
		return error_set(NB_ERR_USAGE,
			"arrivals: are fixed or poisson with a rate, and only then");
	if (group->rate_count > NB_RATE_STEPS_MAX)
		return error_set(
			NB_ERR_USAGE, "rate: has more than %u steps", NB_RATE_STEPS_MAX);
	for (size_t i = 0; i < group->rate_count; i++) {
		if (!is_rate(group->rate[i].from_ops_s) || !is_rate(group->rate[i].to_ops_s))
			return error_set(NB_ERR_USAGE,
				"rate: step %zu is no number of operations a second", i + 1);
	}
	if (has_rate && group->rate[group->rate_count - 1].to_ops_s == 0 &&
		group->duration_ns == 0)
		return error_set(NB_ERR_USAGE,
			"rate: the last step, which stays in force, must not end at 0 without a duration");
	return NB_OK;
}

static int
check_bounds(const struct nb_job *job, const struct nb_group *group)
{
	if (group->warmup_ns > 0 && group->warmup_count > 0)
		return error_set(NB_ERR_USAGE, "warmup: is a time or a count, not both");
	if (group->is_background)
		return NB_OK;
	bool is_bounded = group->count > 0 || group->duration_ns > 0;
	if (!is_bounded && job->records == 0)
		return error_set(NB_ERR_USAGE,
			"count: without it and duration it is that of the records, and records is 0");
	uint64_t count = is_bounded ? group->count : job->records;
	if (count > 0 && group->warmup_count >= count)
		return error_set(NB_ERR_USAGE,
			"warmup: %" PRIu64 " of %" PRIu64
			" operations leaves nothing to measure",
			group->warmup_count, count);
	if (group->duration_ns > 0 && group->warmup_ns >= group->duration_ns)
		return error_set(
			NB_ERR_USAGE, "warmup: leaves nothing of the duration to measure");
	return NB_OK;
}

static int
check_group(const struct nb_job *job, const struct nb_group *group)
{
	int rc = check_values(group, false);
	if (rc == NB_OK)
		rc = check_mix(job, group);
	if (rc == NB_OK)
		rc = check_distribution(group);
	if (rc == NB_OK)
		rc = check_rate(group);
	if (rc == NB_OK)
		rc = check_bounds(job, group);
	if (rc == NB_OK && group->cpus != NULL &&
		(rc = job_value_check_cpus(group->cpus)) != NB_OK)
		rc = error_prefix(rc, "cpus");
	return rc == NB_OK ? NB_OK : error_prefix(rc, "[%.47s]", group->name);
}

static int
check_load(const struct nb_job *job)
{
	if (job->load == NULL)
		return error_set(NB_ERR_USAGE, "[load]: is missing");
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++) {
		if ((job->load->weights[kind] > 0) != (kind == NB_OP_INSERT))
			return error_set(NB_ERR_USAGE, "[load]: its mix is not all inserts");
	}
	if (job->load->count > 0 || job->load->duration_ns > 0 || job->load->is_background)
		return error_set(NB_ERR_USAGE, "[load]: inserts all records, without a bound");
	int rc = check_values(job->load, false);
	if (rc == NB_OK)
		rc = check_rate(job->load);
	if (rc == NB_OK && job->load->cpus != NULL &&
		(rc = job_value_check_cpus(job->load->cpus)) != NB_OK)
		rc = error_prefix(rc, "cpus");
	return rc == NB_OK ? NB_OK : error_prefix(rc, "[load]");
}

/* ---- of the groups together ---- */

static int
check_names(const struct nb_job *job)
{
	for (size_t i = 0; i < job->group_count; i++) {
		const char *name = job->groups[i].name;
		if (strnlen(name, sizeof(job->groups[i].name)) == sizeof(job->groups[i].name) ||
			!job_name_is_good(name))
			return error_set(NB_ERR_USAGE, "'%.47s' is no name of a group", name);
		for (size_t j = 0; j < i; j++) {
			if (strcmp(name, job->groups[j].name) == 0)
				return error_set(
					NB_ERR_USAGE, "there are two groups '%s'", name);
		}
	}
	return NB_OK;
}

/** Groups [first, end) are those of one phase. */
static int
check_phase(const struct nb_job *job, size_t first, size_t end)
{
	uint64_t threads = 0, inserters = 0;
	bool has_end = false;
	for (size_t i = first; i < end; i++) {
		const struct nb_group *group = &job->groups[i];
		threads += group->threads;
		inserters += group->weights[NB_OP_INSERT] > 0;
		has_end |= !group->is_background;
	}
	const char *name = job->groups[first].name;
	if (!has_end)
		return error_set(NB_ERR_USAGE,
			"[%s]: background: the phase has no other groups to wait for", name);
	if (threads > THREADS_MAX)
		return error_set(NB_ERR_USAGE,
			"[%s]: threads: %" PRIu64 " side by side are too many; allowed: %d",
			name, threads, THREADS_MAX);
	if (inserters > 0 && job->lag == 0 && threads > 1)
		return error_set(NB_ERR_USAGE,
			"lag: 0 is for a single thread; others would look for records that are being inserted");
	return NB_OK;
}

static int
check_phases(const struct nb_job *job)
{
	int rc = NB_OK;
	for (size_t first = 0, end; rc == NB_OK && first < job->group_count; first = end) {
		uint32_t phase = job->groups[first].phase;
		uint32_t wanted = first > 0 ? job->groups[first - 1].phase + 1 : 0;
		if (phase != wanted)
			return error_set(NB_ERR_USAGE,
				"[%s]: phase %" PRIu32 " follows where %" PRIu32 " was due",
				job->groups[first].name, phase, wanted);
		for (end = first + 1; end < job->group_count; end++) {
			if (job->groups[end].phase != phase)
				break;
		}
		rc = check_phase(job, first, end);
	}
	return rc;
}

int
nb_job_check(const struct nb_job *job)
{
	if (job->group_count == 0 || job->group_count > NB_GROUPS_MAX)
		return error_set(NB_ERR_USAGE, "there are %zu groups; allowed: 1 to %u",
			job->group_count, NB_GROUPS_MAX);
	int rc = check_values(job, true);
	if (rc == NB_OK)
		rc = check_key_format(job);
	if (rc == NB_OK)
		rc = check_sizes(&job->values);
	if (rc == NB_OK)
		rc = check_load(job);
	if (rc == NB_OK)
		rc = check_names(job);
	for (size_t i = 0; rc == NB_OK && i < job->group_count; i++)
		rc = check_group(job, &job->groups[i]);
	return rc == NB_OK ? check_phases(job) : rc;
}
