/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small engine that keeps its data: each write is appended to a log, and open rebuilds a
 * sorted array in memory from the log. It is correct except for the defect that its option
 * selects. The crash tests must find each defect.
 *
 * With some values of the option, the engine has transactions and counters. A transaction is
 * one log record and does not see its own writes. The log stores additions to counters, not
 * their sums.
 *
 * A log record consists of its size, a checksum, and the writes of one operation. The log ends
 * at the first incomplete record. The file `unclean` exists while the database is open. An open
 * that finds it is a recovery; most defects act only then.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plain.h"

enum {
	NONE,
	BUFFERS,    /* completed writes are still in the process's memory */
	TEARS,      /* recovery truncates each value */
	SPLITS,     /* recovery drops the last write of each batch */
	RESURRECTS, /* recovery ignores deletes */
	SWAPS,      /* recovery gives keys the value of the first record */
	REFUSES,    /* recovery fails */
	CRASHES,    /* recovery dies of a signal */
	HANGS,      /* recovery never ends */
	SKIPS,      /* a scan skips a key */
	DRIFTS,     /* each open without a recovery loses a key */
	STUBBORN,   /* after a recovery, all writes fail */
	REORDERS,   /* long values are written at once, others later */
	BLOCKS,     /* after some writes, a put never returns */
	LEAVES,     /* after some writes, it exits with status 0 */
	FORGETS,    /* writes after a recovery are not logged */
	CUTS,       /* writes after a checkpoint are not logged */
	WANDERS,    /* every call changes the working directory */
	HAS_TXNS,   /* no defect; this and the following ones have transactions */
	HALVES,     /* half of a transaction is still in the process's memory */
	POSTPONES,  /* additions to counters are still in the process's memory */
	DOUBLES,    /* recovery applies the last record twice */
	REVIVES     /* an aborted transaction is in the log */
};

static const struct nb_option options[] = {
	NB_OPTION_CHOICE("defect", "none",
		"none|buffers|tears|splits|resurrects|swaps|refuses|crashes|hangs|skips|drifts|stubborn|reorders|blocks|leaves|forgets|cuts|wanders|transactional|halves|postpones|doubles|revives",
		"defect"),
	NB_OPTION_END,
};

enum { BUFFER = 1 << 20, LATE = 16 << 10, LONG = 512, ENOUGH = 30, STAGED = 64 };

enum { ADD = 2 }; /* value of nb_write.is_delete for an addition */

struct record {
	unsigned char *key, *value;
	size_t key_size, value_size;
};

struct nb_db {
	const struct nb_host *host;
	uint64_t defect, writes;
	uint32_t durability;
	bool is_unclean, is_scan_backward, is_checkpointed;
	int dir, log;
	struct record *records;
	size_t count, room, at, late; /* `late`: bytes waiting in `buffer` */
	unsigned char *buffer;
	bool is_in_txn;
	struct nb_write staged[STAGED]; /* writes of the transaction */
	size_t staged_count;
};

/* ---- memory ---- */

static int
compare(const struct record *record, struct nb_slice key)
{
	size_t size = record->key_size < key.size ? record->key_size : key.size;
	int order = memcmp(record->key, key.data, size);
	return order != 0 ? order
			  : (record->key_size > key.size) - (record->key_size < key.size);
}

