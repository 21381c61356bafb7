/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FASTER_INDEX_H
#define FASTER_INDEX_H
/**
 * The hash index: maps a hash to the newest record of a chain.
 *
 * A table has 2^level buckets. A bucket is a cache line with seven entries and a link to an
 * overflow bucket. An entry is a word: an address, a tag of 20 bits, and two flags. The entries
 * of a bucket have different tags. So all keys with the same bucket and tag share a chain, which
 * continues through the records. Only the log contains the keys.
 *
 * A session inserts an entry in two steps, as in FASTER: first with the flag TENTATIVE, which
 * readers ignore, then without it if no other entry has the same tag. Later changes are
 * compare-and-swaps.
 *
 * Growth. The keeper thread makes a table of twice the size. The first operation that needs a
 * bucket splits it; the keeper splits the others. The splitting thread sets the flag FROZEN on
 * all words of the bucket, so every compare-and-swap on them fails. It copies the words and
 * marks the bucket as split. An operation that reads FROZEN starts again, in the larger table.
 *
 * The first six doublings split by hash bits that are in the tag, so they read no record. Later
 * doublings read the records in memory. A chain that begins on storage goes into both new
 * buckets.
 *
 * Sessions call these functions inside an epoch. index_open(), index_close(), index_grow() and
 * index_clean() are called outside. The keeper may call index_count() outside, because only the
 * keeper frees tables. Without other threads, no epoch is necessary.
 */
#include "log.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

enum {
	BUCKET_ENTRIES = 7,
	TAG_BITS = 20,
	TAG_SPLITS = 6,
	LEVEL_MIN = 6,
	LEVEL_MAX = 36,
	RECORDS_A_BUCKET = 4 /* as many entries on average double the table */
};
#define ENTRY_TAG (((1ull << TAG_BITS) - 1) << ADDRESS_BITS)
#define ENTRY_TENTATIVE (1ull << 62)
#define ENTRY_FROZEN (1ull << 63)

struct bucket {
	uint64_t words[BUCKET_ENTRIES];
	uint64_t overflow; /* number of an overflow bucket, from 1; 0: none; and ENTRY_FROZEN */
} __attribute__((aligned(64)));

struct table {
	struct bucket *buckets; /* followed by the overflow buckets */
	uint64_t mask;
	unsigned level;
	uint64_t overflow_used, overflow_room;
	size_t mapped;
	uint8_t *splits; /* state of each bucket while the table grows */
};

struct index {
	struct table *current, *next; /* next: larger, being filled; NULL: none */
	unsigned tag_level;           /* level of the table that the first tag bit splits */
	const struct nb_host *host;
	struct log *log;
};

/** The place of an entry, and the entry as it was read. */
struct slot {
	uint64_t *word;
	uint64_t entry; /* 0: not found */
};

int
index_open(struct index *index, struct log *log, unsigned level, unsigned tag_level);

void
index_close(struct index *index);

/**
 * Double the table while sessions use it. `slot`: the keeper's. Returns NB_OK or a failure. Only
 * the keeper calls it.
 */
int
index_grow(struct index *index, struct epoch_slot *slot);

/** 19 bits of the hash, and one bit that is always 1: the tag 0 means a free word. */
static inline uint64_t
tag_of(const struct index *index, uint64_t hash)
{
	uint64_t split = hash >> index->tag_level & ((1u << TAG_SPLITS) - 1);
	uint64_t rest = hash >> (64 - TAG_BITS + TAG_SPLITS) |
		1u << (TAG_BITS - TAG_SPLITS - 1);

	return (rest << TAG_SPLITS | split) << ADDRESS_BITS;
}

static inline uint64_t
entry_address(uint64_t entry)
{
	return (entry & ADDRESS_MASK) << ADDRESS_SHIFT;
}

/** Split the bucket of this hash, or wait until another session has split it. */
void
index_split(struct index *index, struct table *from, struct table *to, uint64_t hash);

/** The table that contains the entries of a hash now. During growth, splits the bucket. */
static inline struct table *
index_table(struct index *index, uint64_t hash)
{
	struct table *table = __atomic_load_n(&index->current, __ATOMIC_ACQUIRE);
	moment_reached(MOMENT_CURRENT_TABLE);
	struct table *next = __atomic_load_n(&index->next, __ATOMIC_ACQUIRE);

	if (__builtin_expect(next == NULL || next == table, 1))
		return table;
	index_split(index, table, next, hash);
	return next;
}

static inline struct bucket *
overflow_of(const struct table *table, uint64_t word)
{
	word &= ~ENTRY_FROZEN;
	return word == 0 ? NULL : table->buckets + table->mask + word;
}

static inline void
index_prefetch(struct index *index, uint64_t hash)
{
	const struct table *table = __atomic_load_n(&index->current, __ATOMIC_ACQUIRE);
	__builtin_prefetch(&table->buckets[hash & table->mask]);
}

enum { FIND_NONE, FIND_HERE, FIND_AGAIN };

/*
 * A bit mask of the words of a bucket that have this tag. The processor cannot predict the place
 * of an entry. It would detect a wrong prediction only when the bucket arrives from memory. It
 * would then discard all later work, such as the next operation. So the code has no branches.
 */
