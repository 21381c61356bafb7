/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each operation counts once, however many records it goes to:
 *
 *   puts     put, insert, update, upsert, read-modify-write, batch, txn-write
 *   gets     get, read, multi-get, txn-read
 *   scans    scan
 *   removes  delete
 *   ops      all of these
 *
 * A read-modify-write is a put, since it is the put that it is done for.
 */
#include "report/threads.h"

static const uint32_t kinds[NB_OP_KINDS] = {[NB_OP_READ] = CANDLES_GETS,
	[NB_OP_UPDATE] = CANDLES_PUTS,
	[NB_OP_INSERT] = CANDLES_PUTS,
	[NB_OP_UPSERT] = CANDLES_PUTS,
	[NB_OP_DELETE] = CANDLES_REMOVES,
	[NB_OP_SCAN] = CANDLES_SCANS,
	[NB_OP_RMW] = CANDLES_PUTS,
	[NB_OP_BATCH] = CANDLES_PUTS,
	[NB_OP_MULTIGET] = CANDLES_GETS,
	[NB_OP_TXN_READ] = CANDLES_GETS,
	[NB_OP_TXN_WRITE] = CANDLES_PUTS};

static const uint32_t verbs[] = {[NB_VERB_PUT] = CANDLES_PUTS,
	[NB_VERB_GET] = CANDLES_GETS,
	[NB_VERB_DELETE] = CANDLES_REMOVES};

void
threads_count(const struct record *record, const struct job_thread *thread,
	uint64_t counts[CANDLES_KINDS])
{
	for (uint32_t kind = 0; kind < CANDLES_KINDS; kind++)
		counts[kind] = 0;
	counts[CANDLES_OPS] = thread->ops;
	if (record->job == NULL) {
		counts[verbs[record->run->workload.verb]] = thread->ops;
		return;
	}
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++)
		counts[kinds[kind]] += thread->kinds[kind];
}

uint32_t
threads_kinds(const struct record *record, const struct record_group *group)
{
	uint32_t found = 0;
	for (uint32_t t = 0; group->threads != NULL && t < group->thread_count; t++) {
		uint64_t counts[CANDLES_KINDS];
		threads_count(record, &group->threads[t], counts);
		for (uint32_t kind = 0; kind < CANDLES_KINDS; kind++)
			found |= (uint32_t)(counts[kind] > 0) << kind;
	}
	return found;
}