/** The index of the key, or the index at which to insert it. */
static size_t
find(const struct nb_db *db, struct nb_slice key, bool *is_there)
{
	size_t low = 0, high = db->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (compare(&db->records[middle], key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*is_there = low < db->count && compare(&db->records[low], key) == 0;
	return low;
}

static void
erase(struct nb_db *db, size_t at)
{
	free(db->records[at].key);
	free(db->records[at].value);
	memmove(&db->records[at], &db->records[at + 1],
		(--db->count - at) * sizeof(*db->records));
}

static unsigned char *
copy(struct nb_slice slice)
{
	unsigned char *bytes = malloc(slice.size + 1);
	if (bytes == NULL)
		abort();
	if (slice.size > 0)
		memcpy(bytes, slice.data, slice.size);
	return bytes;
}

static void
apply(struct nb_db *db, const struct nb_write *write)
{
	bool is_there;
	size_t at = find(db, write->key, &is_there);
	uint64_t sum = 0, operand;
	if (write->is_delete == ADD) {
		if (is_there)
			memcpy(&sum, db->records[at].value, sizeof(sum));
		memcpy(&operand, write->value.data, sizeof(operand));
		sum += operand;
		apply(db, &(struct nb_write){.key = write->key, .value = {&sum, sizeof(sum)}});
		return;
	}
	if (write->is_delete) {
		if (is_there)
			erase(db, at);
		return;
	}
	if (!is_there) {
		if (db->count == db->room) {
			db->room = db->room * 2 + 64;
			db->records = realloc(db->records, db->room * sizeof(*db->records));
			if (db->records == NULL)
				abort();
		}
		memmove(&db->records[at + 1], &db->records[at],
			(db->count++ - at) * sizeof(*db->records));
		db->records[at] = (struct record){
			.key = copy(write->key), .key_size = write->key.size};
	}
	unsigned char *before = db->records[at].value; /* may be the memory of write->value */
	db->records[at].value = copy(write->value);
	free(before);
	db->records[at].value_size = write->value.size;
}

/* ---- the log ---- */

struct head {
	uint32_t size, sum, count; /* bytes, checksum, number of writes */
};

struct item {
	uint32_t key_size, value_size, is_delete;
};

static uint32_t
sum_of(const unsigned char *bytes, size_t size)
{
	uint32_t hash = 0x811c9dc5u; /* FNV-1a */
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 0x01000193u;
	return hash;
}

static int
write_out(struct nb_db *db, const unsigned char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t written = write(db->log, bytes, size);
		if (written < 0)
			return db->host->fail(NB_FAIL, "the log cannot be written");
		bytes += written;
		size -= (size_t)written;
	}
	if (db->durability == NB_DUR_COMMIT && fdatasync(db->log) != 0)
		return db->host->fail(NB_FAIL, "the log cannot be synced");
	return NB_OK;
}

static int
write_late(struct nb_db *db)
{
	size_t size = db->late;
	db->late = 0;
	return write_out(db, db->buffer, size);
}

static bool
is_late(const struct nb_db *db, size_t size)
{
	if (db->defect == REORDERS)
		return size < LONG;
	return db->defect == BUFFERS || db->durability == NB_DUR_NONE;
}

static int
append(struct nb_db *db, const struct nb_write *writes, size_t count, bool is_postponed)
{
	unsigned char *begin = db->buffer + db->late, *at = begin + sizeof(struct head);
	for (size_t i = 0; i < count; i++) {
		struct item item = {.key_size = (uint32_t)writes[i].key.size,
			.value_size = writes[i].is_delete == 1 ? 0
							       : (uint32_t)writes[i].value.size,
			.is_delete = writes[i].is_delete};
		memcpy(at, &item, sizeof(item));
		at += sizeof(item);
		memcpy(at, writes[i].key.data, item.key_size);
		at += item.key_size;
		if (item.value_size > 0)
			memcpy(at, writes[i].value.data, item.value_size);
		at += item.value_size;
	}
	struct head head = {.size = (uint32_t)(at - begin - (ptrdiff_t)sizeof(head)),
		.count = (uint32_t)count};
	head.sum = sum_of(begin + sizeof(head), head.size);
	memcpy(begin, &head, sizeof(head));
	if (!is_postponed && !is_late(db, (size_t)(at - begin)))
		return write_out(db, begin, (size_t)(at - begin));
	db->late += (size_t)(at - begin);
	return db->late > LATE ? write_late(db) : NB_OK;
}

/** Apply the log record at `offset`. Returns the offset of the next one, or 0 at the end. */
static size_t
replay_one(struct nb_db *db, const unsigned char *log, size_t size, size_t offset)
{
	struct head head;
	if (size - offset < sizeof(head))
		return 0;
	memcpy(&head, log + offset, sizeof(head));
	const unsigned char *at = log + offset + sizeof(head);
	size_t next = offset + sizeof(head) + head.size;
	if (head.size > size - offset - sizeof(head) || sum_of(at, head.size) != head.sum)
		return 0;
	for (uint32_t i = 0; i < head.count; i++) {
		struct item item;
		memcpy(&item, at, sizeof(item));
		struct nb_write write = {.key = {at + sizeof(item), item.key_size},
			.value = {at + sizeof(item) + item.key_size, item.value_size},
			.is_delete = item.is_delete};
		at += sizeof(item) + item.key_size + item.value_size;
		if (db->is_unclean && db->defect == RESURRECTS && write.is_delete)
			continue;
		if (db->is_unclean && db->defect == SPLITS && head.count > 1 &&
			i + 1 == head.count)
			continue;
		if (db->is_unclean && db->defect == TEARS)
			write.value.size /= 2;
		if (db->is_unclean && db->defect == SWAPS && db->count > 1)
			write.value = (struct nb_slice){
				db->records[0].value, db->records[0].value_size};
		apply(db, &write);
	}
	return next;
}

static int
replay(struct nb_db *db)
{
	struct stat info;
	if (fstat(db->log, &info) != 0)
		return db->host->fail(NB_FAIL, "the log cannot be looked at");
	size_t size = (size_t)info.st_size, whole = 0;
	unsigned char *log = malloc(size + 1);
	if (log == NULL || pread(db->log, log, size, 0) != info.st_size) {
		free(log);
		return db->host->fail(NB_FAIL, "the log cannot be read");
	}
	size_t last = 0;
	for (size_t next; (next = replay_one(db, log, size, whole)) != 0; whole = next)
		last = whole;
	if (db->is_unclean && db->defect == DOUBLES && whole > 0)
		(void)replay_one(db, log, size, last);
	free(log);
	/* An incomplete record must be removed, because later ones would follow it. */
	return ftruncate(db->log, (off_t)whole) == 0
		? NB_OK
		: db->host->fail(NB_FAIL, "the log cannot be cut");
}

/* ---- the verbs ---- */

static void
db_free(struct nb_db *db)
{
	while (db->count > 0)
		erase(db, db->count - 1);
	free(db->records);
	free(db->buffer);
	if (db->log >= 0)
		close(db->log);
	if (db->dir >= 0)
		close(db->dir);
	free(db);
}

static int
recover(struct nb_db *db, const struct nb_open_args *args)
{
	int flags = O_RDWR | O_APPEND | O_CLOEXEC |
		((args->flags & NB_OPEN_CREATE) != 0 ? O_CREAT : 0);
	db->dir = open(args->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	db->log = openat(db->dir, "log", flags, 0600);
	if (db->log < 0)
		return db->host->fail(NB_FAIL, "there is no log");
	db->is_unclean = faccessat(db->dir, "unclean", F_OK, 0) == 0;
	if (db->is_unclean && db->defect == REFUSES)
		return db->host->fail(NB_FAIL, "%s was not closed", args->path);
	if (db->is_unclean && db->defect == CRASHES)
		raise(SIGTERM); /* sanitizers do not handle this signal */
	while (db->is_unclean && db->defect == HANGS)
		pause();
	int unclean = openat(db->dir, "unclean", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (unclean < 0)
		return db->host->fail(NB_FAIL, "no file can be made");
	close(unclean);
	int rc = replay(db);
	if (rc == NB_OK && !db->is_unclean && db->defect == DRIFTS && db->count > 0)
		erase(db, 0);
	return rc;
}

static int
wander(const struct nb_db *db)
{
	return db->defect == WANDERS && chdir("/") != 0 ? NB_FAIL : NB_OK;
}

static int
db_open(struct nb_db **out, const struct nb_open_args *args)
{
	struct nb_db *db = calloc(1, sizeof(*db));
	if (db == NULL)
		return args->host->fail(NB_FAIL, "out of memory");
	db->host = args->host;
	db->defect = args->options[0].u64;
	db->durability = args->durability;
	db->log = db->dir = -1;
	db->buffer = malloc(BUFFER);
	int rc = db->buffer != NULL ? recover(db, args)
				    : args->host->fail(NB_FAIL, "out of memory");
	if (rc == NB_OK)
		rc = wander(db);
	if (rc == NB_OK)
		*out = db;
	else
		db_free(db);
	return rc;
}

static int
db_close(struct nb_db *db)
{
	int rc = write_late(db);
	rc = rc == NB_OK ? wander(db) : rc;
	if (rc == NB_OK)
		unlinkat(db->dir, "unclean", 0);
	db_free(db);
	return rc;
}

static int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	*out = (void *)db;
	return wander(db);
}

static int
session_close(struct nb_session *session)
{
	return NB_OK;
}

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	struct nb_db *db = (void *)session;
	bool is_there;
	size_t at = find(db, key, &is_there);
	if (!is_there)
		return NB_NOT_FOUND;
	*value = (struct nb_slice){db->records[at].value, db->records[at].value_size};
	return wander(db);
}

static void
stage(struct nb_db *db, const struct nb_write *write)
{
	if (db->staged_count == STAGED)
		abort();
	struct nb_write *staged = &db->staged[db->staged_count++];
	*staged = *write;
	staged->key.data = copy(write->key);
	staged->value.data = write->is_delete == 1 ? NULL : copy(write->value);
}

static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	struct nb_db *db = (void *)session;
	(void)flags; /* a batch is always atomic */
	if (db->is_unclean && db->defect == STUBBORN)
		return db->host->fail(NB_FAIL, "no write is taken after a recovery");
	bool is_enough = ++db->writes > ENOUGH;
	while (is_enough && db->defect == BLOCKS)
		pause();
	if (is_enough && db->defect == LEAVES)
		exit(EXIT_SUCCESS);
	bool is_forgotten = (db->is_unclean && db->defect == FORGETS) ||
		(db->is_checkpointed && db->defect == CUTS);
	for (size_t i = 0; i < count && db->is_in_txn; i++)
		stage(db, &writes[i]);
	if (db->is_in_txn)
		return NB_OK;
	bool is_postponed = db->defect == POSTPONES && writes[0].is_delete == ADD;
	int rc = is_forgotten ? NB_OK : append(db, writes, count, is_postponed);
	for (size_t i = 0; i < count && rc == NB_OK; i++)
		apply(db, &writes[i]);
	return rc;
}

