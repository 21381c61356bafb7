/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Single calls for keys and values of 8 bytes. The record must be in memory, and a write must be
 * allowed to change it in place. Otherwise the call changes nothing and returns QUICK_NOT. The
 * general code, op_try() or op_run(), then starts again.
 *
 * A quick call only waits for two cache lines. Meanwhile the processor begins the next calls, if
 * they are inside its window of some 250 instructions. So fewer instructions let more calls wait
 * at the same time. A single call would take hardly longer with twice as many instructions.
 *
 * This file is also compiled for AVX2, which compares four entries of a bucket at once.
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

/*
 * The entry of a bucket that has this tag and no flags. 0: none, or the bucket has just changed.
 *
 * With AVX2, the address of the record comes from the compared entries. So the load of the record
 * does not wait until the place of the match is known and its word is loaded again. The bucket is
 * not read at one moment, so an entry that moves meanwhile may match twice.
 */
static ALWAYS_INLINE struct slot
slot_of_tag(struct bucket *bucket, uint64_t tag)
{
	const struct slot none = {0};
#if defined(__AVX2__) && !defined(RACY_TSAN)
	const __m256i *words = (const void *)bucket;
	const __m256i wanted = _mm256_set1_epi64x((long long)(tag >> ADDRESS_BITS));
	__m256i low = _mm256_load_si256(&words[0]), high = _mm256_load_si256(&words[1]);
	__m256i in_low = _mm256_cmpeq_epi64(_mm256_srli_epi64(low, ADDRESS_BITS), wanted);
	__m256i in_high = _mm256_cmpeq_epi64(_mm256_srli_epi64(high, ADDRESS_BITS), wanted);
	int first = _mm256_movemask_pd(_mm256_castsi256_pd(in_low));
	int second = _mm256_movemask_pd(_mm256_castsi256_pd(in_high));
	unsigned matches = (unsigned)(first | second << 4);
	__m256i four = _mm256_or_si256(
		_mm256_and_si256(low, in_low), _mm256_and_si256(high, in_high));
	__m128i two = _mm_or_si128(
		_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
	uint64_t entry = (uint64_t)_mm_cvtsi128_si64(
		_mm_or_si128(two, _mm_unpackhi_epi64(two, two)));

	if (UNLIKELY(matches == 0 || (matches & (matches - 1)) != 0))
		return none;
	return (struct slot){&bucket->words[__builtin_ctz(matches)], entry};
#else
	unsigned matches = bucket_matches(bucket, tag);

	if (UNLIKELY(matches == 0))
		return none;
	uint64_t *at = &bucket->words[__builtin_ctz(matches)];
	uint64_t entry = __atomic_load_n(at, __ATOMIC_ACQUIRE);
	return UNLIKELY((entry >> ADDRESS_BITS) != tag >> ADDRESS_BITS)
		? none
		: (struct slot){at, entry};
#endif
}

/*
 * The entry of a hash, and so its newest record. 0: the index grows, or the first bucket has no entry
 * of the hash without flags. Unlike index_find(), never waits. Call it inside an epoch.
 */
static ALWAYS_INLINE struct slot
slot_of_hash(const struct nb_session *session, uint64_t hash)
{
	const struct slot none = {0};
	const struct index *index = session->index;
	uint64_t tag = tag_of(index, hash);
	const struct table *table = __atomic_load_n(&index->current, __ATOMIC_ACQUIRE);
	moment_reached(MOMENT_CURRENT_TABLE);
	const struct table *next = __atomic_load_n(&index->next, __ATOMIC_ACQUIRE);

	if (UNLIKELY(next != NULL && next != table))
		return none;
	struct bucket *bucket = &table->buckets[hash & table->mask];
	moment_reached(MOMENT_TABLE);
	return slot_of_tag(bucket, tag);
}

/*
 * The newest record of the key `word`, if it is the first one of its chain, small, not deleted,
 * and after the address *region. Otherwise NULL. Call it inside an epoch.
 */
static ALWAYS_INLINE uint64_t *
look(const struct nb_session *session, uint64_t address, uint64_t word, const uint64_t *region)
{
	/* Excludes the address 0, and also a record at *region itself. */
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
	struct slot slot = slot_of_hash(session, hash_word(word));
	const uint64_t *record = look(
		session, entry_address(slot.entry), word, &session->log->head);
	if (LIKELY(record != NULL))
		*value = __atomic_load_n(&record[2], __ATOMIC_ACQUIRE);
	epoch_exit(epoch);
	return record != NULL;
}

/*
 * Append a copy of a record in memory that must not change in place. After a cut of the log, each
 * first change of a record needs one. A sum needs an immutable record, see verbs.c.
 */
static __attribute__((noinline)) bool
copy_word(struct nb_session *session, struct slot slot, uint64_t word, uint64_t number,
	bool is_sum)
{
	struct log *log = session->log;
	uint64_t old = entry_address(slot.entry);
	const uint64_t *record = look(session, old, word, &log->head);

	if (record == NULL || (is_sum && old >= log_read(&log->safe_read_only)))
		return false;
	uint64_t address = log_take(log, &session->chunk, SMALL_SIZE, old);
	if (UNLIKELY(address == 0))
		return false;
	uint64_t *copy = log_at(log, address);
	__builtin_prefetch(copy + 32, 1);
	copy[1] = word;
	copy[2] = number + (is_sum ? __atomic_load_n(&record[2], __ATOMIC_ACQUIRE) : 0);
	racy_store64(&copy[0], header_of(HEADER_SMALL, old));
	moment_reached(MOMENT_LINK);
	if (UNLIKELY(!index_update(&slot, address))) {
		__atomic_fetch_or(&copy[0], HEADER_INVALID, __ATOMIC_RELEASE);
		count_one(&session->counts.retries);
		return false;
	}
	if (is_sum)
		count_one(&session->counts.copied);
	count_one(&session->counts.appended);
	return true;
}

/*
 * Add to a value. A locked instruction waits for all earlier loads and stores. Without another
 * session, nobody else changes the value: the keeper and the flusher only read it.
 */
static ALWAYS_INLINE void
add_word(const struct nb_session *session, uint64_t *record, uint64_t number)
{
	if (!session->is_single) {
		record_add(record, HEADER_SMALL, number);
		return;
	}
	uint64_t sum = record[2] + number;
	racy_meet();
	__atomic_store_n(&record[2], sum, __ATOMIC_RELAXED);
}

/*
 * Store `number`, or with `is_sum` add it. The flusher does not write a record from read_only on
 * before the session leaves its epoch.
 */
static ALWAYS_INLINE bool
change_word(struct nb_session *session, uint64_t word, uint64_t number, bool is_sum)
{
	struct epoch_slot *epoch = session->epoch;

	epoch_enter(epoch);
	struct slot slot = slot_of_hash(session, hash_word(word));
	uint64_t *record = look(
		session, entry_address(slot.entry), word, &session->log->read_only);
	bool is_done = true;
	if (LIKELY(record != NULL)) {
		moment_reached(MOMENT_STORE);
		if (is_sum)
			add_word(session, record, number);
		else
			__atomic_store_n(&record[2], number, __ATOMIC_RELEASE);
		count_one(&session->counts.in_place);
	} else {
		is_done = copy_word(session, slot, word, number, is_sum);
	}
	epoch_exit(epoch);
	return is_done;
}

/* ---- for requests and batches ---- */

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
	struct slot slot = slot_of_hash(session, hash);
	__builtin_prefetch(log_at(session->log, entry_address(slot.entry)));
}

/*
 * ---- verbs ----
 *
 * If the quick call fails, the verb ends in a jump to the general one. It passes the arguments
 * that are known by then as constants, so they occupy no register before.
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
