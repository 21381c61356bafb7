/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small engine that survives power loss, or omits one necessary step if its option says so.
 * It has a log of records with checksums and syncs each append. A new log is written under
 * another name, synced and renamed; then the directory is synced. After SNAPSHOT_EVERY appends,
 * the engine writes all records to a snapshot in the same way, then truncates the log. With
 * option `wild`, close overwrites memory that it shares with the test. With option `hidden`,
 * appends use system calls that no library sees.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PLAIN_SESSIONS
#include "plain.h"

enum {
	NONE,
	DATA,    /* does not sync appends */
	NAMES,   /* does not sync the directory */
	RENAMES, /* renames a new log before syncing it */
	SUMS,    /* reads records without checking their checksums */
	ORDER,   /* truncates the log before it syncs the snapshot */
	BOOT     /* opens even after the machine was restarted */
};

enum { TAME, RECORDING, ALL };

static const struct nb_option options[] = {
	NB_OPTION_CHOICE("left_out", "none", "none|data|names|renames|sums|order|boot",
		"the step that is left out"),
	NB_OPTION_CHOICE("wild", "none", "none|recording|all",
		"target of stray writes into memory shared with the test"),
	NB_OPTION_BOOL("hidden", "no", "ask the kernel itself to append"),
	NB_OPTION_END,
};

enum { RECORDS = 1024, DELETED = -1, SNAPSHOT_EVERY = 100 };

static const char magic[8] = "syncer 1";

struct head {
	uint32_t sum, key_size;
	int32_t value_size; /* DELETED: the record is a deletion */
};

struct record {
	unsigned char *bytes; /* key, value */
	uint32_t key_size;
	int32_t value_size;
};

struct nb_db {
	const struct nb_host *host;
	uint64_t left_out, wild, is_hidden;
	uint64_t appended; /* since the last snapshot */
	uint32_t durability, flags;
	int dir, log;
	off_t end;
	size_t count;
	struct record records[RECORDS];
};

static uint32_t
sum_of(const struct head *head, const unsigned char *bytes, size_t size)
{
	uint32_t hash = 0x811c9dc5u ^ head->key_size ^ (uint32_t)head->value_size << 12;
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 0x01000193u; /* FNV-1a */
	return hash;
}

static size_t
size_of(const struct head *head)
{
	return head->key_size + (head->value_size > 0 ? (size_t)head->value_size : 0);
}

static struct record *
find(struct nb_db *db, const void *key, size_t size)
{
	for (size_t i = 0; i < db->count; i++)
		if (db->records[i].key_size == size &&
			memcmp(db->records[i].bytes, key, size) == 0)
			return &db->records[i];
	return NULL;
}

static void
apply(struct nb_db *db, const struct head *head, const unsigned char *bytes)
{
	struct record *record = find(db, bytes, head->key_size);
	if (record == NULL && db->count == RECORDS)
		abort();
	if (record == NULL)
		record = &db->records[db->count++];
	free(record->bytes);
	*record = (struct record){malloc(size_of(head) + 1), head->key_size, head->value_size};
	if (record->bytes == NULL)
		abort();
	memcpy(record->bytes, bytes, size_of(head));
}

static int
sync_of(const struct nb_db *db, int fd, uint64_t step)
{
	if (db->durability != NB_DUR_COMMIT || db->left_out == step || fsync(fd) == 0)
		return NB_OK;
	return db->host->fail(NB_FAIL, "no sync");
}

/** Write all records to a new file. Returns its descriptor, or -1 on failure. */
static int
write_new(const struct nb_db *db, const char *name)
{
	char *bytes = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&bytes, &size);
	if (stream == NULL)
		return -1;
	fwrite(magic, 1, sizeof(magic), stream);
	for (size_t i = 0; i < db->count; i++) {
		const struct record *record = &db->records[i];
		struct head head = {
			.key_size = record->key_size, .value_size = record->value_size};
		head.sum = sum_of(&head, record->bytes, size_of(&head));
		fwrite(&head, 1, sizeof(head), stream);
		fwrite(record->bytes, 1, size_of(&head), stream);
	}
	int failed = fclose(stream);
	int fd = openat(db->dir, name, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 && (failed != 0 || write(fd, bytes, size) != (ssize_t)size)) {
		close(fd);
		fd = -1;
	}
	free(bytes);
	return fd;
}

static int
cut_log(struct nb_db *db, off_t end)
{
	db->end = end;
	if (ftruncate(db->log, end) != 0)
		return db->host->fail(NB_FAIL, "the log cannot be cut");
	return db->left_out != ORDER ? sync_of(db, db->log, DATA) : NB_OK;
}