/* ---- transactions ---- */

static int
begin(struct nb_session *session, uint32_t flags)
{
	struct nb_db *db = (void *)session;
	(void)flags;
	db->is_in_txn = true;
	return NB_OK;
}

static void
end_txn(struct nb_db *db)
{
	for (size_t i = 0; i < db->staged_count; i++) {
		free((void *)db->staged[i].key.data);
		free((void *)db->staged[i].value.data);
	}
	db->staged_count = 0;
	db->is_in_txn = false;
}

static int
commit(struct nb_session *session)
{
	struct nb_db *db = (void *)session;
	size_t count = db->staged_count, half = db->defect == HALVES ? count / 2 : 0;
	int rc = half > 0 ? append(db, db->staged, half, false) : NB_OK;
	if (rc == NB_OK)
		rc = append(db, db->staged + half, count - half, half > 0);
	for (size_t i = 0; i < count && rc == NB_OK; i++)
		apply(db, &db->staged[i]);
	end_txn(db);
	return rc;
}

static void
undo(struct nb_session *session)
{
	struct nb_db *db = (void *)session;
	if (db->defect == REVIVES && append(db, db->staged, db->staged_count, false) != NB_OK)
		abort();
	end_txn(db);
}

static int
merge(struct nb_session *session, struct nb_slice key, uint32_t how, uint64_t operand)
{
	struct nb_write add = {
		.key = key, .value = {&operand, sizeof(operand)}, .is_delete = ADD};
	return how == NB_MERGE_ADD_U64 ? batch(session, &add, 1, 0) : NB_UNSUPPORTED;
}

