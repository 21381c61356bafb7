/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FASTER_INDEX_H
#define FASTER_INDEX_H
/**
 * The hash index: from a hash to the newest record of a chain.
 *
 * A table has 2^level buckets, each a cache line of seven entries and a link to an overflow
 * bucket. An entry is a word: the address, a tag of 20 bits, and two flags. At most one
 * entry of a bucket has a tag, so all keys that agree in bucket and tag share a chain, which
 * goes on through the records. The keys themselves are only in the log.
 *
 * An entry appears in two steps, as in FASTER: with the flag TENTATIVE, which readers ignore,
 * then without it if no other entry has the same tag. It changes by compare-and-swap alone.
 *
 * Growth. A table of twice the size is made; each bucket is then split by the first operation
 * that comes to it, or by the keeper, the thread that has begun. It sets the flag FROZEN on all
 * words of the bucket, which makes every compare-and-swap on them fail, copies them, and marks
 * the bucket as split. Whoever meets FROZEN begins again, in the larger table.
 *
 * Six bits of the tag are those by which the first six doublings split, so that these need not
 * read any record. Later ones look at the records in memory; a chain that begins on storage goes
 * into both new buckets.
 *
 * Within an epoch, all of it, but for index_open, index_close and index_grow.
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
	RECORDS_A_BUCKET = 3 /* more on average: the table is doubled */
};
#define ENTRY_TAG (((1ull << TAG_BITS) - 1) << ADDRESS_BITS)
#define ENTRY_TENTATIVE (1ull << 62)
#define ENTRY_FROZEN (1ull << 63)

struct bucket {
	uint64_t words[BUCKET_ENTRIES];
	uint64_t overflow; /* 0, or number of an overflow bucket + 1; and ENTRY_FROZEN */
} __attribute__((aligned(64)));

struct table {
	struct bucket *buckets; /* then the overflow buckets */
	uint64_t mask;
	unsigned level;
	uint64_t overflow_used, overflow_room;
	size_t mapped;
	uint8_t *splits; /* of each bucket, while a larger table is filled */
};

struct index {
	struct table *current, *next; /* next: it is being filled */
	unsigned tag_level;           /* of the first of the bits by which it is split */
	const struct nb_host *host;
	struct log *log;
};

/** Where an entry is, and as it was read. */
struct slot {
	uint64_t *word;
	uint64_t entry; /* 0: it is not there, and `word` not set */
};

int
index_open(struct index *index, struct log *log, unsigned level, unsigned tag_level);

void
index_close(struct index *index);

/** Double the table. `slot` is the keeper's. Sessions go on. */
int
index_grow(struct index *index, struct epoch_slot *slot);

/** 19 bits of the hash, and a bit that is always 1, because the tag 0 means a free word. */
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

/** Split the bucket of this hash, or wait for the session that does. */
void
index_split(struct index *index, struct table *from, struct table *to, uint64_t hash);

/** The table in which a hash is now. */
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
 * Which words of a bucket have this tag: a bit each. The place of an entry cannot be predicted, and
 * a wrong guess would be known only when the bucket has come from memory. All that the processor
 * has begun meanwhile, such as the next operation, would be lost. So it compares without branches.
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
 * Look in the chain of a bucket. FIND_AGAIN: it is frozen, or has just changed. The overflow word
 * is frozen last: as long as it is not, no entry has come into the larger table.
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

/** The entry of a hash, or slot->entry 0. */
static inline void
index_find(struct index *index, uint64_t hash, struct slot *slot)
{
	uint64_t tag = tag_of(index, hash);

	for (unsigned spins = 0;
		index_look(index_table(index, hash), hash, tag, slot) == FIND_AGAIN;)
		pause_a_little(&spins);
}

/** Let the entry name a newer record. False: it has changed. */
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

/** An entry for a tag that has none. INSERT_AGAIN: it has one by now. */
int
index_insert(struct index *index, uint64_t hash, uint64_t address);

/** Without other threads: let the entry of this hash name the record, or make one. */
int
index_set(struct index *index, uint64_t hash, uint64_t address);

/** Remove entries whose chains end before `begin`. */
void
index_clean(struct index *index, uint64_t begin, struct epoch_slot *slot);

/** The buckets, and the overflow buckets in use, of the table. */
void
index_count(const struct index *index, uint64_t *buckets, uint64_t *overflows);

#endif /* FASTER_INDEX_H */