static int
rename_new(const struct nb_db *db, const char *from, const char *to)
{
	return renameat(db->dir, from, db->dir, to) == 0
		? NB_OK
		: db->host->fail(NB_FAIL, "%s cannot be renamed", from);
}

static int
make_log(struct nb_db *db)
{
	db->log = write_new(db, "log.new");
	if (db->log < 0)
		return db->host->fail(NB_FAIL, "no log can be made");
	int rc = sync_of(db, db->log, RENAMES);
	if (rc == NB_OK)
		rc = rename_new(db, "log.new", "log");
	return rc == NB_OK ? sync_of(db, db->dir, NAMES) : rc;
}

static int
make_snapshot(struct nb_db *db)
{
	bool is_late = db->left_out == ORDER;
	int fd = write_new(db, "snapshot.new");
	if (fd < 0)
		return db->host->fail(NB_FAIL, "no snapshot can be made");
	int rc = is_late ? NB_OK : sync_of(db, fd, RENAMES);
	if (rc == NB_OK)
		rc = rename_new(db, "snapshot.new", "snapshot");
	if (rc == NB_OK && is_late)
		rc = cut_log(db, sizeof(magic));
	if (rc == NB_OK && is_late)
		rc = sync_of(db, fd, NONE);
	if (rc == NB_OK)
		rc = sync_of(db, db->dir, NAMES);
	if (rc == NB_OK && !is_late)
		rc = cut_log(db, sizeof(magic));
	close(fd);
	return rc;
}

/** Apply the records of a file up to the first incomplete one, whose offset is *end. */
static int
replay(struct nb_db *db, int fd, size_t *end)
{
	struct stat info;
	unsigned char *log = NULL;
	if (fstat(fd, &info) == 0)
		log = malloc((size_t)info.st_size + 1);
	if (log == NULL || pread(fd, log, (size_t)info.st_size, 0) != info.st_size ||
		(size_t)info.st_size < sizeof(magic) ||
		memcmp(log, magic, sizeof(magic)) != 0) {
		free(log);
		return db->host->fail(NB_FAIL, "the log is none");
	}
	size_t at = sizeof(magic), size = (size_t)info.st_size;
	for (struct head head; size - at >= sizeof(head); at += sizeof(head) + size_of(&head)) {
		memcpy(&head, log + at, sizeof(head));
		if (head.key_size == 0 || size_of(&head) > size - at - sizeof(head) ||
			(db->left_out != SUMS &&
				sum_of(&head, log + at + sizeof(head), size_of(&head)) !=
					head.sum))
			break;
		apply(db, &head, log + at + sizeof(head));
	}
	free(log);
	*end = at;
	return NB_OK;
}

/**
 * Read the snapshot, if it exists, which must be complete. Then read the log, whose end may be
 * incomplete.
 */
static int
read_files(struct nb_db *db)
{
	struct stat info;
	size_t end = 0;
	int rc = NB_OK, fd = openat(db->dir, "snapshot", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		rc = replay(db, fd, &end);
		if (rc == NB_OK && (fstat(fd, &info) != 0 || (size_t)info.st_size != end))
			rc = db->host->fail(NB_FAIL, "the snapshot is not whole");
		close(fd);
	}
	if (rc == NB_OK)
		rc = replay(db, db->log, &end);
	return rc == NB_OK ? cut_log(db, (off_t)end) : rc;
}

/** Overwrite the beginning of each shared mapping of at least `least` bytes. */
static void
write_wildly(unsigned long least)
{
	enum { OVER = 2048 };
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned long from, to;
	while (maps != NULL && fgets(line, sizeof(line), maps) != NULL)
		if (sscanf(line, "%lx-%lx", &from, &to) == 2 &&
			strstr(line, " rw-s ") != NULL && to - from >= least)
			memset((void *)from, 0xff, OVER);
	if (maps != NULL)
		fclose(maps);
}

static int
db_close(struct nb_db *db)
{
	if (db->wild == RECORDING)
		write_wildly(1 << 29);
	if (db->wild == ALL && (db->flags & NB_OPEN_CREATE) == 0)
		write_wildly(1);
	for (size_t i = 0; i < db->count; i++)
		free(db->records[i].bytes);
	if (db->log >= 0)
		close(db->log);
	if (db->dir >= 0)
		close(db->dir);
	free(db);
	return NB_OK;
}

