/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compaction, by the keeper. It searches the oldest pages for records that are still the newest of
 * their key, and appends copies of them. Then the log begins after these pages.
 *
 * The keeper links a copy with the same compare-and-swap as a session. The entry has changed if a
 * session has linked a newer record to the chain. The keeper then checks the old record again.
 * It does not copy tombstones: the records that a tombstone hides are older than it, so compaction
 * discards them, too.
 *
 * The keeper flushes and syncs the copies, then stores the new `begin`, and then gives the old
 * pages back. So after a crash, the log contains the old records, the copies, or both.
 */
#include "store.h"

/* The state of one compaction. */
struct compaction {
	struct nb_db *db;
	unsigned char *page, *hop; /* buffers of a page each */
	uint64_t kept;             /* bytes of copied records */
};

/* ---- is a record the newest of its key? ---- */

static const uint64_t *
read_record(struct compaction *compaction, uint64_t address)
{
	struct nb_db *db = compaction->db;
	uint64_t page = address & ~(db->log.page_size - 1);
	size_t got;
	int error = file_read(
		&db->file, compaction->hop, (size_t)db->log.page_size, page, &got);
	const uint64_t *record = (const void *)(compaction->hop + (address - page));

	if (error != 0 || got < address - page + SIZED_HEAD || !is_record(record[0]) ||
		got < address - page + item_size(record)) {
		db->host->fail(NB_FAIL, "the log %s cannot be compacted: no record at %llu: %s",
			db->file.path, (unsigned long long)address,
			error != 0 ? strerror(error) : "it is damaged");
		return NULL;
	}
	return record;
}

enum { NEWEST, OLDER, UNKNOWN };

/* Follow the part of a chain on storage, from `from` to the record at `address`. */
static int
look_on_storage(
	struct compaction *compaction, uint64_t from, uint64_t address, const struct key *key)
{
	while (from > address) {
		const uint64_t *record = read_record(compaction, from);

		if (record == NULL)
			return UNKNOWN;
		if (record_has_key(record, record[0], key))
			return OLDER;
		from = header_previous(record[0]);
	}
	return from == address ? NEWEST : OLDER;
}

/* Follow the part of a chain in memory. Sets *from to the address at which it leaves memory. */
static int
look_in_memory(struct nb_db *db, uint64_t address, const struct key *key, struct slot *slot,
	uint64_t *from)
{
	int answer = NEWEST;

	epoch_enter(db->keeper_epoch);
	index_find(&db->index, key->hash, slot);
	uint64_t head = log_read(&db->log.head);
	*from = entry_address(slot->entry);
	while (*from > head && *from > address && answer == NEWEST) {
		const uint64_t *record = log_at(&db->log, *from);
		uint64_t header = __atomic_load_n(record, __ATOMIC_ACQUIRE);

		if (record_has_key(record, header, key))
			answer = OLDER;
		*from = header_previous(header);
	}
	epoch_exit(db->keeper_epoch);
	return answer;
}

/* ---- copying ---- */

/*
 * Append a copy of the record and link it in front of its chain. The entry of the chain must still
 * have the address of `seen`. Returns NB_OK, OP_AGAIN, OP_ROOM or a failure.
 */
static int
link_copy(struct nb_db *db, const uint64_t *record, const struct key *key, uint64_t seen)
{
	size_t size = item_size(record);
	struct slot slot;
	int rc = OP_AGAIN;

	epoch_enter(db->keeper_epoch);
	index_find(&db->index, key->hash, &slot);
	uint64_t address = 0;
	if (slot.entry != 0 && (slot.entry & ADDRESS_MASK) == (seen & ADDRESS_MASK)) {
		address = log_allocate_anyway(&db->log, size);
		rc = address == LOG_WAIT ? OP_ROOM : NB_OK;
		if (address == LOG_FULL)
			rc = db->host->fail(NB_FAIL, "the log has used all of its addresses");
	}
	if (rc == NB_OK) {
		uint64_t *copy = log_at(&db->log, address);
		memcpy(copy + 1, record + 1, size - sizeof(*copy));
		racy_store64(
			copy, header_of(record[0] & HEADER_KIND, entry_address(slot.entry)));
		moment_reached(MOMENT_COPIED);
		if (!index_update(&slot, address)) {
			__atomic_fetch_or(copy, HEADER_INVALID, __ATOMIC_RELEASE);
			rc = OP_AGAIN;
		}
	}
	epoch_exit(db->keeper_epoch);
	return rc;
}

