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

/* The record of a key, as far as it is found at once. */
struct found {
	uint64_t *record;
	uint64_t address;
};

/*
 * As index_find() and follow(), but only if the index does not grow, the entry is in its first
 * bucket and the first record of its chain is the one, live, small and not before `least`. Within
 * an epoch.
 */
static ALWAYS_INLINE bool
look(const struct nb_session *session, uint64_t word, uint64_t least, struct found *found)
{
	const struct index *index = session->index;
	uint64_t hash = hash_word(word), tag = tag_of(index, hash);
	const struct table *table = __atomic_load_n(&index->current, __ATOMIC_ACQUIRE);
	moment_reached(MOMENT_CURRENT_TABLE);
	const struct table *next = __atomic_load_n(&index->next, __ATOMIC_ACQUIRE);

	if (UNLIKELY(next != NULL && next != table))
		return false;
	const struct bucket *bucket = &table->buckets[hash & table->mask];
	moment_reached(MOMENT_TABLE);
	unsigned matches = bucket_matches(bucket, tag);
	if (UNLIKELY(matches == 0))
		return false;
	uint64_t entry = __atomic_load_n(
		&bucket->words[__builtin_ctz(matches)], __ATOMIC_ACQUIRE);
	found->address = entry_address(entry);
	if (UNLIKELY((entry & ~ADDRESS_MASK) != tag || found->address < least))
		return false;
	found->record = log_at(session->log, found->address);
	uint64_t header = __atomic_load_n(found->record, __ATOMIC_ACQUIRE);
	if (UNLIKELY((header & (HEADER_KIND | HEADER_TOMBSTONE)) != HEADER_SMALL ||
		    found->record[1] != word))
		return false;
	moment_reached(MOMENT_FOUND);
	return true;
}

static int
quick_get(struct nb_session *session, uint64_t word)
{
	struct found found;

	epoch_enter(session->epoch);
	bool is_found = look(session, word, log_read(&session->log->head) + 1, &found);
	if (is_found)
		session->op.word = __atomic_load_n(&found.record[2], __ATOMIC_ACQUIRE);
	epoch_exit(session->epoch);
	return is_found ? NB_OK : QUICK_NOT;
}

/* What is changed there now is not written before the session leaves its epoch. */
static ALWAYS_INLINE bool
look_for_change(const struct nb_session *session, uint64_t word, struct found *found)
{
	return look(session, word, log_read(&session->log->read_only), found);
}

static int
quick_put(struct nb_session *session, uint64_t word, uint64_t value)
{
	struct found found;

	epoch_enter(session->epoch);
	bool is_found = look_for_change(session, word, &found);
	if (is_found) {
		moment_reached(MOMENT_STORE);
		__atomic_store_n(&found.record[2], value, __ATOMIC_RELEASE);
		count_one(&session->counts.in_place);
	}
	epoch_exit(session->epoch);
	return is_found ? NB_OK : QUICK_NOT;
}

static int
quick_add(struct nb_session *session, uint64_t word, uint64_t operand)
{
	struct found found;

	epoch_enter(session->epoch);
	bool is_found = look_for_change(session, word, &found);
	if (is_found) {
		moment_reached(MOMENT_STORE);
		record_add(found.record, HEADER_SMALL, operand);
		count_one(&session->counts.in_place);
	}
	epoch_exit(session->epoch);
	return is_found ? NB_OK : QUICK_NOT;
}

const struct quick QUICK = {quick_get, quick_put, quick_add};
