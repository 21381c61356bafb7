/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kinds of a job with a social graph, and their shares.
 *
 * A read of one object or edge is NB_OP_READ. Every other operation is a list of steps. Its
 * kind lists the possible steps; the source chooses them for each operation:
 * - insert: an object, or an edge after the checks of its type (tao.c);
 * - update: put-if-newer; a put, if the job has blind updates;
 * - delete: put-if-newer, then delete unless the first was rejected;
 * - write transaction: the steps of 1 to TAO_WRITES_MAX writes;
 * - read transaction: gets. Each class of sizes is a kind, because a mean over sizes from 1 to
 *   500 describes none of them.
 *
 * The shares are products of the file's weights, so the mix of kinds is exact in each stratum,
 * as for any job.
 */
#include "workload/tao_job.h"

#include <mininb/engine.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "workload/job.h"
#include "workload/tao_graph.h"

enum {
	SHARE_SCALE = 100000000, /* a weight of 1 is a share of 1 / SHARE_SCALE */
	CHECKS_MAX = 3           /* steps before the insert of an edge */
};

/* ---- shares ---- */

static double
share(const struct nb_job *job, uint32_t law, uint32_t place)
{
	return tao_file_share(job->graph, law, place);
}

/** Share of the reads that read all edges of an object. */
static double
range_share(const struct nb_job *job)
{
	return job->edge_range == NB_EDGES_POINT ? 0
						 : share(job, TAO_READS, TAO_READ_RANGE) +
			share(job, TAO_READS, TAO_READ_COUNT) +
			share(job, TAO_READS, TAO_READ_TIME);
}

static double
class_share(const struct nb_job *job, uint32_t which)
{
	const struct tao_law *sizes = &job->graph->laws[TAO_TXN_READ_SIZES];
	double sum = 0;
	for (uint32_t i = 0; i < sizes->count; i++) {
		if (tao_class_of(sizes->values[i]) == which)
			sum += share(job, TAO_TXN_READ_SIZES, i);
	}
	return sum;
}

/** A share above 0 has a weight above 0. */
static uint32_t
weight_of(double part)
{
	uint32_t weight = (uint32_t)(part * SHARE_SCALE + 0.5);
	return weight > 0 || part <= 0 ? weight : 1;
}