static int
keep_record(struct compaction *compaction, const uint64_t *record, uint64_t address)
{
	struct nb_db *db = compaction->db;
	struct key key = record_key(record, record[0]);
	int rc = OP_AGAIN;

	while (rc >= OP_AGAIN) {
		struct slot slot;
		uint64_t from;
		int answer = look_in_memory(db, address, &key, &slot, &from);

		if (answer == NEWEST)
			answer = look_on_storage(compaction, from, address, &key);
		if (answer != NEWEST)
			return answer == OLDER ? NB_OK : NB_FAIL;
		moment_reached(MOMENT_COPY);
		if ((record[0] & HEADER_TOMBSTONE) != 0)
			return NB_OK;
		rc = link_copy(db, record, &key, slot.entry);
		if (rc == OP_ROOM && log_wait_for_room(&db->log) != NB_OK)
			return NB_FAIL;
	}
	compaction->kept += item_size(record);
	return rc;
}

static int
keep_page(struct compaction *compaction, uint64_t page)
{
	struct nb_db *db = compaction->db;
	size_t got;
	int rc = NB_OK,
	    error = file_read(
		    &db->file, compaction->page, (size_t)db->log.page_size, page, &got);

	if (error != 0 || got < db->log.page_size)
		return db->host->fail(NB_FAIL, "a read of the log %s at %llu: %s",
			db->file.path, (unsigned long long)page,
			error != 0 ? strerror(error) : "the file ends before it");
	for (size_t at = SEAL_SIZE; rc == NB_OK && at < got;) {
		const uint64_t *item = (const void *)(compaction->page + at);
		size_t size = item_size(item);

		if (size == 0 || size > got - at)
			return db->host->fail(NB_FAIL, "the log %s is damaged at %llu",
				db->file.path, (unsigned long long)(page + at));
		if (is_record(item[0]) && (item[0] & HEADER_INVALID) == 0)
			rc = keep_record(compaction, item, page + at);
		at += size;
	}
	return rc;
}

/*
 * Remove the entries of discarded records. The number of entries is an estimate: a growth of the
 * index may have made two of one, and sessions insert others meanwhile.
 */
static void
clean_index(struct nb_db *db, uint64_t begin)
{
	struct counts sum;

	keeper_sum(db, &sum);
	uint64_t left = index_clean(&db->index, begin, db->keeper_epoch);
	if (left < sum.entries)
		__atomic_add_fetch(&db->removed_entries, sum.entries - left, __ATOMIC_RELEASE);
}

/* Sync the copies, store the new begin, and discard the old pages. */
static int
begin_at(struct nb_db *db, uint64_t begin)
{
	struct meta meta = db->meta;
	int rc = log_flush(&db->log, true);

	meta.begin = begin;
	if (rc == NB_OK)
		rc = meta_write(&meta, db->host, db->path, true);
	if (rc != NB_OK)
		return rc;
	db->meta = meta;
	log_truncate(&db->log, begin);
	clean_index(db, begin);
	return NB_OK;
}

int
compact(struct nb_db *db, uint64_t until, uint64_t *freed)
{
	struct compaction compaction = {.db = db,
		.page = aligned_alloc(4096, (size_t)db->log.page_size),
		.hop = aligned_alloc(4096, (size_t)db->log.page_size)};
	uint64_t begin = db->meta.begin;
	int rc = NB_OK;

	*freed = 0;
	if (compaction.page == NULL || compaction.hop == NULL)
		rc = db->host->fail(NB_FAIL, "out of memory");
	for (uint64_t page = begin; rc == NB_OK && page < until; page += db->log.page_size)
		rc = keep_page(&compaction, page);
	if (rc == NB_OK && until > begin)
		rc = begin_at(db, until);
	if (rc == NB_OK && until - begin > compaction.kept)
		*freed = until - begin - compaction.kept;
	free(compaction.page);
	free(compaction.hop);
	return rc;
}
