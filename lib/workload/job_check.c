/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks that a job is consistent. Values of a job that was read are within their ranges. A job
 * made by a program may have any values, so ranges are checked here as well, with the same
 * table.
 */
#include "workload/job.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "workload/kinds.h"
#include "workload/op_kind.h"
#include "workload/sizes.h"
#include "workload/source.h"
#include "workload/tao_job.h"

enum { THREADS_MAX = 1024, DECIMALS_MAX = 20 /* digits of a uint64_t */ };

static int
check_values(const void *object, bool is_global)
{
	int rc = NB_OK;
	for (const struct job_key *key = job_keys; rc == NB_OK && key->said.name != NULL;
		key++) {
		if (key->said.is_global == is_global)
			rc = job_value_check(key, object);
	}
	return rc;
}

/* ---- the job ---- */

static int
check_key_format(const struct nb_job *job)
{
	if (job->key_format == NB_KEY_FILE && job->keys_path == NULL)
		return error_set(NB_ERR_USAGE, "keys: no file is named");
	if (strnlen(job->key_prefix, sizeof(job->key_prefix)) == sizeof(job->key_prefix))
		return error_set(NB_ERR_USAGE, "key-prefix: is too long");
	uint64_t digits = job->key_digits > DECIMALS_MAX ? job->key_digits : DECIMALS_MAX;
	if (job->key_format == NB_KEY_TEXT &&
		strlen(job->key_prefix) + digits > NB_KEY_SIZE_MAX)
		return error_set(NB_ERR_USAGE,
			"key-digits: with its prefix a key may be longer than %u bytes",
			NB_KEY_SIZE_MAX);
	return NB_OK;
}

/* ---- a group ---- */

static int
check_mix(const struct nb_job *job, const struct nb_group *group)
{
	uint64_t sum = 0, space = job->space > 0 ? job->space : job->records;
	const struct source *source = source_of(group->source);
	if (source->check != NULL)
		return source->check(job, group);
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++) {
		if (group->weights[kind] == 0)
			continue;
		sum += group->weights[kind];
		if (group->again[0] != '\0')
			continue;
		if (!op_is(kind, OP_NEW | OP_SPACE) && job->records == 0)
			return error_set(NB_ERR_USAGE,
				"%s: needs existing records, and records is 0",
				nb_op_name(kind));
		if (op_is(kind, OP_SPACE) && space == 0)
			return error_set(NB_ERR_USAGE,
				"%s: needs records, and both space and records are 0",
				nb_op_name(kind));
	}
	for (uint32_t kind = NB_OP_KINDS; kind < NB_KINDS_MAX; kind++) {
		const struct nb_kind *own = kind_row(job, kind);
		if (group->weights[kind] == 0)
			continue;
		sum += group->weights[kind];
		if (own == NULL)
			return error_set(
				NB_ERR_USAGE, "has a share of kind %u, which is none", kind);
		if (job->records == 0)
			return error_set(NB_ERR_USAGE,
				"%s: needs existing records, and records is 0", own->name);
	}
	if (sum == 0)
		return error_set(NB_ERR_USAGE,
			"the mix is empty; set shares, such as read = 95 and update = 5");
	uint32_t scale = group->weight_scale;
	if (scale > 1 && scale != 10 && scale != 100 && scale != 1000 && scale != 10000)
		return error_set(NB_ERR_USAGE, "the scale of its mix is not a power of ten");
	return NB_OK;
}

/** Counters are only read and added to, because their values do not identify their writers. */
static int
check_counters(const struct nb_job *job, const struct nb_group *group)
{
	uint32_t verbs = kinds_verbs(job, group), kind = 0;
	if (!kinds_have_counters(job))
		return NB_OK;
	while (kind < NB_OP_KINDS &&
		(group->weights[kind] == 0 || !op_is(kind, OP_WRITES | OP_REMOVES)))
		kind++;
	if (kind < NB_OP_KINDS || (verbs & (KIND_CHANGES & ~(1u << NB_STEP_MERGE))) != 0)
		return error_set(NB_ERR_USAGE,
			"%s: a job with add keeps counters, which are only read and added to",
			kind < NB_OP_KINDS ? nb_op_name(kind) : "put, insert or delete steps");
	return NB_OK;
}

static int
check_kinds(const struct nb_job *job)
{
	int rc = NB_OK;
	bool has_ages = false;
	if (job->kind_count > NB_KINDS_MAX - KIND_OWN)
		return error_set(NB_ERR_USAGE, "there are %zu kinds; allowed: %u",
			job->kind_count, NB_KINDS_MAX - KIND_OWN);
	for (size_t k = 0; rc == NB_OK && k < job->kind_count; k++) {
		rc = kind_check(&job->kinds[k]);
		has_ages |= (kind_verbs(&job->kinds[k]) >> NB_STEP_PUT_IF_NEWER & 1) != 0;
		if (rc != NB_OK)
			rc = error_prefix(rc, "[kind %.23s]", job->kinds[k].name);
	}
	if (rc == NB_OK && has_ages && job->values.min < 16)
		rc = error_set(NB_ERR_USAGE,
			"put-if-newer: needs values of at least 16 bytes; raise value-size");
	return rc;
}

