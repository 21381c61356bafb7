/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each operation counts once, however many records it has, by its row in op_kind.h. A
 * read-modify-write counts as a put, which is its purpose.
 */
#include "report/threads.h"

#include "workload/op_kind.h"

static const uint32_t verbs[] = {[NB_VERB_PUT] = BOXPLOTS_PUTS,
	[NB_VERB_GET] = BOXPLOTS_GETS,
	[NB_VERB_DELETE] = BOXPLOTS_REMOVES};

_Static_assert((int)BOXPLOTS_PUTS == OP_PUTS && (int)BOXPLOTS_GETS == OP_GETS &&
		(int)BOXPLOTS_SCANS == OP_SCANS && (int)BOXPLOTS_REMOVES == OP_REMOVALS,
	"boxplots are in the order of the kinds of op_kind.h");

void
threads_count(const struct record *record, const struct job_thread *thread,
	uint64_t counts[BOXPLOTS_KINDS])
{
	for (uint32_t kind = 0; kind < BOXPLOTS_KINDS; kind++)
		counts[kind] = 0;
	counts[BOXPLOTS_OPS] = thread->ops;
	if (record_job(record) == NULL) {
		counts[verbs[record->run->workload.verb]] = thread->ops;
		return;
	}
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++)
		counts[op_kind_table[kind].counted] += thread->kinds[kind];
	for (uint32_t kind = KIND_ADD; kind < NB_KINDS_MAX; kind++)
		counts[OP_PUTS] += thread->kinds[kind]; /* nearly all of them write */
}

uint32_t
threads_kinds(const struct record *record, const struct record_group *group)
{
	uint32_t found = 0;
	for (uint32_t t = 0; group->threads != NULL && t < group->thread_count; t++) {
		uint64_t counts[BOXPLOTS_KINDS];
		threads_count(record, &group->threads[t], counts);
		for (uint32_t kind = 0; kind < BOXPLOTS_KINDS; kind++)
			found |= (uint32_t)(counts[kind] > 0) << kind;
	}
	return found;
}
