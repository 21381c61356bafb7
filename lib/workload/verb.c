/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Converts a workload to a job: one record for each key of the file, numbered by its position.
 * Values have version 0, so a put writes the same values as a load.
 */
#include "workload/verb.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"

enum {
	STREAM_VERSION = 1 /* version of the algorithm of the stream; part of the digest */
};

const char *
nb_verb_name(uint32_t verb)
{
	static const char *const names[] = {
		[NB_VERB_PUT] = "put", [NB_VERB_GET] = "get", [NB_VERB_DELETE] = "delete"};
	return verb < sizeof(names) / sizeof(names[0]) ? names[verb] : NULL;
}

int
verb_check(const struct nb_workload *workload)
{
	if (nb_verb_name(workload->verb) == NULL)
		return error_set(NB_ERR_USAGE, "unknown verb %u", workload->verb);
	if (workload->count == 0 || workload->count > INT64_MAX)
		return error_set(NB_ERR_USAGE, "count: must be at least 1");
	if (workload->key_size == 0 || workload->key_size > NB_KEY_SIZE_MAX)
		return error_set(
			NB_ERR_USAGE, "key size: must be 1 to %u bytes", NB_KEY_SIZE_MAX);
	if (workload->value_size > NB_VALUE_SIZE_MAX)
		return error_set(
			NB_ERR_USAGE, "value size: must be 0 to %u bytes", NB_VALUE_SIZE_MAX);
	if (!(workload->value_ratio >= 0 && workload->value_ratio <= 1))
		return error_set(NB_ERR_USAGE, "value ratio: must be 0 to 1");
	if (workload->count > INT64_MAX / workload->key_size)
		return error_set(NB_ERR_USAGE, "count: no file holds that many keys");
	return NB_OK;
}

int
verb_job(struct nb_job **out, const struct nb_workload *workload, uint32_t threads)
{
	struct nb_job *job;
	int rc = nb_job_read(&job, NULL);
	if (rc != NB_OK)
		return rc;
	const char *name = nb_verb_name(workload->verb);
	struct nb_group *group = &job->groups[0];
	free(job->name);
	free(job->keys_path);
	free(job->values_text); /* the size is set below */
	job->values_text = NULL;
	job->name = strdup(name);
	job->keys_path = strdup(workload->keys_path);
	if (job->name == NULL || job->keys_path == NULL) {
		nb_job_delete(job);
		return error_memory();
	}
	job->seed = workload->seed;
	job->records = workload->count;
	job->key_format = NB_KEY_FILE;
	job->key_size = workload->key_size;
	job->values.min = job->values.max = workload->value_size; /* fixed size */
	job->value_ratio = workload->value_ratio;
	job->load->threads = group->threads = threads;
	snprintf(group->name, sizeof(group->name), "%s", name);
	group->weights[workload->verb == NB_VERB_DELETE ? NB_OP_DELETE : NB_OP_READ] = 1;
	group->distribution = NB_DIST_SEQUENTIAL;
	group->count = workload->count;
	*out = job;
	return NB_OK;
}

uint64_t
verb_digest(const struct nb_workload *workload, uint64_t keys_hash)
{
	bool is_put = workload->verb == NB_VERB_PUT;
	bool is_delete = workload->verb == NB_VERB_DELETE; /* a delete has no values */
	double ratio = workload->value_ratio + 0.0;        /* converts -0 to 0 */
	uint64_t ratio_bits;
	memcpy(&ratio_bits, &ratio, sizeof(ratio_bits));
	uint64_t words[] = {STREAM_VERSION, workload->verb, workload->count, workload->key_size,
		is_delete ? 0 : workload->value_size, keys_hash, is_put ? ratio_bits : 0,
		is_put ? workload->seed : 0};
	return XXH3_64bits(words, sizeof(words));
}
