/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The log after its last valid cut, which an open drops.
 *
 * A crash leaves bytes there that no sync has completed: records without a cut, or pages without
 * earlier ones, because a device may store them in any order. The open drops them with a warning.
 * Damage of a synced part also ends the recovery at a cut. Then the open fails, because valid
 * records may follow. Three places state how far the log was synced:
 *
 * - meta: up to its `tail`, at the last open or close;
 * - the copy of the index: up to its end;
 * - the header of each seal: up to this address, when the seal was written.
 *
 * So a seal after the damage proves that the log before its address was synced. Its checksum cannot
 * be compared if the seal before it is damaged. Nothing states the last sync before a crash, unless
 * a seal follows it. Damage after the sync before that is reported as the end of the log.
 */
#include "store.h"

/* A seal of this log after the cut. Its members must be possible at this address. */
static bool
is_seal(const struct nb_db *db, const struct tail *tail, const struct seal *seal, uint64_t at)
{
	return (seal->header & ~ADDRESS_MASK) == (HEADER_LIVE | HEADER_SEAL) &&
		header_previous(seal->header) <= seal->start && seal->start <= at &&
		seal->number - tail->cut.seals <= (at - tail->cut.address) / SEAL_SIZE &&
		seal->opening <= db->meta.opening && seal->is_cut <= 1;
}

static void
look_at_page(struct tail *tail, const struct nb_db *db, const unsigned char *bytes, size_t size,
	uint64_t page)
{
	size_t from = tail->end > page ? (size_t)(tail->end - page) : 0;

	for (size_t i = from; i < size; i += sizeof(uint64_t)) {
		const struct seal *seal = (const void *)(bytes + i);

		if (seal->header == 0)
			continue;
		tail->end = page + i + sizeof(uint64_t);
		if (is_seal(db, tail, seal, page + i))
			tail_was_synced(
				tail, header_previous(seal->header), "a seal after that");
	}
}

static int
check_end(const struct tail *tail, const struct nb_db *db)
{
	uint64_t cut = tail->cut.address;
	bool is_whole = db->meta.is_closed != 0 ? cut == db->meta.tail : cut >= tail->synced;
	bool has_begin = cut >= db->meta.begin;

	if (has_begin && (is_whole || db->accepts_loss))
		return NB_OK;
	return db->host->fail(NB_FAIL,
		"the log %s is damaged after byte %llu: %s; it was synced up to byte %llu, as %s states: restore the database from a copy%s",
		db->file.path, (unsigned long long)tail->valid, tail->why,
		(unsigned long long)tail->synced, tail->witness,
		has_begin
			? ", or set accept_loss=yes to drop all records after the last valid cut"
			: "");
}

int
tail_read(struct tail *tail, struct nb_db *db, unsigned char *buffer)
{
	uint64_t page_size = db->log.page_size;
	size_t got = (size_t)page_size;

	tail->end = tail->valid > tail->cut.address ? tail->valid : tail->cut.address;
	for (uint64_t page = tail->end & ~(page_size - 1); got >= page_size;
		page += page_size) {
		int error = file_read(
			&db->file, buffer, (size_t)page_size + db->file.block, page, &got);
		if (error != 0)
			return db->host->fail(NB_FAIL, "a read of the log %s at %llu: %s",
				db->file.path, (unsigned long long)page, strerror(error));
		memset(buffer + got, 0, SEAL_SIZE);
		look_at_page(tail, db, buffer, got < page_size ? got : (size_t)page_size, page);
	}
	if (tail->end < tail->synced)
		tail->end = tail->synced;
	return check_end(tail, db);
}

/* A copy of the index has entries of the dropped records. */
static int
drop_copy(struct nb_db *db)
{
	char path[sizeof(db->path) + 16];

	db->index_start = 0;
	snprintf(path, sizeof(path), "%s/index", db->path);
	return unlink(path) == 0 || errno == ENOENT ? 0 : errno;
}

/*
 * The bytes must be removed durably before the first new write. Otherwise old seals may become
 * valid again: if the first new record begins with the same bytes as the old one, and the power
 * fails when only a block with these bytes has been written. The checksum of the next old seal is
 * then correct. Zeros in the last block may stay.
 */
int
tail_drop(const struct tail *tail, struct nb_db *db)
{
	uint64_t from = tail->cut.address;
	uint64_t end = tail->end > from ? from : block_ceiling(&db->file, from);
	bool is_lossy = from < tail->synced;
	bool is_synced = is_lossy || db->durability >= NB_DUR_PERIODIC;

	if (tail->end > from)
		db->host->log(NB_LOG_WARNING,
			"faster: the open drops %llu bytes of the log %s from byte %llu on, after its last valid cut; after byte %llu: %s",
			(unsigned long long)(tail->end - from), db->file.path,
			(unsigned long long)from, (unsigned long long)tail->valid, tail->why);
	int error = is_lossy ? drop_copy(db) : 0;
	if (error == 0)
		error = file_cut(&db->file, end, is_synced);
	if (error != 0)
		return db->host->fail(NB_FAIL, "cut the log %s to %llu bytes: %s",
			db->file.path, (unsigned long long)end, strerror(error));
	if (is_synced)
		db->log.durable = from;
	return NB_OK;
}
