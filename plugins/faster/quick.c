/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Single calls with keys and values of 8 bytes, as far as they end at once: the record is in
 * memory, and a write may change it in place. All else is answered QUICK_NOT, has changed nothing,
 * and is begun again by op_run().
 *
 * Such a call waits for two cache lines and for nothing else. While it does, the processor already
 * begins the next calls, if they are within its window of some 250 instructions. So the number of
 * instructions decides how many calls wait at the same time, although each of them would hardly
 * take longer with twice as many.
 *
 * Compiled a second time for AVX2, which compares four entries of a bucket at once.
 */
#include "look.h"

#define UNLIKELY(condition) __builtin_expect((condition), 0)
#define ALWAYS_INLINE inline __attribute__((always_inline))

#ifdef __AVX2__
#define QUICK quick_avx2
#else
#define QUICK quick_plain
#endif

/*
 * The entry of a hash, as index_find(), but only if the index does not grow and the entry is in its
 * first bucket; else 0. Within an epoch.
 */
static ALWAYS_INLINE uint64_t
entry_of(const struct nb_session *session, uint64_t hash)
{
	const struct index *index = session->index;
	uint64_t tag = tag_of(index, hash);
	const struct table *table = __atomic_load_n(&index->current, __ATOMIC_ACQUIRE);
	moment_reached(MOMENT_CURRENT_TABLE);
	const struct table *next = __atomic_load_n(&index->next, __ATOMIC_ACQUIRE);

	if (UNLIKELY(next != NULL && next != table))
		return 0;
	const struct bucket *bucket = &table->buckets[hash & table->mask];
	moment_reached(MOMENT_TABLE);
	unsigned matches = bucket_matches(bucket, tag);
	if (UNLIKELY(matches == 0))
		return 0;
	uint64_t entry = __atomic_load_n(
		&bucket->words[__builtin_ctz(matches)], __ATOMIC_ACQUIRE);
	return UNLIKELY((entry & ~ADDRESS_MASK) != tag) ? 0 : entry;
}

/*
 * As follow(), but only if the first record of the chain is the one, live and small, and its
 * address is not before `least`; else NULL. Within an epoch.
 */
static ALWAYS_INLINE uint64_t *
look(const struct nb_session *session, uint64_t word, uint64_t least)
{
	uint64_t address = entry_address(entry_of(session, hash_word(word)));

	if (UNLIKELY(address < least || address == 0))
		return NULL;
	uint64_t *record = log_at(session->log, address);
	uint64_t header = __atomic_load_n(record, __ATOMIC_ACQUIRE);
	if (UNLIKELY((header & (HEADER_KIND | HEADER_TOMBSTONE)) != HEADER_SMALL ||
		    record[1] != word))
		return NULL;
	moment_reached(MOMENT_FOUND);
	return record;
}

static int
quick_get(struct nb_session *session, uint64_t word, uint64_t *value)
{
	epoch_enter(session->epoch);
	const uint64_t *record = look(session, word, log_read(&session->log->head) + 1);
	if (record != NULL)
		*value = __atomic_load_n(&record[2], __ATOMIC_ACQUIRE);
	epoch_exit(session->epoch);
	return record != NULL ? NB_OK : QUICK_NOT;
}

/* What is changed there now is not written before the session leaves its epoch. */
static ALWAYS_INLINE uint64_t *
look_for_change(const struct nb_session *session, uint64_t word)
{
	return look(session, word, log_read(&session->log->read_only));
}

static int
quick_put(struct nb_session *session, uint64_t word, uint64_t value)
{
	epoch_enter(session->epoch);
	uint64_t *record = look_for_change(session, word);
	if (record != NULL) {
		moment_reached(MOMENT_STORE);
		__atomic_store_n(&record[2], value, __ATOMIC_RELEASE);
		count_one(&session->counts.in_place);
	}
	epoch_exit(session->epoch);
	return record != NULL ? NB_OK : QUICK_NOT;
}

static int
quick_add(struct nb_session *session, uint64_t word, uint64_t operand)
{
	epoch_enter(session->epoch);
	uint64_t *record = look_for_change(session, word);
	if (record != NULL) {
		moment_reached(MOMENT_STORE);
		record_add(record, HEADER_SMALL, operand);
		count_one(&session->counts.in_place);
	}
	epoch_exit(session->epoch);
	return record != NULL ? NB_OK : QUICK_NOT;
}

static void
quick_fetch(const struct nb_session *session, uint64_t hash)
{
	__builtin_prefetch(log_at(session->log, entry_address(entry_of(session, hash))));
}

const struct quick QUICK = {quick_get, quick_put, quick_add, quick_fetch};