static int
execute(struct nb_session *session, struct nb_step *steps, size_t count, uint32_t flags)
{
	int rc = begin(session, flags);
	for (size_t i = 0; i < count && rc == NB_OK; i++) {
		struct nb_write write = {.key = steps[i].key, .value = steps[i].value};
		if (steps[i].verb == NB_STEP_MERGE)
			write.value = (struct nb_slice){&steps[i].operand, sizeof(uint64_t)};
		write.is_delete = steps[i].verb == NB_STEP_MERGE ? ADD
								 : steps[i].verb == NB_STEP_DEL;
		rc = steps[i].answer = batch(session, &write, 1, 0);
	}
	return rc == NB_OK ? commit(session) : rc;
}

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return batch(session, &(struct nb_write){.key = key, .value = value}, 1, 0);
}

static int
del(struct nb_session *session, struct nb_slice key)
{
	return batch(session, &(struct nb_write){.key = key, .is_delete = 1}, 1, 0);
}

static int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	struct nb_db *db = (void *)session;
	if (args->from.size != 0)
		return db->host->fail(NB_UNSUPPORTED, "a scan begins at an end");
	db->is_scan_backward = (args->flags & NB_SCAN_BACKWARD) != 0;
	db->at = 0;
	return NB_OK;
}

static int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	struct nb_db *db = (void *)session;
	if (db->at == db->count / 2 && db->is_unclean && db->defect == SKIPS)
		db->at++;
	if (db->at >= db->count)
		return NB_NOT_FOUND;
	size_t at = db->is_scan_backward ? db->count - 1 - db->at : db->at;
	db->at++;
	*key = (struct nb_slice){db->records[at].key, db->records[at].key_size};
	*value = (struct nb_slice){db->records[at].value, db->records[at].value_size};
	return NB_OK;
}

