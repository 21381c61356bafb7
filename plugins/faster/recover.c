/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recovery: build the index from its copy (checkpoint.c) and the log after the start of the copy,
 * or else from the whole log.
 *
 * Seals divide the log. If the checksum of a seal is correct, the items that it covers are
 * undamaged. Recovery uses the log up to the last such seal that is a cut (log.h), and drops the
 * rest (tail.c).
 *
 * The newest record of a key has the greatest address. So each record sets the entry of its chain,
 * in the order of the log. The chains through the records remain as they are. The new index is at
 * least as large as the old one, so each new chain is a part of an old one.
 *
 * A copy of the index is used only if the log contains the seal at the end of the copy, and all
 * checksums are correct: those of the copy, and those of the log after the start of the copy.
 * Otherwise the whole log is read. The log before the copy is not read, except for the pages that
 * stay in memory; its checksums are not compared.
 */
#include "store.h"

#include "index_file.h"

struct scan {
	struct nb_db *db;
	unsigned char *buffer; /* a page, the first block of the next one, and a seal */
	uint64_t page, got;
	uint64_t start; /* end of the last valid seal */
	uint64_t number, opening, checksum;
	struct cut cut; /* the last one; address 0: none */
	uint64_t until; /* only records before it go into the index */
	uint64_t entries;
	const char *why; /* reason for the end of the scan; NULL: it continues */
	bool has_end;    /* a seal is the one at the end of the copy */
};

/* The source of a new index: the whole log, or a copy of the index and the log after it. */
struct source {
	uint64_t seal;    /* address of the seal at which the scan begins */
	const char *copy; /* path; NULL: none */
	struct index_head head;
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
		seal->number != scan->number)
		scan->why = "a seal of another time";
	else if (seal->checksum !=
		seal_checksum(seal, bytes, (size_t)(at - scan->start), scan->checksum))
		scan->why = "a wrong checksum";
	return scan->why == NULL;
}