static ssize_t
read_all(int fd, char *text, size_t room)
{
	ssize_t size = fd >= 0 ? read(fd, text, room) : -1;
	if (fd >= 0)
		close(fd);
	return size;
}

/** Write the kernel's boot id to a file. Fails if the file contains another id. */
static int
check_boot(const struct nb_db *db)
{
	char now[64], then[64];
	ssize_t size = read_all(
		open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC), now, 64);
	ssize_t old = read_all(openat(db->dir, "boot", O_RDONLY | O_CLOEXEC), then, 64);
	if (size <= 0)
		return db->host->fail(NB_FAIL, "the machine has no boot id");
	if (old == size && memcmp(now, then, (size_t)size) == 0)
		return NB_OK;
	if (old > 0)
		return db->host->fail(NB_FAIL, "the machine was started again");
	int fd = openat(db->dir, "boot", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	int rc = fd >= 0 && write(fd, now, (size_t)size) == size
		? sync_of(db, fd, NONE)
		: db->host->fail(NB_FAIL, "boot cannot be written");
	if (fd >= 0)
		close(fd);
	return rc;
}

static int
db_open(struct nb_db **out, const struct nb_open_args *args)
{
	struct nb_db *db = calloc(1, sizeof(*db));
	if (db == NULL)
		return args->host->fail(NB_FAIL, "out of memory");
	db->host = args->host;
	db->left_out = args->options[0].u64;
	db->wild = args->options[1].u64;
	db->is_hidden = args->options[2].u64;
	db->flags = args->flags;
	db->durability = args->durability;
	db->dir = open(args->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	db->log = openat(db->dir, "log", O_RDWR | O_CLOEXEC);
	int rc = NB_OK;
	if (db->log < 0)
		rc = (args->flags & NB_OPEN_CREATE) != 0
			? make_log(db)
			: db->host->fail(NB_FAIL, "there is no log");
	if (rc == NB_OK)
		rc = read_files(db);
	if (rc == NB_OK && db->left_out == BOOT)
		rc = check_boot(db);
	if (rc == NB_OK)
		*out = db;
	else
		db_close(db);
	return rc;
}

static ssize_t
write_at(const struct nb_db *db, const void *bytes, size_t size)
{
	if (db->is_hidden != 0)
		return syscall(SYS_pwrite64, db->log, bytes, size, db->end);
	return pwrite(db->log, bytes, size, db->end);
}

static int
append(struct nb_db *db, struct nb_slice key, struct nb_slice value, int32_t value_size)
{
	struct head head = {.key_size = (uint32_t)key.size, .value_size = value_size};
	size_t size = sizeof(head) + size_of(&head);
	unsigned char *bytes = malloc(size);
	if (bytes == NULL)
		return db->host->fail(NB_FAIL, "out of memory");
	memcpy(bytes + sizeof(head), key.data, key.size);
	if (value_size > 0)
		memcpy(bytes + sizeof(head) + key.size, value.data, value.size);
	head.sum = sum_of(&head, bytes + sizeof(head), size_of(&head));
	memcpy(bytes, &head, sizeof(head));
	int rc = write_at(db, bytes, size) == (ssize_t)size
		? sync_of(db, db->log, DATA)
		: db->host->fail(NB_FAIL, "the log cannot be written");
	db->end += (off_t)size;
	if (rc == NB_OK)
		apply(db, &head, bytes + sizeof(head));
	free(bytes);
	if (rc == NB_OK && ++db->appended == SNAPSHOT_EVERY) {
		db->appended = 0;
		rc = make_snapshot(db);
	}
	return rc;
}

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	const struct record *record = find((void *)session, key.data, key.size);
	if (record == NULL || record->value_size == DELETED)
		return NB_NOT_FOUND;
	*value = (struct nb_slice){
		record->bytes + record->key_size, (size_t)record->value_size};
	return NB_OK;
}

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return append((void *)session, key, value, (int32_t)value.size);
}

static int
del(struct nb_session *session, struct nb_slice key)
{
	return append((void *)session, key, (struct nb_slice){NULL, 0}, DELETED);
}

static const struct nb_engine engine = {
	PLAIN_ENGINE,
	.name = "syncer",
	.summary = "made for the tests of power loss",
	.caps = NB_CAP_PERSISTENT,
	.durabilities = NB_DUR_BIT(NB_DUR_PROCESS) | NB_DUR_BIT(NB_DUR_COMMIT),
	.auto_durability = NB_DUR_PROCESS,
	.key_size_max = 64,
	.value_size_max = 4096,
	.options = options,
};

NB_ENGINE_PLUGIN(engine)
