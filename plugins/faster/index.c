/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hash index: inserts and growth. index.h contains the lookup.
 *
 * The index has no locks. A session waits for another one in two cases only: while the other
 * session splits the same bucket, and while it decides on a tentative entry.
 */
#include "index.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
	OVERFLOW_MIN = 1024,
	KEEPER_BUCKETS = 64, /* that the keeper processes in one epoch */
	TOUCH_BYTES = 4096   /* the smallest page */
};
enum { NOT_SPLIT, IN_WORK, IS_SPLIT };

/* ---- tables ---- */

/*
 * Reserves as many overflow buckets as buckets, at least OVERFLOW_MIN. Unused ones take no memory.
 */
static struct table *
table_new(const struct nb_host *host, unsigned level)
{
	struct table *table = calloc(1, sizeof(*table));
	uint64_t count = 1ull << level;

	if (table == NULL)
		goto no_memory;
	table->level = level;
	table->mask = count - 1;
	table->overflow_room = count > OVERFLOW_MIN ? count : OVERFLOW_MIN;
	table->mapped = (size_t)(count + table->overflow_room) * sizeof(struct bucket);
	table->buckets = mmap(NULL, table->mapped, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (table->buckets == MAP_FAILED)
		goto free_table;
	(void)madvise(table->buckets, (size_t)count * sizeof(struct bucket), MADV_HUGEPAGE);
	return table;

free_table:
	free(table);
no_memory:
	host->fail(NB_FAIL, "no memory for an index of 2^%u buckets", level);
	return NULL;
}

/*
 * Make the kernel provide all pages of the buckets. A split fills two buckets in two pages.
 * Without this, an operation took 10 ms while the kernel cleared two pages of 2 MiB.
 */
static void
table_touch(struct table *table)
{
	for (uint64_t i = 0; i <= table->mask; i += TOUCH_BYTES / sizeof(struct bucket))
		*(volatile uint64_t *)table->buckets[i].words = 0;
}

static void
table_delete(struct table *table)
{
	if (table == NULL)
		return;
	munmap(table->buckets, table->mapped);
	free(table->splits);
	free(table);
}

int
index_open(struct index *index, struct log *log, unsigned level, unsigned tag_level)
{
	*index = (struct index){.host = log->host, .log = log, .tag_level = tag_level};
	index->current = table_new(log->host, level);
	return index->current != NULL ? NB_OK : NB_FAIL;
}

void
index_close(struct index *index)
{
	table_delete(index->next);
	table_delete(index->current);
}

void
index_count(const struct index *index, uint64_t *buckets, uint64_t *overflows)
{
	const struct table *table = __atomic_load_n(&index->current, __ATOMIC_ACQUIRE);

	*buckets = table->mask + 1;
	*overflows = __atomic_load_n(&table->overflow_used, __ATOMIC_RELAXED);
}

/* ---- inserting ---- */

/* Append an overflow bucket to `last`. False: no room. */
static bool
add_overflow(struct table *table, struct bucket *last)
{
	uint64_t expected = 0;
	uint64_t number = __atomic_add_fetch(&table->overflow_used, 1, __ATOMIC_RELAXED);

	if (number > table->overflow_room) {
		__atomic_sub_fetch(&table->overflow_used, 1, __ATOMIC_RELAXED);
		return false;
	}
	/* If another session was faster, its bucket is used; this one remains unused. */
	(void)__atomic_compare_exchange_n(
		&last->overflow, &expected, number, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	return true;
}

/* A free word in a bucket or its overflow buckets. NULL: *why is INSERT_AGAIN or _NO_ROOM. */
static uint64_t *
find_free(struct table *table, uint64_t hash, int *why)
{
	struct bucket *bucket = &table->buckets[hash & table->mask];

	for (;;) {
		for (unsigned i = 0; i < BUCKET_ENTRIES; i++)
			if (__atomic_load_n(&bucket->words[i], __ATOMIC_ACQUIRE) == 0)
				return &bucket->words[i];
		uint64_t overflow = __atomic_load_n(&bucket->overflow, __ATOMIC_ACQUIRE);
		if ((overflow & ENTRY_FROZEN) != 0) {
			*why = INSERT_AGAIN;
			return NULL;
		}
		if (overflow == 0 && !add_overflow(table, bucket)) {
			*why = INSERT_NO_ROOM;
			return NULL;
		}
		if (overflow != 0)
			bucket = overflow_of(table, overflow);
	}
}

/*
 * Whether no other entry has the tag of this tentative entry. Of two tentative entries, the one at
 * the later place in the bucket gives way if it finds the other one. It may have searched before
 * the other one was there, and then it stays. So the one at the earlier place waits for its
 * decision.
 */
static bool
is_alone(struct table *table, uint64_t hash, const uint64_t *own, uint64_t tag)
{
	struct bucket *bucket = &table->buckets[hash & table->mask];
	bool is_later = false;
	unsigned spins = 0;

	while (bucket != NULL) {
		for (unsigned i = 0; i < BUCKET_ENTRIES;) {
			uint64_t entry = __atomic_load_n(&bucket->words[i], __ATOMIC_ACQUIRE);
			bool is_own = &bucket->words[i] == own;

			if (!is_own && (entry & ENTRY_TAG) == tag &&
				(entry & ADDRESS_MASK) != 0) {
				if (!is_later || (entry & ENTRY_TENTATIVE) == 0)
					return false;
				pause_a_little(&spins);
				continue;
			}
			is_later |= is_own;
			i++;
		}
		bucket = overflow_of(
			table, __atomic_load_n(&bucket->overflow, __ATOMIC_ACQUIRE));
	}
	return true;
}

/*
 * Wait until other sessions have decided on their tentative entries of this tag. An earlier retry
 * would only append one more useless record. The other sessions do not wait for this one, because
 * it has removed its tentative entry.
 */
static void
await_decision(struct table *table, uint64_t hash, uint64_t tag)
{
	struct bucket *bucket = &table->buckets[hash & table->mask];
	unsigned spins = 0;

	while (bucket != NULL) {
		for (unsigned i = 0; i < BUCKET_ENTRIES;) {
			uint64_t entry = __atomic_load_n(&bucket->words[i], __ATOMIC_ACQUIRE);

			if ((entry & (ENTRY_TAG | ENTRY_TENTATIVE)) == (tag | ENTRY_TENTATIVE))
				pause_a_little(&spins);
			else
				i++;
		}
		bucket = overflow_of(
			table, __atomic_load_n(&bucket->overflow, __ATOMIC_ACQUIRE));
	}
}

int
index_insert(struct index *index, uint64_t hash, uint64_t address)
{
	uint64_t tag = tag_of(index, hash), entry = tag | address >> ADDRESS_SHIFT;
	struct table *table = index_table(index, hash);
	int why = INSERT_AGAIN;
	uint64_t *word = find_free(table, hash, &why), expected = 0;

	if (word == NULL)
		return why;
	/* The exchange is a full fence: if two sessions insert, at least one sees the other. */
	if (!__atomic_compare_exchange_n(word, &expected, entry | ENTRY_TENTATIVE, false,
		    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return INSERT_AGAIN;
	moment_reached(MOMENT_TENTATIVE);
	bool is_first = is_alone(table, hash, word, tag);
	racy_meet();
	moment_reached(MOMENT_DECIDED);
	__atomic_store_n(word, is_first ? entry : 0, __ATOMIC_SEQ_CST);
	if (is_first)
		return INSERT_DONE;
	await_decision(table, hash, tag);
	return INSERT_AGAIN;
}

int
index_set(struct index *index, uint64_t hash, uint64_t address)
{
	struct slot slot;

	index_find(index, hash, &slot);
	if (slot.entry == 0)
		return index_insert(index, hash, address);
	index_update(&slot, address);
	return INSERT_DONE;
}

/* ---- growth ---- */

static uint64_t
freeze_word(uint64_t *word)
{
	uint64_t entry = __atomic_load_n(word, __ATOMIC_ACQUIRE);
	unsigned spins = 0;

	for (;;) {
		if ((entry & ENTRY_TENTATIVE) != 0) { /* its session will decide soon */
			pause_a_little(&spins);
			entry = __atomic_load_n(word, __ATOMIC_ACQUIRE);
			continue;
		}
		if (__atomic_compare_exchange_n(word, &entry, entry | ENTRY_FROZEN, false,
			    __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE))
			return entry;
	}
}

/*
 * The newest record in memory whose hash bit equals `side`, or else the address at which the chain
 * leaves memory. 0: none.
 */
static uint64_t
chain_of_side(const struct index *index, uint64_t address, unsigned bit, unsigned side)
{
	uint64_t head = log_read(&index->log->head), begin = log_read(&index->log->begin);

	while (address >= head && address != 0) {
		const uint64_t *record = log_at(index->log, address);
		uint64_t header = racy_load64(record);

		if ((record_key(record, header).hash >> bit & 1) == side)
			break;
		address = header_previous(header);
	}
	return address >= begin ? address : 0;
}

/* No other session reads the new bucket before the split ends. False: no room. */
static bool
copy_entry(struct table *to, uint64_t at, uint64_t entry)
{
	int why;
	uint64_t *word = find_free(to, at, &why);

	if (word == NULL)
		return false;
	__atomic_store_n(word, entry, __ATOMIC_RELEASE);
	return true;
}

/* Whether the tag contains this bit of the hash. */
static bool
tag_has(const struct index *index, unsigned bit)
{
	return bit >= index->tag_level && bit < index->tag_level + TAG_SPLITS;
}

static unsigned
side_in_tag(const struct index *index, uint64_t entry, unsigned bit)
{
	return entry >> (ADDRESS_BITS + bit - index->tag_level) & 1;
}

static bool
split_entry(const struct index *index, struct table *to, uint64_t at, uint64_t entry)
{
	unsigned bit = to->level - 1;
	bool is_in_tag = tag_has(index, bit), fits = true;

	if ((entry & ADDRESS_MASK) == 0)
		return true;
	for (unsigned side = 0; side < 2; side++) {
		uint64_t address = entry_address(entry);

		if (!is_in_tag)
			address = chain_of_side(index, address, bit, side);
		else if (side_in_tag(index, entry, bit) != side)
			continue;
		if (address != 0)
			fits &= copy_entry(to, at | (uint64_t)side << bit,
				(entry & ENTRY_TAG) | address >> ADDRESS_SHIFT);
	}
	return fits;
}

/*
 * The new table has enough room for the copies: it has twice as many buckets and overflow buckets
 * as the old one. Small tables both have OVERFLOW_MIN overflow buckets. But the tag contains the
 * hash bits by which they split, so each of their entries goes into one new bucket only.
 */
static void
split_bucket(struct index *index, struct table *from, struct table *to, uint64_t at)
{
	struct bucket *bucket = &from->buckets[at];

	moment_reached(MOMENT_SPLIT);
	while (bucket != NULL) {
		for (unsigned i = 0; i < BUCKET_ENTRIES; i++)
			(void)split_entry(index, to, at, freeze_word(&bucket->words[i]));
		bucket = overflow_of(from, freeze_word(&bucket->overflow));
	}
}

void
index_split(struct index *index, struct table *from, struct table *to, uint64_t hash)
{
	uint64_t at = hash & from->mask;
	uint8_t *state = &from->splits[at], expected = NOT_SPLIT;
	unsigned spins = 0;

	if (__atomic_load_n(state, __ATOMIC_ACQUIRE) == IS_SPLIT)
		return;
	if (__atomic_compare_exchange_n(
		    state, &expected, IN_WORK, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		split_bucket(index, from, to, at);
		__atomic_store_n(state, IS_SPLIT, __ATOMIC_RELEASE);
	}
	while (__atomic_load_n(state, __ATOMIC_ACQUIRE) != IS_SPLIT)
		pause_a_little(&spins);
}

int
index_grow(struct index *index, struct epoch_slot *slot)
{
	struct table *from = index->current;
	struct table *to = table_new(index->host, from->level + 1);

	if (to == NULL)
		return NB_FAIL;
	from->splits = calloc(from->mask + 1, 1);
	if (from->splits == NULL) {
		table_delete(to);
		return index->host->fail(NB_FAIL, "out of memory");
	}
	table_touch(to);
	__atomic_store_n(&index->next, to, __ATOMIC_RELEASE);
	moment_reached(MOMENT_GROWTH);
	for (uint64_t at = 0; at <= from->mask; at += KEEPER_BUCKETS) {
		epoch_enter(slot);
		for (uint64_t i = at; i < at + KEEPER_BUCKETS && i <= from->mask; i++)
			index_split(index, from, to, i);
		epoch_exit(slot);
	}
	__atomic_store_n(&index->current, to, __ATOMIC_RELEASE);
	__atomic_store_n(&index->next, NULL, __ATOMIC_RELEASE);
	moment_reached(MOMENT_GROWN);
	epochs_wait(index->log->epochs);
	table_delete(from);
	return NB_OK;
}

/* ---- after the begin of the log has moved ---- */

/* Returns the number of entries that remain. */
static unsigned
clean_bucket(struct table *table, struct bucket *bucket, uint64_t begin)
{
	unsigned left = 0;

	for (; bucket != NULL; bucket = overflow_of(table, bucket->overflow))
		for (unsigned i = 0; i < BUCKET_ENTRIES; i++) {
			uint64_t entry = __atomic_load_n(&bucket->words[i], __ATOMIC_ACQUIRE);

			if ((entry & ADDRESS_MASK) == 0)
				continue;
			if ((entry & (ENTRY_TENTATIVE | ENTRY_FROZEN)) != 0 ||
				entry_address(entry) >= begin ||
				!__atomic_compare_exchange_n(&bucket->words[i], &entry, 0,
					false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
				left++;
		}
	return left;
}

uint64_t
index_clean(struct index *index, uint64_t begin, struct epoch_slot *slot)
{
	struct table *table = index->current;
	uint64_t left = 0;

	for (uint64_t at = 0; at <= table->mask; at += KEEPER_BUCKETS) {
		epoch_enter(slot);
		for (uint64_t i = at; i < at + KEEPER_BUCKETS && i <= table->mask; i++)
			left += clean_bucket(table, &table->buckets[i], begin);
		epoch_exit(slot);
	}
	return left;
}

/* ---- copies in a file ---- */

unsigned
index_copy(const struct index *index, uint64_t begin, uint64_t end, index_take take, void *to)
{
	const struct table *table = index->current;
	bool goes_on = true;

	for (uint64_t at = 0; goes_on && at <= table->mask; at++) {
		const struct bucket *bucket = &table->buckets[at];
		uint64_t last = 0;

		while (bucket != NULL) {
			for (unsigned i = 0; i < BUCKET_ENTRIES; i++) {
				uint64_t entry = __atomic_load_n(
					&bucket->words[i], __ATOMIC_ACQUIRE);
				uint64_t address = entry_address(entry);

				if (address <= begin || address >= end)
					continue;
				if (last != 0)
					goes_on = goes_on && take(to, last);
				last = entry;
			}
			bucket = overflow_of(
				table, __atomic_load_n(&bucket->overflow, __ATOMIC_ACQUIRE));
		}
		goes_on = goes_on && take(to, last | INDEX_LAST);
	}
	return table->level;
}

/* A bit that the tag does not contain is unknown: both halves get the entry, as in a split. */
bool
index_place(struct index *index, unsigned level, uint64_t at, uint64_t entry)
{
	bool fits = true;

	if (level == index->current->level)
		return copy_entry(index->current, at, entry);
	for (unsigned side = 0; side < 2; side++)
		if (!tag_has(index, level) || side_in_tag(index, entry, level) == side)
			fits &= index_place(
				index, level + 1, at | (uint64_t)side << level, entry);
	return fits;
}