#if defined(__AVX2__) && !defined(RACY_TSAN)
static inline unsigned
bucket_matches(const struct bucket *bucket, uint64_t tag)
{
	const __m256i *words = (const void *)
		bucket; /* the last is `overflow`, whose tag is 0 */
	const __m256i mask = _mm256_set1_epi64x((long long)(ENTRY_TAG | ENTRY_TENTATIVE));
	const __m256i wanted = _mm256_set1_epi64x((long long)tag);
	__m256i low = _mm256_and_si256(_mm256_load_si256(&words[0]), mask);
	__m256i high = _mm256_and_si256(_mm256_load_si256(&words[1]), mask);
	int first = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(low, wanted)));
	int second = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(high, wanted)));

	return (unsigned)(first | second << 4);
}
#else
static inline unsigned
bucket_matches(const struct bucket *bucket, uint64_t tag)
{
	unsigned matches = 0;

#pragma GCC unroll 7
	for (unsigned i = 0; i < BUCKET_ENTRIES; i++) {
		uint64_t entry = __atomic_load_n(&bucket->words[i], __ATOMIC_ACQUIRE);
		matches |= (unsigned)((entry & (ENTRY_TAG | ENTRY_TENTATIVE)) == tag) << i;
	}
	return matches;
}
#endif

/**
 * Search a bucket and its overflow buckets. FIND_AGAIN: growth has frozen them, or the entry has
 * just changed. Growth freezes the overflow word of the last bucket after all other words. Until
 * then, no session inserts a hash of this bucket into the larger table, so FIND_NONE is right.
 */
static inline int
index_look(const struct table *table, uint64_t hash, uint64_t tag, struct slot *slot)
{
	struct bucket *bucket = &table->buckets[hash & table->mask];

	moment_reached(MOMENT_TABLE);
	for (;;) {
		unsigned matches = bucket_matches(bucket, tag);

		if (__builtin_expect(matches != 0, 1)) {
			uint64_t *word = &bucket->words[__builtin_ctz(matches)];
			uint64_t entry = __atomic_load_n(word, __ATOMIC_ACQUIRE);
			bool is_it = (entry & ~ADDRESS_MASK) == tag;

			*slot = (struct slot){word, entry};
			return __builtin_expect(is_it, 1) ? FIND_HERE : FIND_AGAIN;
		}
		uint64_t overflow = __atomic_load_n(&bucket->overflow, __ATOMIC_ACQUIRE);
		if (__builtin_expect((overflow & ENTRY_FROZEN) != 0, 0))
			return FIND_AGAIN;
		if (__builtin_expect(overflow == 0, 1))
			break;
		bucket = overflow_of(table, overflow);
	}
	*slot = (struct slot){0};
	return FIND_NONE;
}

/** Find the entry of a hash. Sets slot->entry to 0 if it does not exist. */
static inline void
index_find(struct index *index, uint64_t hash, struct slot *slot)
{
	uint64_t tag = tag_of(index, hash);

	for (unsigned spins = 0;
		index_look(index_table(index, hash), hash, tag, slot) == FIND_AGAIN;)
		pause_a_little(&spins);
}

/** Set the address of the entry. False: another thread has changed the entry. */
static inline bool
index_update(struct slot *slot, uint64_t address)
{
	uint64_t entry = slot->entry;

	racy_meet();
	return __atomic_compare_exchange_n(slot->word, &entry,
		(entry & ~ADDRESS_MASK) | address >> ADDRESS_SHIFT, false, __ATOMIC_ACQ_REL,
		__ATOMIC_RELAXED);
}

enum { INSERT_DONE, INSERT_AGAIN, INSERT_NO_ROOM };

/**
 * Insert an entry for a tag that has none. Returns INSERT_*. INSERT_AGAIN: another thread was
 * faster; find the entry again.
 */
int
index_insert(struct index *index, uint64_t hash, uint64_t address);

/** Set or insert the entry of a hash. Returns INSERT_*. Only without other threads. */
int
index_set(struct index *index, uint64_t hash, uint64_t address);

/**
 * Remove the entries whose newest record is before `begin`. Returns the number of the others.
 * `slot`: the keeper's.
 */
uint64_t
index_clean(struct index *index, uint64_t begin, struct epoch_slot *slot);

/**
 * Copy the entries that point to [begin, end) as words: those of one bucket after the other, the
 * last word of a bucket with INDEX_LAST. A bucket without such entries is the word INDEX_LAST.
 * Calls `take` with each word until it returns false. Other sessions may use the index meanwhile,
 * but it must not grow. Returns the level of the table.
 *
 * `end`: all records before it are linked or invalid. So the function copies the entry of each
 * chain whose newest record is before `end`. Tentative entries point to later records.
 */
#define INDEX_LAST ENTRY_FROZEN
typedef bool (*index_take)(void *to, uint64_t word);
unsigned
index_copy(const struct index *index, uint64_t begin, uint64_t end, index_take take, void *to);

/**
 * Insert a copied entry of bucket `at` in a table of 2^level buckets, which had at most as many
 * as this one. False: no room. Only without other threads.
 */
bool
index_place(struct index *index, unsigned level, uint64_t at, uint64_t entry);

/** Report the numbers of buckets and of used overflow buckets. */
void
index_count(const struct index *index, uint64_t *buckets, uint64_t *overflows);

#endif /* FASTER_INDEX_H */
