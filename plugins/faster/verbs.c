/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attempts of get, put, insert, merge and delete in memory, and their continuation after a read
 * of storage.
 *
 * The action of a verb depends on the region of the newest record of the key:
 *
 *              mutable      fuzzy              immutable         on storage
 *   get        read         read               read              read storage
 *   put        in place     append             append            append
 *   merge      in place     wait until it is   append the sum    read storage, append the sum
 *                           immutable
 *   insert     exists       exists             exists            read storage, append if deleted
 *   delete     in place     append tombstone   append tombstone  append tombstone
 *
 * A put whose value has another size always appends a record. Other sessions may change the old
 * record at the same time. This is correct: they found it before the new record was linked, so
 * their changes come before the put. A merge cannot append a sum then, because the sum would miss
 * later additions to the old record. So it appends a sum only if the old record is immutable.
 * A mutable record gets one atomic addition.
 *
 * A session first reads the entry, then allocates the record after the address in it. It links the
 * record only if the entry has not changed. So addresses grow along every chain, and the newest
 * record of a key has the greatest address. Recovery relies only on that.
 */
#include "look.h"

/* Store the end of the record: a write may have to wait for its flush. */
static inline void
note_written(struct op *op, uint64_t address, size_t size)
{
	op->flush_to = address + size;
}

/* ---- appending ---- */

static inline int
of_allocation(struct nb_session *session, struct op *op, uint64_t address)
{
	if (address != LOG_TOO_LONG)
		return address == LOG_WAIT ? OP_ROOM : OP_FULL;
	op->error = "the record does not fit into a page of the log: give a larger page_size";
	return session->db->host->fail(NB_FAIL, "%s", op->error);
}

/* Wake the keeper after every ENTRIES_A_LOOK entries of a session: the index may have to grow. */
static inline void
count_entry(struct nb_session *session)
{
	enum { ENTRIES_A_LOOK = 256 };

	count_one(&session->counts.entries);
	if (__builtin_expect(session->counts.entries % ENTRIES_A_LOOK == 0, 0))
		keeper_ask(session->db);
}

/* Append a record and link it in front of the chain. Returns NB_OK, OP_* or a failure. */
static inline int
append(struct nb_session *session, struct op *op, struct slot *slot, struct nb_slice value,
	uint64_t flags)
{
	size_t size = record_size(op->key.size, value.size);
	uint64_t previous = entry_address(slot->entry);
	uint64_t address = log_allocate_in(session->log, &session->chunk, size, previous);

	if (__builtin_expect(address <= LOG_TOO_LONG, 0))
		return of_allocation(session, op, address);
	uint64_t *record = log_at(session->log, address);
	record_write(record, &op->key, value.data, value.size, previous, flags);
	moment_reached(MOMENT_LINK);
	int rc = INSERT_DONE;
	if (slot->entry == 0) {
		rc = index_insert(session->index, op->key.hash, address);
		if (rc == INSERT_DONE)
			count_entry(session);
	} else if (!index_update(slot, address)) {
		rc = INSERT_AGAIN;
	}
	if (__builtin_expect(rc != INSERT_DONE, 0)) {
		__atomic_fetch_or(&record[0], HEADER_INVALID, __ATOMIC_RELEASE);
		count_one(&session->counts.retries);
		return rc == INSERT_NO_ROOM ? OP_INDEX : OP_AGAIN;
	}
	count_one(&session->counts.appended);
	note_written(op, address, size);
	return NB_OK;
}

static inline int
append_tombstone(struct nb_session *session, struct op *op, struct slot *slot)
{
	static const uint64_t zero;
	int rc = append(session, op, slot, (struct nb_slice){&zero, op->key.size == 8 ? 8 : 0},
		HEADER_TOMBSTONE);

	if (rc == NB_OK)
		count_one(&session->counts.tombstones);
	return rc;
}

static int
refuse_sum(struct nb_session *session, struct op *op, size_t size)
{
	op->error = "merge: the value does not have the 8 bytes that an addition needs";
	return session->db->host->fail(
		NB_FAIL, "merge: the value has %zu bytes; an addition needs 8", size);
}

static inline int
append_sum(struct nb_session *session, struct op *op, struct slot *slot, uint64_t old)
{
	uint64_t sum = old + op->operand;
	return append(session, op, slot, (struct nb_slice){&sum, sizeof(sum)}, 0);
}

/* ---- the record is in memory ---- */