static void
set_shares(const struct nb_job *job, struct nb_group *group)
{
	double reads = share(job, TAO_OPERATIONS, TAO_OP_READ);
	double writes = share(job, TAO_OPERATIONS, TAO_OP_WRITE);
	double txn_reads = share(job, TAO_OPERATIONS, TAO_OP_TXN_READ);
	double ranges = range_share(job);
	static const uint32_t pairs[][3] = {{TAO_KIND_INSERT, TAO_ADD_OBJECT, TAO_ADD_EDGE},
		{TAO_KIND_UPDATE, TAO_UPDATE_OBJECT, TAO_UPDATE_EDGE},
		{TAO_KIND_DELETE, TAO_DELETE_OBJECT, TAO_DELETE_EDGE}};
	memset(group->weights, 0, sizeof(group->weights));
	group->weight_scale = 1;
	group->weights[NB_OP_READ] = weight_of(reads * (1 - ranges));
	group->weights[NB_OP_SCAN] = weight_of(reads * ranges);
	for (uint32_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		group->weights[pairs[i][0]] = weight_of(writes *
			(share(job, TAO_WRITES, pairs[i][1]) +
				share(job, TAO_WRITES, pairs[i][2])));
	group->weights[TAO_KIND_TXN_WRITE] = weight_of(
		share(job, TAO_OPERATIONS, TAO_OP_TXN_WRITE));
	for (uint32_t c = 0; c < TAO_CLASSES; c++)
		group->weights[TAO_KIND_TXN_READ + c] = weight_of(
			txn_reads * class_share(job, c));
}

/* ---- kinds ---- */

static void
add_step(struct nb_kind *kind, uint32_t verb, uint32_t most)
{
	kind->steps[kind->step_count++] = (struct nb_kind_step){
		.verb = verb, .times_min = 1, .times_max = most};
}

/**
 * Add steps of up to `most` writes, of the types that have a share in the distribution `law`.
 */
static void
add_writes(const struct nb_job *job, struct nb_kind *kind, uint32_t law, uint32_t most,
	bool has_inserts, bool has_updates, bool has_deletes)
{
#define HAS(one, other) (share(job, law, one) + share(job, law, other) > 0)
	has_inserts &= HAS(TAO_ADD_OBJECT, TAO_ADD_EDGE);
	has_updates &= HAS(TAO_UPDATE_OBJECT, TAO_UPDATE_EDGE);
	has_deletes &= HAS(TAO_DELETE_OBJECT, TAO_DELETE_EDGE);
	if (has_inserts && job->preconditions && share(job, law, TAO_ADD_EDGE) > 0)
		add_step(kind, NB_STEP_PREFIX_EMPTY, CHECKS_MAX * most);
	if (has_inserts)
		add_step(kind, NB_STEP_INSERT, most);
	if (job->graph_update == NB_UPDATE_RMW && (has_updates || has_deletes))
		add_step(kind, NB_STEP_PUT_IF_NEWER, most);
	else if (has_updates)
		add_step(kind, NB_STEP_PUT, most);
	if (has_deletes)
		add_step(kind, NB_STEP_DEL, most);
#undef HAS
}

static uint32_t
writes_max(const struct nb_job *job)
{
	const struct tao_law *sizes = &job->graph->laws[TAO_TXN_WRITE_SIZES];
	uint32_t most = 1;
	for (uint32_t i = 0; i < sizes->count; i++) {
		if (sizes->weights[i] > 0 && sizes->values[i] > most)
			most = sizes->values[i];
	}
	return most;
}

static void
make_kinds(struct nb_job *job)
{
	static const char *const names[] = {
		"tao-insert", "tao-update", "tao-delete", "tao-write-txn"};
#define KIND(k) (&job->kinds[(k)-KIND_OWN])
	memset(job->kinds, 0, job->kind_count * sizeof(*job->kinds));
	for (uint32_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
		snprintf(job->kinds[k].name, sizeof(job->kinds[k].name), "%s", names[k]);
	add_writes(job, KIND(TAO_KIND_INSERT), TAO_WRITES, 1, true, false, false);
	add_writes(job, KIND(TAO_KIND_UPDATE), TAO_WRITES, 1, false, true, false);
	add_writes(job, KIND(TAO_KIND_DELETE), TAO_WRITES, 1, false, false, true);
	add_writes(job, KIND(TAO_KIND_TXN_WRITE), TAO_TXN_WRITES, writes_max(job), true, true,
		true);
	for (uint32_t c = 0; c < TAO_CLASSES; c++) {
		struct nb_kind *kind = KIND(TAO_KIND_TXN_READ + c);
		uint32_t least = c > 0 ? tao_class_max(c - 1) + 1 : 1;
		snprintf(kind->name, sizeof(kind->name), "tao-read-txn-%u-%u", least,
			tao_class_max(c));
		kind->steps[kind->step_count++] = (struct nb_kind_step){
			.verb = NB_STEP_GET, .times_min = least, .times_max = tao_class_max(c)};
	}
	/* Kinds without a share need a step, too. */
	for (size_t k = 0; k < job->kind_count; k++) {
		if (job->kinds[k].step_count == 0)
			add_step(&job->kinds[k], NB_STEP_GET, 1);
	}
#undef KIND
}

/* ---- the job ---- */

int
tao_job_set_graph(struct nb_job *job, const char *text)
{
	enum { KINDS = TAO_KIND_TXN_READ + TAO_CLASSES - KIND_OWN };
	struct tao_file *file = NULL;
	char *path = NULL, *copy = strdup(text);
	int rc = copy != NULL ? NB_OK : error_memory();
	if (rc == NB_OK && job->kind_count > 0 && job->graph == NULL)
		rc = error_set(NB_ERR_USAGE, "a job with a graph has no kinds of its own");
	if (rc == NB_OK)
		rc = presets_find_graph(&path, text);
	if (rc == NB_OK)
		rc = tao_file_read(&file, path);
	free(path);
	if (rc == NB_OK && job->kinds == NULL &&
		(job->kinds = calloc(KINDS, sizeof(*job->kinds))) == NULL)
		rc = error_memory();
	if (rc != NB_OK) {
		tao_file_delete(file);
		free(copy);
		return rc;
	}
	tao_job_destroy(job);
	job->kind_count = KINDS;
	job->graph = file;
	job->graph_text = copy;
	job->key_format = NB_KEY_GRAPH;
	return NB_OK;
}

void
tao_job_settle(struct nb_job *job)
{
	if (job->graph == NULL)
		return;
	make_kinds(job);
	job->records = job->edges * TAO_PARTS;
	for (size_t g = 0; g < job->group_count; g++) {
		struct nb_group *group = &job->groups[g];
		if (group->source == NB_SOURCE_TAO)
			set_shares(job, group);
		else
			memset(&group->weights[KIND_OWN], 0,
				(NB_KINDS_MAX - KIND_OWN) * sizeof(group->weights[0]));
	}
}

const char *
nb_job_unused_names(const struct nb_job *job, int is_known)
{
	if (job->graph == NULL)
		return NULL;
	return is_known ? job->graph->unused : job->graph->unknown;
}

int
tao_job_refuse(
	const struct nb_job *job, const struct nb_group *group, const char *key, bool is_share)
{
	if (job->graph != NULL && strcmp(key, "records") == 0)
		return error_set(NB_ERR_USAGE,
			"records: a graph has 3 for each edge, itself and two objects; set edges");
	if (job->graph != NULL && group != NULL && group->source == NB_SOURCE_TAO && is_share)
		return error_set(NB_ERR_USAGE,
			"%s: the source tao takes the mix from the file of the key graph; set source = records for a mix of your own",
			key);
	return NB_OK;
}

static int
check_group(const struct nb_job *job, const struct nb_group *group)
{
	bool is_tao = group->source == NB_SOURCE_TAO;
	if (is_tao && job->graph == NULL)
		return error_set(NB_ERR_USAGE,
			"[%.47s]: source: tao needs a file with its laws; set graph = workload_o.json",
			group->name);
	if (is_tao && group->depth > 1)
		return error_set(NB_ERR_USAGE,
			"[%.47s]: depth: the source tao makes one call after the other; set depth = 1",
			group->name);
	return NB_OK;
}

int
tao_job_check(const struct nb_job *job)
{
	int rc = NB_OK;
	for (size_t g = 0; g < job->group_count && rc == NB_OK; g++)
		rc = check_group(job, &job->groups[g]);
	if (rc != NB_OK || job->graph == NULL)
		return job->key_format != NB_KEY_GRAPH || rc != NB_OK
			? rc
			: error_set(NB_ERR_USAGE, "key-format: graph needs the key graph");
	if (job->key_format != NB_KEY_GRAPH)
		return error_set(
			NB_ERR_USAGE, "key-format: a graph has keys of its own; leave it out");
	if (job->values.kind != NB_SIZE_FIXED ||
		job->values.min < TAO_AGE_BYTES + TAO_VALUE_MIN)
		return error_set(NB_ERR_USAGE,
			"value-size: a graph has values of one size from %d bytes up, of which 8 are the timestamp",
			TAO_AGE_BYTES + TAO_VALUE_MIN);
	return NB_OK;
}

void
tao_job_destroy(struct nb_job *job)
{
	tao_file_delete(job->graph);
	free(job->graph_text);
	job->graph = NULL;
	job->graph_text = NULL;
}
