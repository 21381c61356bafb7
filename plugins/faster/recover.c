/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recovery: read the log from its begin, and build the index.
 *
 * Seals divide the log. If the checksum of a seal is correct, the items that it covers are
 * undamaged. Recovery uses the log up to the last such seal that is a cut (log.h). A crash may
 * leave pages after that cut. Recovery drops them, and new pages overwrite them.
 *
 * The newest record of a key has the greatest address. So each record sets the entry of its chain,
 * in the order of the log. The chains through the records remain as they are. The new index is at
 * least as large as the old one, so each new chain is a part of an old one.
 */
#include "store.h"

struct scan {
	struct nb_db *db;
	unsigned char *buffer; /* a page, and the first block of the next one */
	uint64_t page, got;
	uint64_t start; /* end of the last valid seal */
	uint64_t number, opening;
	uint64_t cut, cut_number; /* end of the last cut; 0: none */
	uint64_t until;           /* only records before it go into the index */
	uint64_t entries;
	const char *why; /* reason for the end of the scan; NULL: it continues */
};

static const uint64_t *
item_at(const struct scan *scan, uint64_t address)
{
	return (const void *)(scan->buffer + (address - scan->page));
}

static int
index_records(struct scan *scan, uint64_t from, uint64_t to)
{
	for (uint64_t at = from; at < to; at += item_size(item_at(scan, at))) {
		const uint64_t *record = item_at(scan, at);
		uint64_t header = record[0];

		if (!is_record(header) || (header & HEADER_INVALID) != 0 || at >= scan->until)
			continue;
		uint64_t hash = record_key(record, header).hash;
		struct slot slot;
		index_find(&scan->db->index, hash, &slot);
		scan->entries += slot.entry == 0;
		int rc = index_set(&scan->db->index, hash, at);
		if (rc != INSERT_DONE)
			return scan->db->host->fail(NB_FAIL,
				"the index is too small for the log: give a larger index_size");
	}
	return NB_OK;
}

static bool
is_right(struct scan *scan, const struct seal *seal, uint64_t at)
{
	const void *bytes = item_at(scan, scan->start);

	if (seal->start != scan->start || seal->opening < scan->opening ||
		(scan->number != 0 && seal->number != scan->number))
		scan->why = "a seal of another time";
	else if (seal->checksum != seal_checksum(seal, bytes, (size_t)(at - scan->start)))
		scan->why = "a wrong checksum";
	return scan->why == NULL;
}

static void
accept(struct scan *scan, const struct seal *seal, uint64_t at)
{
	scan->start = at + SEAL_SIZE;
	scan->number = seal->number + 1;
	scan->opening = seal->opening;
	if (seal->is_cut != 0) {
		scan->cut = scan->start;
		scan->cut_number = scan->number;
	}
}

/* Find the next seal after the last one. False: the scan ends, and scan->why is set. */
static bool
next_seal(struct scan *scan, uint64_t *at)
{
	uint64_t end = scan->page + scan->db->log.page_size;

	for (*at = scan->start;;) {
		uint64_t left = scan->page + scan->got - *at;
		const uint64_t *item = item_at(scan, *at);

		if (*at > scan->page + scan->got || left < SEAL_SIZE)
			scan->why = "the end of the file";
		else if (item_size(item) == 0 || (*at < end && item_size(item) > end - *at))
			scan->why = "no record";
		else if (*at == end && (item[0] & HEADER_KIND) != HEADER_SEAL)
			scan->why = "no seal at the start of a page";
		if (scan->why != NULL)
			return false;
		if ((item[0] & HEADER_KIND) == HEADER_SEAL)
			return true;
		*at += item_size(item);
	}
}

/*
 * Read a page and the first block of the next one. The block contains the next seal. Because of
 * it, even a short filler at the end of the page passes the size check of next_seal().
 */
static int
read_page(struct scan *scan, uint64_t page)
{
	struct nb_db *db = scan->db;
	size_t got;
	int error = file_read(&db->file, scan->buffer,
		(size_t)db->log.page_size + db->file.block, page, &got);

	scan->page = page;
	scan->got = got;
	return error == 0 ? NB_OK
			  : db->host->fail(NB_FAIL, "a read of the log %s at %llu: %s",
				    db->file.path, (unsigned long long)page, strerror(error));
}

static int
scan_page(struct scan *scan)
{
	uint64_t end = scan->page + scan->db->log.page_size, at;
	int rc = NB_OK;

	while (rc == NB_OK && scan->start < end + SEAL_SIZE && next_seal(scan, &at)) {
		const struct seal *seal = (const void *)item_at(scan, at);
		uint64_t from = scan->start;

		if (!is_right(scan, seal, at))
			break;
		rc = index_records(scan, from, at);
		accept(scan, seal, at);
	}
	return rc;
}

/* Skip the seal at `begin`: it covers discarded items. */
static int
scan_log(struct scan *scan, uint64_t begin)
{
	uint64_t page_size = scan->db->log.page_size;
	int rc = read_page(scan, begin);

	scan->start = begin + SEAL_SIZE;
	if (rc == NB_OK && scan->got < SEAL_SIZE)
		scan->why = "the end of the file";
	while (rc == NB_OK && scan->why == NULL) {
		rc = scan_page(scan);
		if (rc == NB_OK && scan->why == NULL)
			rc = read_page(scan, scan->page + page_size);
	}
	return rc;
}

static int
scan_up_to(struct scan *scan, struct nb_db *db, uint64_t until)
{
	unsigned char *buffer = scan->buffer;

	*scan = (struct scan){.db = db, .buffer = buffer, .until = until};
	index_close(&db->index);
	int rc = index_open(&db->index, &db->log, db->meta.level, db->meta.tag_level);
	return rc == NB_OK ? scan_log(scan, db->meta.begin) : rc;
}

static int
check_end(struct scan *scan)
{
	struct nb_db *db = scan->db;
	const struct meta *meta = &db->meta;

	if ((meta->is_closed != 0 && scan->cut != meta->tail) ||
		(meta->begin != 0 && scan->cut == 0))
		return db->host->fail(NB_FAIL,
			"the log %s is damaged after byte %llu: %s; it was written up to byte %llu",
			db->file.path, (unsigned long long)scan->start, scan->why,
			(unsigned long long)meta->tail);
	return NB_OK;
}

int
recover(struct nb_db *db)
{
	struct scan scan = {.buffer = aligned_alloc(4096, (size_t)db->log.page_size + 4096)};
	int rc;

	if (scan.buffer == NULL)
		return db->host->fail(NB_FAIL, "out of memory");
	rc = scan_up_to(&scan, db, UINT64_MAX);
	if (rc == NB_OK)
		rc = check_end(&scan);
	if (rc == NB_OK && scan.start > scan.cut)
		rc = scan_up_to(&scan, db, scan.cut);
	if (rc == NB_OK)
		rc = log_resume(&db->log, db->meta.begin, scan.cut, scan.cut_number);
	db->closed.inserted_entries = scan.entries;
	free(scan.buffer);
	return rc;
}
