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

#define LIKELY(condition) __builtin_expect((condition), 1)
#define UNLIKELY(condition) __builtin_expect((condition), 0)
#define ALWAYS_INLINE inline __attribute__((always_inline))

#ifdef __AVX2__
#define QUICK quick_avx2
#else
#define QUICK quick_plain
#endif

/* As bucket_matches(), but only of entries without flags. */
static ALWAYS_INLINE unsigned
whole_matches(const struct bucket *bucket, uint64_t tag)
{
#if defined(__AVX2__) && !defined(RACY_TSAN)
	const __m256i *words = (const void *)bucket;
	const __m256i wanted = _mm256_set1_epi64x((long long)(tag >> ADDRESS_BITS));
	__m256i low = _mm256_srli_epi64(_mm256_load_si256(&words[0]), ADDRESS_BITS);
	__m256i high = _mm256_srli_epi64(_mm256_load_si256(&words[1]), ADDRESS_BITS);
	int first = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(low, wanted)));
	int second = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(high, wanted)));

	return (unsigned)(first | second << 4);
#else
	return bucket_matches(bucket, tag);
#endif
}

/*
 * The address of the newest record of a hash, as index_find(), but only if the index does not grow
 * and the entry is in its first bucket; else 0. Within an epoch.
 */
static ALWAYS_INLINE uint64_t
address_of_hash(const struct nb_session *session, uint64_t hash)
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
	unsigned matches = whole_matches(bucket, tag);
	if (UNLIKELY(matches == 0))
		return 0;
	uint64_t entry = __atomic_load_n(
		&bucket->words[__builtin_ctz(matches)], __ATOMIC_ACQUIRE);
	return UNLIKELY((entry >> ADDRESS_BITS) != tag >> ADDRESS_BITS) ? 0
									: entry_address(entry);
}

/*
 * As follow(), but only if the first record of the chain is the one, live and small, and its
 * address is not before `region`, which is read within the epoch too; else NULL. Within an epoch.
 */
static ALWAYS_INLINE uint64_t *
look(const struct nb_session *session, uint64_t word, const uint64_t *region)
{
	uint64_t address = address_of_hash(session, hash_word(word));

	/* No record has the address 0, nor that of a region which begins a page: there is a seal. */
	if (UNLIKELY(address < (log_read(region) | 1)))
		return NULL;
	uint64_t *record = log_at(session->log, address);
	uint64_t header = __atomic_load_n(record, __ATOMIC_ACQUIRE);
	if (UNLIKELY((header & (HEADER_KIND | HEADER_TOMBSTONE)) != HEADER_SMALL ||
		    record[1] != word))
		return NULL;
	moment_reached(MOMENT_FOUND);
	return record;
}

static ALWAYS_INLINE bool
get_word(struct nb_session *session, uint64_t word, uint64_t *value)
{
	struct epoch_slot *epoch = session->epoch;

	epoch_enter(epoch);
	const uint64_t *record = look(session, word, &session->log->head);
	if (LIKELY(record != NULL))
		*value = __atomic_load_n(&record[2], __ATOMIC_ACQUIRE);
	epoch_exit(epoch);
	return record != NULL;
}

/*
 * Store `number`, or with `is_sum` add it. A record from read_only on is not written to storage
 * before the session leaves its epoch.
 */
static ALWAYS_INLINE bool
change_word(struct nb_session *session, uint64_t word, uint64_t number, bool is_sum)
{
	struct epoch_slot *epoch = session->epoch;

	epoch_enter(epoch);
	uint64_t *record = look(session, word, &session->log->read_only);
	if (LIKELY(record != NULL)) {
		moment_reached(MOMENT_STORE);
		if (is_sum)
			record_add(record, HEADER_SMALL, number);
		else
			__atomic_store_n(&record[2], number, __ATOMIC_RELEASE);
		count_one(&session->counts.in_place);
	}
	epoch_exit(epoch);
	return record != NULL;
}

/* ---- of requests and batches ---- */

static int
quick_get(struct nb_session *session, uint64_t word, uint64_t *value)
{
	return get_word(session, word, value) ? NB_OK : QUICK_NOT;
}

static int
quick_put(struct nb_session *session, uint64_t word, uint64_t value)
{
	return change_word(session, word, value, false) ? NB_OK : QUICK_NOT;
}

static int
quick_add(struct nb_session *session, uint64_t word, uint64_t operand)
{
	return change_word(session, word, operand, true) ? NB_OK : QUICK_NOT;
}

static void
quick_fetch(const struct nb_session *session, uint64_t hash)
{
	__builtin_prefetch(log_at(session->log, address_of_hash(session, hash)));
}

/*
 * ---- verbs ----
 *
 * They end in a jump to the whole verb where they have to. Its arguments that are known by then are
 * constants, so they take no register meanwhile.
 */

static ALWAYS_INLINE uint64_t
word_at(const void *data)
{
	uint64_t word;

	memcpy(&word, data, sizeof(word));
	return word;
}

static inline struct nb_slice
slice_of_word(const void *data)
{
	return (struct nb_slice){data, sizeof(uint64_t)};
}

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	if (UNLIKELY(key.size != sizeof(uint64_t)))
		return whole_verbs.get(session, key, value);
	if (UNLIKELY(!get_word(session, word_at(key.data), &session->op.word)))
		return whole_verbs.get(session, slice_of_word(key.data), value);
	*value = slice_of_word(&session->op.word);
	return NB_OK;
}

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	if (UNLIKELY(key.size != sizeof(uint64_t) || value.size != sizeof(uint64_t)))
		return whole_verbs.put(session, key, value);
	if (LIKELY(change_word(session, word_at(key.data), word_at(value.data), false)))
		return NB_OK;
	return whole_verbs.put(session, slice_of_word(key.data), slice_of_word(value.data));
}

static int
merge(struct nb_session *session, struct nb_slice key, uint32_t how, uint64_t operand)
{
	if (UNLIKELY(key.size != sizeof(uint64_t) || how != NB_MERGE_ADD_U64))
		return whole_verbs.merge(session, key, how, operand);
	if (LIKELY(change_word(session, word_at(key.data), operand, true)))
		return NB_OK;
	return whole_verbs.merge(session, slice_of_word(key.data), NB_MERGE_ADD_U64, operand);
}

const struct quick QUICK = {quick_get, quick_put, quick_add, quick_fetch, {get, put, merge}};
