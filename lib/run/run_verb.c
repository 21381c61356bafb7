/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * put, get and delete: the parts that a job does not have.
 *
 * Their keys come from a file, which may repeat some. A put of a repeated key overwrites, and a
 * delete of one finds nothing. So the keys are surveyed before the run. A get that does not
 * find its key is counted, and judged here. It is not a finding.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "run/run.h"
#include "workload/verb.h"

static int
survey(struct nb_run *run, uint32_t passes_max)
{
	run_begin_phase(run, "keys");
	return keys_survey(&run->keys.file, &run->keys_facts, passes_max, run->options.progress,
		run->options.progress_arg);
}

int
verb_survey(struct nb_run *run)
{
	int rc = survey(run, KEYS_QUICK);
	if (rc == NB_OK)
		run->digest = verb_digest(&run->workload, run->keys_facts.hash);
	return rc;
}

void
verb_survey_again(struct nb_run *run)
{
	struct keys_facts estimate = run->keys_facts;
	if (run->workload.verb == NB_VERB_DELETE && estimate.is_estimate &&
		run->measured.answers[NB_NOT_FOUND] > 0 && survey(run, KEYS_EXACT) != NB_OK)
		run->keys_facts = estimate;
}

/* After a get or a delete, the other records are not known. */
uint64_t
verb_live_bytes(const struct nb_run *run)
{
	const struct nb_workload *workload = &run->workload;
	const struct measurement *measured = &run->measured;
	const struct keys_facts *facts = &run->keys_facts;
	/*
	 * if 100,000 keys contain no duplicate, most likely at most three in that many are
	 * duplicates
	 */
	bool is_known = !facts->is_estimate || facts->duplicates == 0;
	bool is_all = !measured->is_partial || facts->duplicates == 0;
	if (workload->verb != NB_VERB_PUT || measured->had_data || !is_known || !is_all ||
		!measured->has_begun)
		return 0;
	return (measured->ops - facts->duplicates) *
		(workload->key_size + workload->value_size);
}

static void
collect_findings(struct worker_findings *into, const struct job_findings *from)
{
	into->verified = from->verified;
	into->missing = from->verdicts[JOB_MISSING];
	for (int i = 0; i < VALUE_VERDICTS; i++)
		into->verdicts[i] = from->verdicts[job_verdict_of(i)];
}

void
verb_collect(struct nb_run *run)
{
	struct measurement *sum = &run->measured;
	bool is_delete = run->workload.verb == NB_VERB_DELETE;
	struct job_measurement *measured = run->options.what == NB_JOB_LOAD
		? &run->loading.measured
		: &run->parts[0].measured;
	collect_findings(&sum->findings, &measured->findings);
	/* a record that is still present; nothing is known of the deleted ones */
	if (is_delete) {
		sum->findings.missing = sum->findings.verdicts[VALUE_STALE];
		memset(sum->findings.verdicts, 0, sizeof(sum->findings.verdicts));
	}
	sum->is_partial = sum->ops < run->workload.count;
	sum->has_begun |= run->has_operated; /* also if the first operation failed */
	if (measured->threads != NULL) {
		sum->threads = measured->threads;
		sum->thread_count = measured->thread_count;
		measured->threads = NULL;
	}
	for (uint32_t t = 0; t < sum->thread_count; t++) {
		uint64_t *kinds = sum->threads[t].kinds;
		memset(kinds, 0, sizeof(sum->threads[t].kinds));
		kinds[0] = sum->threads[t].ops; /* of any kind */
	}
}

/**
 * The largest number of keys that may be missing when they are deleted, because they are
 * repeated. An estimate from millions of keys is off by less than half of the true number, or
 * by a thousandth of the keys; both are added.
 */
static uint64_t
repeated_keys(const struct nb_run *run)
{
	const struct keys_facts *facts = &run->keys_facts;
	uint64_t doubt = facts->duplicates + run->workload.count / 1000;
	return facts->duplicates + (facts->is_estimate ? doubt : 0);
}

/**
 * Judge missing keys. If a get finds fewer keys than are missing, the text reports their
 * number. After a delete, these are records that came back. With NB_RUN_ALLOW_MISSING it is
 * only a warning.
 */
static int
judge_missing(const struct nb_run *run)
{
	const uint64_t *answers = run->measured.answers;
	unsigned long long found = answers[NB_OK], absent = answers[NB_NOT_FOUND];
	unsigned long long ops = run->measured.ops;
	char text[128] = "";
	if (run->workload.verb == NB_VERB_GET && found > 0 && found < absent)
		snprintf(text, sizeof(text),
			", %llu %s found (%s came back, if the keys were deleted before)",
			found, found == 1 ? "was" : "were", found == 1 ? "it" : "they");
	if (absent > 0 && (run->options.flags & NB_RUN_ALLOW_MISSING) == 0)
		return error_set(NB_ERR_DATA,
			"%llu of %llu keys were not found%s; use --allow-missing if this is expected",
			absent, ops, text);
	if (text[0] != '\0')
		log_message(NB_LOG_WARNING, "%llu of %llu keys were not found%s", absent, ops,
			text);
	return NB_OK;
}

int
verb_judge(const struct nb_run *run)
{
	const struct measurement *measured = &run->measured;
	const struct worker_findings *findings = &measured->findings;
	unsigned long long verified = findings->verified, bad = findings_wrong(findings);
	unsigned long long missing = findings->missing, ops = measured->ops;
	unsigned long long absent = measured->answers[NB_NOT_FOUND];
	unsigned long long wrong_size = findings->verdicts[VALUE_WRONG_SIZE];
	bool is_delete = run->workload.verb == NB_VERB_DELETE;
	bool is_get = run->workload.verb == NB_VERB_GET;
	if (bad > 0)
		return error_set(NB_ERR_DATA,
			"%llu of %llu verified values differ from the put values (wrong size %llu, of another key %llu, corrupt %llu, stale %llu)%s",
			bad, verified, wrong_size,
			(unsigned long long)findings->verdicts[VALUE_OF_OTHER_KEY],
			(unsigned long long)findings->verdicts[VALUE_CORRUPT],
			(unsigned long long)findings->verdicts[VALUE_STALE],
			is_get && wrong_size == verified ? "; --vlen must be that of put" : "");
	if (missing > 0)
		return error_set(NB_ERR_DATA,
			"%llu of %llu keys that were looked up again are %s", missing, verified,
			is_delete ? "still there" : "not there");
	if (run->workload.verb == NB_VERB_PUT && absent > 0)
		return error_set(NB_ERR_DATA,
			"%llu of %llu puts returned 'not found', so they may not have been stored",
			absent, ops);
	if (is_delete && absent <= repeated_keys(run))
		return NB_OK;
	return judge_missing(run);
}
