/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Results as a page of Markdown: all runs side by side, then each run with its operations,
 * its course over time, its conditions and its notes. Long parts that are seldom read are
 * folded.
 *
 * The figures and their rules are those of the text report: a percentile with too few
 * samples is left blank, and each line names service or response. Unknown values have no
 * line.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "report/compare.h"
#include "report/report.h"
#include "report/walk.h"

enum { THREADS_SHOWN = 64 };

static void
add_threads(struct doc *doc, const struct record *record)
{
	struct record_group groups[NB_GROUPS_MAX];
	size_t count = record_groups(record, groups);
	for (size_t g = 0; g < count; g++) {
		if (groups[g].threads == NULL || groups[g].thread_count < 2)
			continue;
		report_threads(doc, groups[g].threads, groups[g].thread_count, THREADS_SHOWN);
		doc_of(doc, groups[g].name);
	}
}

/** Add the number of verified records, over all groups. */
static void
add_verified(struct doc *doc, const struct record *record)
{
	const struct worker_findings *findings = &record->run->measured.findings;
	bool is_job = record_job(record) != NULL, is_blind = false;
	uint64_t verified = is_job ? 0 : findings->verified;
	uint64_t wrong = is_job ? 0 : findings->missing + findings_wrong(findings);
	for (size_t g = 0; is_job && g < record->run->group_count; g++) {
		const struct job_findings *it = &record->run->groups[g].measured.findings;
		is_blind |= record->run->groups[g].is_blind_to_gaps;
		verified += it->verified;
		for (int i = JOB_GOOD + 1; i < JOB_VERDICTS; i++)
			wrong += it->verdicts[i];
	}
	if (verified > 0)
		doc_line(doc, "Verified", "%" PRIu64 " records: %" PRIu64 " wrong or missing%s",
			verified, wrong, job_result_gaps(is_blind));
	else
		doc_line(doc, "Verified", "nothing");
}

static void
add_command(struct doc *doc, const struct record_command *command)
{
	if (command->option_count == 0 && command->job == NULL)
		return;
	doc_add(doc, DOC_FOLD, "", "%s", "The command and its options");
	for (size_t i = 0; i < command->option_count; i++)
		doc_bullet(
			doc, "", "%s=%s", command->options[i].name, command->options[i].value);
	if (command->job != NULL) {
		doc_gap(doc);
		doc_add(doc, DOC_BLOCK, "", "%s", command->job);
	}
	doc_add(doc, DOC_UNFOLD, "", "%s", "");
}

static int
add_record(struct doc *doc, const struct nb_results *results, size_t index)
{
	const struct record *record = &results->records[index];
	char title[WALK_TITLE];
	walk_title(results, index, title);
	doc_heading(doc, "##", "%s", title);
	if (record->picked_of > 0) {
		doc_paragraph(doc, "Run %u, which has the median throughput of %u.",
			record->block, record->picked_of);
		doc_gap(doc);
	}
	if (record->run == NULL) {
		doc_paragraph(doc, "%s", record->end);
		return NB_OK;
	}
	if (record->run->measured.is_partial || record->end[0] != '\0') {
		doc_line(doc, "Partial", "%s",
			record->end[0] != '\0' ? record->end : "the run was ended early");
		doc_gap(doc);
	}
	int rc = report_operations(doc, results, index);
	doc_gap(doc);
	add_threads(doc, record);
	add_verified(doc, record);
	report_conditions(doc, record);
	return rc;
}

int
write_markdown(const struct nb_results *results, FILE *out, uint32_t flags)
{
	struct nb_results shown;
	struct nb_comparison *comparison;
	struct doc doc = {0};
	int rc = results_pick(&shown, results);
	(void)flags;
	if (rc != NB_OK)
		return rc;
	const char *action = results->command.action;
	doc_heading(&doc, "#", "mininb%s%s", action != NULL ? " " : "",
		action != NULL ? action : "");
	if (results_are_versus(results) && compare_versus(&comparison, results) == NB_OK) {
		rc = report_comparison(&doc, comparison, DOC_MARKDOWN, false);
		nb_comparison_delete(comparison);
		doc_gap(&doc);
		doc_paragraph(&doc, "Of each contestant the run with the median throughput:");
		doc_gap(&doc);
	}
	report_side_by_side(&doc, &shown);
	for (size_t i = 0; i < results->count; i++)
		if (results->records[i].sweep.curve_count > 0)
			report_sweep(&doc, &results->records[i], results_sweeps(results) == 1);
	for (size_t i = 0; i < shown.count && rc == NB_OK; i++)
		rc = add_record(&doc, &shown, i);
	free(shown.records);
	add_command(&doc, &results->command);
	return doc_finish(&doc, rc, DOC_MARKDOWN, out, "the result cannot be written");
}