int
job_check_ranges(const struct nb_job *job, const struct nb_group *group, uint32_t threads)
{
	uint64_t least = UINT64_MAX;
	const struct source *source = source_of(group->source);
	if (source->check_ranges != NULL)
		return source->check_ranges(job, group, threads);
	if (group->key_range == NB_RANGE_SHARED)
		return NB_OK;
	if (group->weights[NB_OP_INSERT] > 0)
		return error_set(NB_ERR_USAGE,
			"key-range: insert adds records to no slice; use upsert and space, or key-range=shared");
	if (job->records > 0)
		least = job->records;
	if (job->space > 0 && job->space < least)
		least = job->space;
	if (least >= threads)
		return NB_OK;
	return error_set(NB_ERR_USAGE,
		"key-range: %" PRIu32 " threads need a record each, and there are %" PRIu64
		"; raise records and space, or use key-range=shared",
		threads, least);
}

const struct nb_group *
job_again_of(const struct nb_job *job, const struct nb_group *group)
{
	for (size_t g = 0; g < job->group_count && group->again[0] != '\0'; g++) {
		if (strcmp(job->groups[g].name, group->again) == 0)
			return &job->groups[g];
	}
	return NULL;
}

/**
 * Whether operation i of the group puts one record that is known without earlier operations.
 */
static bool
puts_one(const struct nb_group *group)
{
	enum {
		PUTS = 1u << NB_OP_UPDATE | 1u << NB_OP_INSERT | 1u << NB_OP_UPSERT |
			1u << NB_OP_RMW
	};
	uint32_t kinds = 0;
	const struct source *source = source_of(group->source);
	if (source->can_visit != NULL)
		return source->can_visit(group);
	for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++)
		kinds |= (uint32_t)(group->weights[kind] > 0) << kind;
	return (kinds & (kinds - 1)) == 0 && (kinds & PUTS) != 0 &&
		group->key_range == NB_RANGE_SHARED && group->again[0] == '\0';
}

static int
check_again(const struct nb_job *job, const struct nb_group *group)
{
	enum {
		VISITS = 1u << NB_OP_READ | 1u << NB_OP_UPDATE | 1u << NB_OP_UPSERT |
			1u << NB_OP_DELETE | 1u << NB_OP_SCAN | 1u << NB_OP_RMW
	};
	const struct nb_group *of = job_again_of(job, group);
	if (group->again[0] == '\0')
		return NB_OK;
	if (of == NULL)
		return error_set(NB_ERR_USAGE, "again: unknown group '%.47s'", group->again);
	if (of->phase >= group->phase)
		return error_set(NB_ERR_USAGE,
			"again: [%s] has to be of an earlier phase; set start = after",
			of->name);
	if (!puts_one(of))
		return error_set(NB_ERR_USAGE,
			"again: [%s] has to put shared keys by a single kind of operation: insert, update, upsert or read-modify-write",
			of->name);
	for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++)
		if (group->weights[kind] > 0 && (VISITS >> kind & 1) == 0)
			return error_set(NB_ERR_USAGE,
				"again: %s cannot visit a key; read, update, upsert, delete, scan and read-modify-write can",
				kind_name(job, kind));
	if (group->depth > 1 && of->source != NB_SOURCE_RECORDS)
		return error_set(NB_ERR_USAGE,
			"again: needs depth = 1 to verify the records of [%s], of source %s",
			of->name, "masstree");
	if ((group->distribution != NB_DIST_UNIFORM &&
		    group->distribution != NB_DIST_SEQUENTIAL) ||
		group->key_range != NB_RANGE_SHARED)
		return error_set(NB_ERR_USAGE,
			"again: visits each key once, in permuted order or with distribution = sequential in that of the puts; leave out other distributions and key-range");
	return NB_OK;
}