static inline int
take_value(struct nb_session *session, struct op *op, const uint64_t *record, uint64_t header)
{
	size_t size = record_value_size(record, header);

	if ((header & HEADER_TOMBSTONE) != 0)
		return NB_NOT_FOUND;
	if (__builtin_expect(size == sizeof(op->word), 1)) {
		record_load(record, header, &op->word, sizeof(op->word));
		op->found = (struct nb_slice){&op->word, sizeof(op->word)};
		return NB_OK;
	}
	if (!buffer_reserve(op->to, op->to->size + size)) {
		op->error = "out of memory";
		return session->db->host->fail(NB_FAIL, "out of memory");
	}
	record_load(record, header, op->to->data + op->to->size, size);
	op->found = (struct nb_slice){op->to->data + op->to->size, size};
	return NB_OK;
}

static inline bool
can_hold(const struct place *place, size_t key_size, size_t value_size)
{
	bool is_same = record_value_size(place->record, place->header) == value_size;
	bool kind = (place->header & HEADER_KIND) == HEADER_SMALL;

	return is_same && kind == is_small(key_size, value_size) &&
		(place->header & HEADER_TOMBSTONE) == 0;
}

static inline int
put_here(
	struct nb_session *session, struct op *op, struct place *place, const struct view *view)
{
	if (!is_mutable(view, place->address) || !can_hold(place, op->key.size, op->value.size))
		return append(session, op, &place->slot, op->value, 0);
	moment_reached(MOMENT_STORE);
	record_store(place->record, place->header, op->value.data, op->value.size);
	count_one(&session->counts.in_place);
	note_written(op, place->address, record_size(op->key.size, op->value.size));
	return NB_OK;
}

static inline int
merge_here(
	struct nb_session *session, struct op *op, struct place *place, const struct view *view)
{
	uint64_t old = 0;

	if ((place->header & HEADER_TOMBSTONE) != 0)
		return append_sum(session, op, &place->slot, 0);
	if (record_value_size(place->record, place->header) != sizeof(old))
		return refuse_sum(session, op, record_value_size(place->record, place->header));
	if (is_mutable(view, place->address)) {
		moment_reached(MOMENT_STORE);
		record_add(place->record, place->header, op->operand);
		count_one(&session->counts.in_place);
		note_written(op, place->address, record_size(op->key.size, sizeof(old)));
		return NB_OK;
	}
	if (place->address >= view->safe_read_only) {
		op->at = place->address;
		count_one(&session->counts.fuzzy_waits);
		return OP_FUZZY;
	}
	record_load(place->record, place->header, &old, sizeof(old));
	count_one(&session->counts.copied);
	return append_sum(session, op, &place->slot, old);
}

static inline int
delete_here(
	struct nb_session *session, struct op *op, struct place *place, const struct view *view)
{
	if ((place->header & HEADER_TOMBSTONE) != 0)
		return NB_NOT_FOUND;
	if (!is_mutable(view, place->address))
		return append_tombstone(session, op, &place->slot);
	moment_reached(MOMENT_STORE);
	uint64_t old = __atomic_fetch_or(place->record, HEADER_TOMBSTONE, __ATOMIC_ACQ_REL);
	note_written(op, place->address,
		record_size(op->key.size, record_value_size(place->record, place->header)));
	return (old & HEADER_TOMBSTONE) != 0 ? NB_NOT_FOUND : NB_OK;
}

static inline int
on_storage(const struct nb_session *session, struct op *op, const struct place *place)
{
	op->entry = place->slot.entry;
	op->at = place->address;
	op->wanted = (size_t)session->db->record_guess;
	return OP_READ;
}

/* ---- attempts, inside an epoch ---- */