static void
accept(struct scan *scan, const struct seal *seal, uint64_t at, const struct index_head *copy)
{
	scan->start = at + SEAL_SIZE;
	scan->number = seal->number + 1;
	scan->opening = seal->opening;
	scan->checksum = seal->checksum;
	scan->has_end |= scan->start == copy->end && seal->checksum == copy->end_checksum;
	if (seal->is_cut != 0)
		scan->cut = (struct cut){scan->start, scan->checksum, scan->number};
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
scan_page(struct scan *scan, const struct index_head *copy)
{
	uint64_t end = scan->page + scan->db->log.page_size, at;
	int rc = NB_OK;

	while (rc == NB_OK && scan->start < end + SEAL_SIZE && next_seal(scan, &at)) {
		const struct seal *seal = (const void *)item_at(scan, at);
		uint64_t from = scan->start;

		if (!is_right(scan, seal, at))
			break;
		rc = index_records(scan, from, at);
		accept(scan, seal, at, copy);
	}
	return rc;
}

/*
 * Read the page of the first seal. It covers discarded items, or items that the copy of the index
 * contains.
 */
static int
begin_scan(struct scan *scan, const struct source *source)
{
	uint64_t at = source->seal;
	int rc = read_page(scan, at & ~(scan->db->log.page_size - 1));

	if (rc != NB_OK)
		return rc;
	const struct seal *seal = (const void *)item_at(scan, at);
	scan->start = at;
	if (scan->got < at + SEAL_SIZE - scan->page)
		scan->why = "the end of the file";
	else if ((seal->header & HEADER_LIVE) == 0 ||
		(seal->header & HEADER_KIND) != HEADER_SEAL)
		scan->why = "no seal at the begin";
	if (scan->why != NULL)
		return NB_OK;
	accept(scan, seal, at, &source->head);
	if (source->copy == NULL)
		scan->cut = (struct cut){0};
	return NB_OK;
}

static int
scan_log(struct scan *scan, const struct source *source)
{
	uint64_t page_size = scan->db->log.page_size;
	int rc = begin_scan(scan, source);

	while (rc == NB_OK && scan->why == NULL) {
		rc = scan_page(scan, &source->head);
		if (rc == NB_OK && scan->why == NULL)
			rc = read_page(scan, scan->page + page_size);
	}
	return rc;
}

/* ---- the copy of the index ---- */

/* Place the words of a chunk. *bucket is the bucket of the next word. */
static bool
place_chunk(struct scan *scan, const struct source *source, const struct index_file *file,
	uint64_t *bucket)
{
	for (size_t i = 1; i <= file->count; i++) {
		uint64_t word = file->chunk[i], entry = word & ~INDEX_LAST;

		if (*bucket >> source->head.level != 0)
			return false;
		if (entry_address(entry) > scan->db->meta.begin) {
			if (!index_place(&scan->db->index, source->head.level, *bucket, entry))
				return false;
			scan->entries++;
		}
		*bucket += (word & INDEX_LAST) != 0;
	}
	return true;
}

static int
load_copy(struct scan *scan, const struct source *source)
{
	struct index_head head;
	struct index_file file;
	uint64_t bucket = 0;
	int error = index_file_open(&file, source->copy, &head);

	if (error != 0)
		return error;
	do {
		error = index_file_read(&file, &source->head);
		if (error == 0 && !place_chunk(scan, source, &file, &bucket))
			error = EBADMSG;
	} while (error == 0 && file.count != 0);
	index_file_close(&file);
	return error == 0 && bucket != 1ull << source->head.level ? EBADMSG : error;
}

static const char *
reason_of(int error)
{
	return error == EBADMSG ? "it is damaged" : strerror(error);
}

/* ---- both ---- */

/* If the copy of the index cannot be loaded, scan->why is set, and the log is not read. */
static int
scan_up_to(struct scan *scan, struct nb_db *db, const struct source *source, uint64_t until)
{
	unsigned char *buffer = scan->buffer;
	int error = 0;

	*scan = (struct scan){.db = db, .buffer = buffer, .until = until};
	index_close(&db->index);
	int rc = index_open(&db->index, &db->log, db->meta.level, db->meta.tag_level);
	if (rc == NB_OK && source->copy != NULL)
		error = load_copy(scan, source);
	db->loaded_entries = scan->entries;
	if (error != 0)
		scan->why = reason_of(error);
	return rc == NB_OK && error == 0 ? scan_log(scan, source) : rc;
}

/* Build the index up to the last cut. */
static int
rebuild(struct scan *scan, struct nb_db *db, const struct source *source)
{
	int rc = scan_up_to(scan, db, source, UINT64_MAX);

	if (rc == NB_OK && scan->start > scan->cut.address &&
		(source->copy == NULL || scan->has_end))
		rc = scan_up_to(scan, db, source, scan->cut.address);
	db->replayed_bytes = scan->start > source->seal ? scan->start - source->seal : 0;
	return rc;
}

/* The reason why a copy does not belong to this database. NULL: it may. */
static const char *
mismatch(const struct nb_db *db, const struct index_head *head)
{
	const struct meta *meta = &db->meta;
	bool is_possible = head->tag_level == meta->tag_level && head->level <= meta->level &&
		head->start > SEAL_SIZE && head->start % 8 == 0 && head->start <= head->end;

	return is_possible ? NULL : "it is of another database";
}

/*
 * False: the whole log is needed. A compaction may have discarded the start of the copy; then the
 * log after it contains the newest record of every key. In both cases, a copy that may belong to
 * the log states in *tail how far the log was synced.
 */
static bool
recover_from_copy(struct scan *scan, struct nb_db *db, struct tail *tail)
{
	char path[sizeof(db->path) + 16];
	struct source source = {.copy = path};
	struct index_file file;

	snprintf(path, sizeof(path), "%s/index.new", db->path);
	(void)unlink(path); /* of a checkpoint that a crash has interrupted */
	snprintf(path, sizeof(path), "%s/index", db->path);
	int error = index_file_open(&file, path, &source.head);
	if (error == ENOENT)
		return false;
	const char *why = error != 0 ? reason_of(error) : mismatch(db, &source.head);
	if (error == 0)
		index_file_close(&file);
	if (why == NULL && db->meta.is_closed == 0)
		tail_was_synced(tail, source.head.end, "the copy of its index");
	if (db->index_files == INDEX_NO)
		return false;
	if (why == NULL) {
		if (source.head.start <= db->meta.begin + SEAL_SIZE)
			return false;
		source.seal = source.head.start - SEAL_SIZE;
		int rc = rebuild(scan, db, &source);
		if (rc == NB_OK && scan->has_end && scan->cut.address >= db->meta.tail) {
			db->index_start = source.head.start;
			return true;
		}
		why = rc != NB_OK          ? "it or the log could not be read"
			: scan->start == 0 ? scan->why
			: !scan->has_end   ? "the log does not contain its end"
					   : "the log is damaged after it";
	}
	db->host->log(NB_LOG_WARNING,
		"faster: the open reads the whole log, because the checkpoint %s cannot be used: %s",
		path, why);
	return false;
}

int
recover(struct nb_db *db)
{
	struct scan scan = {.buffer = aligned_alloc(4096, (size_t)db->log.page_size + 8192)};
	const struct source whole = {.seal = db->meta.begin};
	struct tail tail = {0};
	bool is_new = db->meta.opening == 0; /* its log may identify the database (file_make) */
	int rc = NB_OK;

	if (scan.buffer == NULL)
		return db->host->fail(NB_FAIL, "out of memory");
	tail_was_synced(&tail, db->meta.begin, "meta");
	tail_was_synced(&tail, db->meta.tail, "meta");
	if (!recover_from_copy(&scan, db, &tail))
		rc = rebuild(&scan, db, &whole);
	tail.cut = scan.cut;
	tail.valid = scan.start;
	tail.why = scan.why;
	if (rc == NB_OK && !is_new)
		rc = tail_read(&tail, db, scan.buffer);
	if (rc == NB_OK)
		rc = log_resume(&db->log, db->meta.begin, &scan.cut);
	if (rc == NB_OK && !is_new)
		rc = tail_drop(&tail, db);
	db->closed.entries = scan.entries;
	free(scan.buffer);
	return rc;
}