static int
check_distribution(const struct nb_group *group)
{
	if (group->distribution == NB_DIST_ZIPFIAN_YCSB && group->theta != 0.99)
		return error_set(NB_ERR_USAGE,
			"theta: must be 0.99 for zipfian-ycsb; zipfian allows others");
	if (group->distribution == NB_DIST_EXPONENTIAL &&
		(group->exp_percent == 0 || group->exp_percent == 100))
		return error_set(
			NB_ERR_USAGE, "exp-percent: must be more than 0 and less than 100");
	if (group->distribution == NB_DIST_EXPONENTIAL && group->exp_share == 0)
		return error_set(NB_ERR_USAGE, "exp-share: must be more than 0");
	if (group->distribution == NB_DIST_PARETO &&
		(group->pareto_h == 0 || group->pareto_h == 1))
		return error_set(NB_ERR_USAGE, "pareto-h: must be more than 0 and less than 1");
	if (group->scan_min < 1 || group->scan_min > group->scan_max)
		return error_set(NB_ERR_USAGE, "scan-length: must be a range from 1 up");
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
			"arrivals: must be fixed or poisson with a rate, and closed without");
	if (group->rate_count > NB_RATE_STEPS_MAX)
		return error_set(
			NB_ERR_USAGE, "rate: has more than %u steps", NB_RATE_STEPS_MAX);
	for (size_t i = 0; i < group->rate_count; i++) {
		if (!is_rate(group->rate[i].from_ops_s) || !is_rate(group->rate[i].to_ops_s))
			return error_set(NB_ERR_USAGE, "rate: step %zu is not a rate", i + 1);
	}
	if (has_rate && group->latency != NB_LATENCY_EACH)
		return error_set(NB_ERR_USAGE,
			"latency: must be each with a rate, which sets when each operation is due; leave out the rate, or set latency=each");
	if (has_rate && group->rate[group->rate_count - 1].to_ops_s == 0 &&
		group->duration_ns == 0)
		return error_set(NB_ERR_USAGE,
			"rate: a last step that ends at 0 needs a duration of the group");
	return NB_OK;
}

static int
check_bounds(const struct nb_job *job, const struct nb_group *group)
{
	if (group->warmup_ns > 0 && group->warmup_count > 0)
		return error_set(NB_ERR_USAGE, "warmup: is a time or a count, not both");
	if (group->is_background || group->again[0] != '\0')
		return NB_OK;
	bool is_bounded = group->count > 0 || group->duration_ns > 0;
	if (!is_bounded && job->records == 0)
		return error_set(NB_ERR_USAGE,
			"count: is required if records is 0 and duration is not set");
	uint64_t count = is_bounded ? group->count : job->records;
	if (count > 0 && group->warmup_count >= count)
		return error_set(NB_ERR_USAGE,
			"warmup: %" PRIu64 " of %" PRIu64
			" operations leave nothing to measure",
			group->warmup_count, count);
	if (group->duration_ns > 0 && group->warmup_ns >= group->duration_ns)
		return error_set(NB_ERR_USAGE,
			"warmup: %s leaves nothing of the duration of %s to measure, which includes the warm-up; set a longer duration or a shorter warmup",
			UNITS_NS(group->warmup_ns), UNITS_NS(group->duration_ns));
	return NB_OK;
}

static int
check_group(const struct nb_job *job, const struct nb_group *group)
{
	int rc = check_values(group, false);
	if (rc == NB_OK && group != job->load)
		rc = check_mix(job, group);
	if (rc == NB_OK && group != job->load)
		rc = check_counters(job, group);
	if (rc == NB_OK && group != job->load)
		rc = check_distribution(group);
	if (rc == NB_OK)
		rc = check_again(job, group);
	if (rc == NB_OK)
		rc = job_check_ranges(job, group, group->threads);
	if (rc == NB_OK)
		rc = check_rate(group);
	if (rc == NB_OK && group != job->load)
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
	for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++) {
		if ((job->load->weights[kind] > 0) != (kind == NB_OP_INSERT))
			return error_set(NB_ERR_USAGE, "[load]: its mix is not all inserts");
	}
	if (job->load->count > 0 || job->load->duration_ns > 0 || job->load->is_background)
		return error_set(
			NB_ERR_USAGE, "[load]: inserts all records and cannot have a bound");
	return check_group(job, job->load);
}

/* ---- all groups ---- */

static int
check_names(const struct nb_job *job)
{
	for (size_t i = 0; i < job->group_count; i++) {
		const char *name = job->groups[i].name;
		int rc = job_name_check(name);
		if (rc != NB_OK)
			return rc;
		for (size_t j = 0; j < i; j++) {
			if (strcmp(name, job->groups[j].name) == 0)
				return error_set(
					NB_ERR_USAGE, "there are two groups '%s'", name);
		}
	}
	return NB_OK;
}

/** Groups [first, end) form one phase. */
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
			"[%s]: background: the phase has no other group to wait for", name);
	if (threads > THREADS_MAX)
		return error_set(NB_ERR_USAGE,
			"[%s]: threads: %" PRIu64 " in one phase are too many; allowed: %d",
			name, threads, THREADS_MAX);
	if (inserters > 0 && job->lag == 0 && threads > 1)
		return error_set(NB_ERR_USAGE,
			"lag: 0 needs a single thread; others would look for records that are not inserted yet");
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
				"[%s]: is in phase %" PRIu32 " instead of %" PRIu32,
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
	if (rc == NB_OK && (rc = sizes_check(&job->values)) != NB_OK)
		rc = error_prefix(rc, "value-size");
	if (rc == NB_OK)
		rc = tao_job_check(job);
	if (rc == NB_OK)
		rc = check_kinds(job);
	if (rc == NB_OK)
		rc = check_load(job);
	if (rc == NB_OK)
		rc = check_names(job);
	for (size_t i = 0; rc == NB_OK && i < job->group_count; i++)
		rc = check_group(job, &job->groups[i]);
	return rc == NB_OK ? check_phases(job) : rc;
}