static inline __attribute__((always_inline)) int
try_verb(struct nb_session *session, struct op *op, uint32_t verb)
{
	struct view view;
	struct place place = {0};

	look_at_regions(session->log, &view);
	index_find(session->index, op->key.hash, &place.slot);
	int where = follow(session->log, &view, &op->key, &place);
	switch (verb) {
	case NB_REQ_GET:
		return where == PLACE_HERE ? take_value(session, op, place.record, place.header)
			: where == PLACE_ABSENT ? NB_NOT_FOUND
						: on_storage(session, op, &place);
	case NB_REQ_PUT:
		return where == PLACE_HERE ? put_here(session, op, &place, &view)
					   : append(session, op, &place.slot, op->value, 0);
	case NB_REQ_INSERT:
		if (where == PLACE_ON_STORAGE)
			return on_storage(session, op, &place);
		return where == PLACE_HERE && (place.header & HEADER_TOMBSTONE) == 0
			? NB_EXISTS
			: append(session, op, &place.slot, op->value, 0);
	case NB_REQ_MERGE:
		if (where == PLACE_ON_STORAGE)
			return on_storage(session, op, &place);
		return where == PLACE_HERE ? merge_here(session, op, &place, &view)
					   : append_sum(session, op, &place.slot, 0);
	default:
		if (where == PLACE_HERE)
			return delete_here(session, op, &place, &view);
		return where == PLACE_ABSENT ? NB_NOT_FOUND
					     : append_tombstone(session, op, &place.slot);
	}
}

static inline __attribute__((always_inline)) int
try_in_epoch(struct nb_session *session, struct op *op, uint32_t verb)
{
	unsigned spins = 0;

	for (;; pause_a_little(&spins)) { /* the faster session may still be at work */
		epoch_enter(session->epoch);
		int rc = try_verb(session, op, verb);
		epoch_exit(session->epoch);
		if (__builtin_expect(rc != OP_AGAIN, 1))
			return rc;
	}
}

int
op_try(struct nb_session *session, struct op *op)
{
	switch (op->verb) { /* each case has its own copy of the code above */
	case NB_REQ_GET:
		return try_in_epoch(session, op, NB_REQ_GET);
	case NB_REQ_PUT:
		return try_in_epoch(session, op, NB_REQ_PUT);
	case NB_REQ_INSERT:
		return try_in_epoch(session, op, NB_REQ_INSERT);
	case NB_REQ_MERGE:
		return try_in_epoch(session, op, NB_REQ_MERGE);
	default:
		return try_in_epoch(session, op, NB_REQ_DEL);
	}
}

/* ---- from storage ---- */

void
op_free_block(struct op *op)
{
	free(op->read.data);
	op->read.data = NULL;
	op->block_size = 0;
}

/* Read the blocks that contain op->wanted bytes from op->at on. */
int
op_start_read(struct nb_session *session, struct op *op)
{
	const struct file *file = &session->db->file;
	uint64_t from = block_floor(file, op->at);
	size_t size = (size_t)(block_ceiling(file, op->at + op->wanted) - from);

	if (op->block_size < size) {
		op_free_block(op);
		op->block_size = (size + 4095) & ~(size_t)4095;
		op->read.data = aligned_alloc(4096, op->block_size);
		if (op->read.data == NULL) {
			op->block_size = 0;
			op->error = "out of memory";
			return session->db->host->fail(NB_FAIL, "out of memory");
		}
		memset(op->read.data, 0, op->block_size);
	}
	op->read.offset = from;
	op->read.size = size;
	op->has_arrived = false;
	count_one(&session->counts.storage_reads);
	if (reads_start(session->reads, &op->read))
		return NB_OK;
	op->error = "a read of the log cannot be started";
	return session->db->host->fail(NB_FAIL, "%s: %s", op->error, strerror(errno));
}

/* The number of bytes read from op->at on. */
static size_t
bytes_read(const struct op *op)
{
	size_t before = (size_t)(op->at - op->read.offset);
	return op->read.got > before ? op->read.got - before : 0;
}

static int
tell_damage(struct nb_session *session, struct op *op)
{
	op->error = op->read.error != 0 ? "a read of the log failed"
					: "the log is damaged: a record is missing";
	if (op->read.error != 0)
		return session->db->host->fail(NB_FAIL, "a read of the log %s at %llu: %s",
			session->db->file.path, (unsigned long long)op->at,
			strerror(op->read.error));
	return session->db->host->fail(NB_FAIL,
		"the log %s is damaged: no record at %llu, %zu bytes read",
		session->db->file.path, (unsigned long long)op->at, op->read.got);
}

/*
 * Append a record that a get has read from storage, so the next get finds it in memory. Does
 * nothing if the chain has changed, because it may contain a newer record, or if the append would
 * have to wait.
 */