static int
scan_close(struct nb_session *session)
{
	return NB_OK;
}

static int
checkpoint(struct nb_db *db)
{
	db->is_checkpointed = true;
	return NB_OK;
}

static const struct nb_engine engine;

#define KEEPER \
	PLAIN_ENGINE, .name = "keeper", .summary = "made for the tests of crashes", \
		      .caps = NB_CAP_ORDERED | NB_CAP_PERSISTENT | NB_CAP_ATOMIC_BATCH, \
		      .durabilities = NB_DUR_BIT(NB_DUR_NONE) | NB_DUR_BIT(NB_DUR_PROCESS) | \
		NB_DUR_BIT(NB_DUR_PERIODIC) | NB_DUR_BIT(NB_DUR_COMMIT), \
		      .auto_durability = NB_DUR_PROCESS, .key_size_max = 256, \
		      .value_size_max = 32 << 10, .options = options, .batch = batch, \
		      .scan_open = scan_open, .scan_next = scan_next, \
		      .scan_close = scan_close, .checkpoint = checkpoint

static const struct nb_engine transactional = {
	KEEPER,
	.begin = begin,
	.commit = commit,
	.abort = undo,
	.execute = execute,
	.merge = merge,
};

static const struct nb_engine *
variant(const struct nb_option_value *values)
{
	return values[0].u64 >= HAS_TXNS ? &transactional : NULL;
}

static const struct nb_engine engine = {KEEPER, .variant = variant};

NB_ENGINE_PLUGIN(engine)