static void
promote(struct nb_session *session, struct op *op, const uint64_t *record, uint64_t header)
{
	uint64_t word;
	size_t size = record_value_size(record, header);
	struct slot slot;

	memcpy(&word, &record[2], sizeof(word));
	struct nb_slice value = {&word, sizeof(word)};
	if ((header & HEADER_KIND) != HEADER_SMALL)
		value = (struct nb_slice){
			sized_value((struct sized_record *)(uintptr_t)record), size};
	moment_reached(MOMENT_PROMOTE);
	epoch_enter(session->epoch);
	index_find(session->index, op->key.hash, &slot);
	if ((slot.entry & ADDRESS_MASK) == (op->entry & ADDRESS_MASK) &&
		append(session, op, &slot, value, 0) == NB_OK)
		count_one(&session->counts.promoted);
	epoch_exit(session->epoch);
	op->flush_to = 0; /* a get does not wait for a flush */
}

/* Finish a verb with the record from storage. NULL: storage has no record of the key. */
static int
finish_from_storage(
	struct nb_session *session, struct op *op, const uint64_t *record, uint64_t header)
{
	bool is_there = record != NULL && (header & HEADER_TOMBSTONE) == 0;
	struct slot slot;
	uint64_t old = 0;
	int rc;

	if (op->verb == NB_REQ_GET) {
		rc = is_there ? take_value(session, op, record, header) : NB_NOT_FOUND;
		if (rc == NB_OK && session->db->promotes)
			promote(session, op, record, header);
		return rc;
	}
	if (op->verb == NB_REQ_INSERT && is_there)
		return NB_EXISTS;
	if (op->verb == NB_REQ_MERGE && is_there) {
		if (record_value_size(record, header) != sizeof(old))
			return refuse_sum(session, op, record_value_size(record, header));
		record_load(record, header, &old, sizeof(old));
		count_one(&session->counts.copied);
	}
	epoch_enter(session->epoch);
	index_find(session->index, op->key.hash, &slot);
	/* The record is still the newest only if the chain has not changed. */
	rc = OP_AGAIN;
	if ((slot.entry & ADDRESS_MASK) == (op->entry & ADDRESS_MASK))
		rc = op->verb == NB_REQ_MERGE ? append_sum(session, op, &slot, old)
					      : append(session, op, &slot, op->value, 0);
	epoch_exit(session->epoch);
	return rc;
}

/* The record read has another key: continue with `address`, the previous record of the chain. */
static int
go_on(struct nb_session *session, struct op *op, uint64_t address)
{
	op->at = address;
	op->wanted = (size_t)session->db->record_guess;
	return address > log_read(&session->log->begin)
		? OP_READ
		: finish_from_storage(session, op, NULL, 0);
}

int
op_resume(struct nb_session *session, struct op *op)
{
	const uint64_t *record = (const void *)((const char *)op->read.data +
		(op->at - op->read.offset));
	size_t got = bytes_read(op), size = 0;
	int rc;

	/*
	 * Compaction has copied or discarded the record. It moves `begin` before it discards the
	 * blocks, so the read may have got one block of the record and zeros for the next.
	 */
	if (op->at <= log_read(&session->log->begin))
		return op_try(session, op);
	if (op->read.error == 0 && got >= SMALL_SIZE && is_record(record[0]))
		size = item_size(record);
	if (size == 0 || size > session->log->page_size ||
		(size > got && op->read.got < op->read.size)) {
		rc = tell_damage(session, op);
	} else if (size > got) {
		op->wanted = size;
		return OP_READ;
	} else if (!record_has_key(record, record[0], &op->key)) {
		rc = go_on(session, op, header_previous(record[0]));
	} else {
		count_one(&session->counts.storage_hits);
		rc = finish_from_storage(session, op, record, record[0]);
	}
	return rc == OP_AGAIN ? op_try(session, op) : rc;
}

/* ---- single calls ---- */

int
op_run(struct nb_session *session, struct op *op)
{
	int rc = op_try(session, op);

	for (;;) {
		switch (rc) {
		case OP_READ:
			rc = op_start_read(session, op);
			if (rc == NB_OK)
				rc = requests_wait_for(session, op);
			if (rc == NB_OK)
				rc = op_resume(session, op);
			continue;
		case OP_FUZZY:
			rc = log_wait_for_safety(session->log, op->at);
			break;
		case OP_ROOM:
			rc = log_wait_for_room(session->log);
			break;
		case OP_INDEX:
			rc = keeper_wait_for_index(session->db);
			break;
		case OP_FULL:
			rc = keeper_wait_for_compaction(session->db);
			break;
		default:
			return rc;
		}
		if (rc != NB_OK)
			return rc;
		rc = op_try(session, op);
	}
}
