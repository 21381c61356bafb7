/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recovery: load the parts of the checkpoint, then repeat the logs, both with several threads.
 *
 * The logs are merged by the numbers of their records. Each thread merges all logs, and applies
 * only the changes of its own keys, chosen by hash. So one thread has all changes of a key and
 * applies them in order.
 *
 * Which records count?
 * - A chain of segments ends at a torn record, or at a segment that is not followed by its
 *   successor.
 * - A kill tears only records that were never acknowledged, so at `process` all other records
 *   count.
 * - After a power failure any log may lack its end. Then records count up to the first number
 *   that is in no log: a consistent prefix.
 * - At `commit` this rule always applies: a write is acknowledged only after all lower numbers
 *   are synced.
 * - At `periodic` it applies if the machine has been started since.
 */
#include "store.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* A segment file. */
struct found {
	uint64_t generation, session, segment;
	char *path;
	struct view view;
	size_t end; /* end of its valid records */
	uint64_t last, before;
	bool is_torn;
};

struct founds {
	struct found *at;
	size_t count, room;
};

struct replay {
	struct store *store;
	const struct state *state;
	struct founds founds;
	uint64_t limit; /* last number that counts in the state's generation */
	unsigned threads;
	uint64_t replayed, dropped, last; /* counted by thread 0 */
	int rc;                           /* atomic */
};

static bool
add_found(struct founds *founds, const struct found *found)
{
	if (founds->count == founds->room) {
		size_t room = founds->room == 0 ? 64 : 2 * founds->room;
		struct found *at = realloc(founds->at, room * sizeof(*at));
		if (at == NULL)
			return false;
		founds->at = at;
		founds->room = room;
	}
	founds->at[founds->count++] = *found;
	return true;
}

/*
 * The last number of a generation that counts. 0: the generation does not belong to the
 * database.
 */
static uint64_t
limit_of(const struct replay *replay, uint64_t generation)
{
	const struct state *state = replay->state;

	if (generation == state->generation)
		return replay->limit;
	for (unsigned i = 0; i < state->closed_count; i++)
		if (state->closed[i].generation == generation)
			return state->closed[i].last;
	return 0;
}

static int
find_in(struct replay *replay, const char *directory)
{
	char prefix[64];
	DIR *dir = opendir(directory);
	bool has_memory = true;

	if (dir == NULL)
		return store_failed(replay->store, "open the log directory", directory);
	int size = snprintf(
		prefix, sizeof(prefix), "masstree-%016" PRIx64 "-log.", replay->state->id);
	for (struct dirent *entry; has_memory && (entry = readdir(dir)) != NULL;) {
		struct found found = {0};
		char path[STORE_PATH_MAX];

		if (strncmp(entry->d_name, prefix, (size_t)size) != 0 ||
			sscanf(entry->d_name + size, "%" SCNu64 ".%" SCNu64 ".%" SCNu64,
				&found.generation, &found.session, &found.segment) != 3 ||
			limit_of(replay, found.generation) == 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		found.path = strdup(path);
		has_memory = found.path != NULL && add_found(&replay->founds, &found);
	}
	bool is_synced = !store_keeps(replay->store) || fsync(dirfd(dir)) == 0;
	int error = errno;
	closedir(dir);
	errno = error;
	if (!is_synced)
		return store_failed(replay->store, "sync", directory);
	return has_memory ? NB_OK : replay->store->host->fail(NB_FAIL, "out of memory");
}

static int
compare_found(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->generation != y->generation)
		return x->generation < y->generation ? -1 : 1;
	if (x->session != y->session)
		return x->session < y->session ? -1 : 1;
	return (x->segment > y->segment) - (x->segment < y->segment);
}

static const struct log_record *
record_at(const struct found *found, size_t at)
{
	return (const void *)(found->view.data + at);
}

static size_t
size_of(const struct log_record *record)
{
	return log_record_size(record_key_size(record) + (record->value_size & ~RECORD_DELETE));
}

/* Whether a record is complete, with a valid size, number and checksum. */
static bool
is_sound(const struct found *found, const struct log_record *record, size_t room)
{
	return size_of(record) <= room && record_number(record) > found->last &&
		record_checksum(record, size_of(record), found->generation) == record->checksum;
}

/* Find the end of the segment's valid records. */
static void
walk(struct found *found, const struct state *state)
{
	struct log_header header;

	found->end = LOG_HEADER;
	found->is_torn = true;
	if (found->view.size < LOG_HEADER)
		return;
	memcpy(&header, found->view.data, sizeof(header));
	if (header.magic != LOG_MAGIC || header.id != state->id ||
		header.generation != found->generation || header.session != found->session ||
		header.segment != found->segment ||
		header.checksum != XXH3_64bits(&header, offsetof(struct log_header, checksum)))
		return;
	found->before = header.before;
	found->is_torn = false;
	while (found->view.size - found->end >= sizeof(struct log_record)) {
		const struct log_record *record = record_at(found, found->end);

		if (record->checksum == 0)
			return;
		if (!is_sound(found, record, found->view.size - found->end)) {
			found->is_torn = true;
			return;
		}
		found->last = record_number(record);
		found->end += size_of(record);
	}
}

static void
open_segments(void *to, unsigned thread)
{
	struct replay *replay = to;

	for (size_t i = thread; i < replay->founds.count; i += replay->threads) {
		struct found *found = &replay->founds.at[i];
		if (!view_open(&found->view, found->path, store_keeps(replay->store)))
			__atomic_store_n(&replay->rc,
				store_failed(replay->store, "open", found->path),
				__ATOMIC_RELAXED);
		else
			walk(found, replay->state);
	}
}

/*
 * Drop the segments of each chain that follow a torn segment or one without its end. Not if all
 * records before a segment are in the checkpoint: after a power failure, any of the segments that
 * the checkpoint removed may be there again.
 */
static void
cut_chains(struct replay *replay)
{
	struct found *at = replay->founds.at;

	for (size_t i = 1; i < replay->founds.count; i++) {
		if (at[i].generation != at[i - 1].generation ||
			at[i].session != at[i - 1].session)
			continue;
		bool follows = !at[i - 1].is_torn && at[i].segment == at[i - 1].segment + 1 &&
			at[i].before == at[i - 1].last;
		if (!follows && at[i].before > replay->state->first) {
			at[i].end = LOG_HEADER;
			at[i].is_torn = true;
		}
		if (at[i].end == LOG_HEADER)
			at[i].last = at[i - 1].last;
	}
}

/* --- the merge --- */

/* The position of a thread in a chain. */
struct cursor {
	const struct found *at, *end; /* of the chain */
	size_t offset;
	const struct log_record *record; /* NULL: at the end */
};

static void
cursor_load(struct cursor *cursor)
{
	cursor->record = NULL;
	while (cursor->at < cursor->end && cursor->offset >= cursor->at->end) {
		cursor->at++;
		cursor->offset = LOG_HEADER;
	}
	if (cursor->at < cursor->end)
		cursor->record = record_at(cursor->at, cursor->offset);
}

static void
cursor_next(struct cursor *cursor)
{
	cursor->offset += size_of(cursor->record);
	cursor_load(cursor);
}

/* NULL: out of memory. */
static struct cursor *
cursors_new(const struct replay *replay, size_t *count)
{
	const struct founds *founds = &replay->founds;
	struct cursor *cursors = calloc(founds->count + 1, sizeof(*cursors));

	*count = 0;
	for (size_t i = 0, end; cursors != NULL && i < founds->count; i = end) {
		for (end = i + 1; end < founds->count &&
			founds->at[end].generation == founds->at[i].generation &&
			founds->at[end].session == founds->at[i].session;)
			end++;
		struct cursor *cursor = &cursors[(*count)++];
		*cursor = (struct cursor){&founds->at[i], &founds->at[end], LOG_HEADER, NULL};
		cursor_load(cursor);
	}
	return cursors;
}

/* The cursor with the least number; NULL: all are at the end. */
static struct cursor *
cursors_least(struct cursor *cursors, size_t count)
{
	struct cursor *least = NULL;

	for (size_t i = 0; i < count; i++)
		if (cursors[i].record != NULL &&
			(least == NULL ||
				record_number(cursors[i].record) <
					record_number(least->record)))
			least = &cursors[i];
	return least;
}

/*
 * Set the limit: the last number of the state's generation before the first missing one. False:
 * out of memory.
 */
static bool
find_limit(struct replay *replay)
{
	const struct state *state = replay->state;
	uint64_t last = state->base > state->first ? state->base : state->first;
	struct cursor *cursors, *cursor;
	size_t count;

	cursors = cursors_new(replay, &count);
	if (cursors == NULL)
		return false;
	while ((cursor = cursors_least(cursors, count)) != NULL) {
		uint64_t number = record_number(cursor->record);

		if (cursor->at->generation == state->generation && number > last) {
			if (number != last + 1)
				break;
			last = number;
		}
		cursor_next(cursor);
	}
	replay->limit = last;
	free(cursors);
	return true;
}

/* Whether the key belongs to the thread. */
static bool
is_share(const struct replay *replay, unsigned thread, const char *key, size_t size)
{
	return replay->threads == 1 || XXH3_64bits(key, size) % replay->threads == thread;
}

static int
apply_one(struct nb_session *session, const char *bytes, size_t key_size, uint32_t value_size)
{
	struct nb_slice key = {bytes, key_size};
	int rc;

	if ((value_size & RECORD_DELETE) == 0)
		return mt_put(session, key, (struct nb_slice){bytes + key_size, value_size});
	rc = mt_del(session, key);
	return rc == NB_NOT_FOUND ? NB_OK : rc;
}

/* Apply the changes of a record that belong to the thread. The checksum has been verified. */
static int
apply(const struct replay *replay, struct nb_session *session, unsigned thread,
	const struct log_record *record)
{
	const char *at = (const char *)(record + 1), *end = at + record->value_size;
	int rc = NB_OK;

	size_t key_size = record_key_size(record);

	if (key_size != 0)
		return is_share(replay, thread, at, key_size)
			? apply_one(session, at, key_size, record->value_size)
			: NB_OK;
	while (rc == NB_OK && at < end) {
		struct log_write write;

		memcpy(&write, at, sizeof(write));
		at += sizeof(write);
		if (is_share(replay, thread, at, write.key_size))
			rc = apply_one(session, at, write.key_size, write.value_size);
		at += write.key_size + (write.value_size & ~RECORD_DELETE);
	}
	return rc;
}

static int
replay_share(struct replay *replay, struct nb_session *session, unsigned thread)
{
	struct cursor *cursors, *cursor;
	size_t count;
	int rc = NB_OK;

	cursors = cursors_new(replay, &count);
	if (cursors == NULL)
		return replay->store->host->fail(NB_FAIL, "out of memory");
	for (; rc == NB_OK && (cursor = cursors_least(cursors, count)) != NULL;
		cursor_next(cursor)) {
		const struct log_record *record = cursor->record;
		bool counts = record_number(record) <= limit_of(replay, cursor->at->generation);

		if (record_number(record) <= replay->state->first)
			continue;
		if (thread == 0) {
			replay->replayed += counts;
			replay->dropped += !counts;
			replay->last = counts ? record_number(record) : replay->last;
		}
		if (counts)
			rc = apply(replay, session, thread, record);
	}
	free(cursors);
	return rc;
}

static void
replay_logs(void *to, unsigned thread)
{
	struct replay *replay = to;
	struct nb_session *session;
	int rc = mt_session_open(
		&session, replay->store->tree, replay->store->sessions + thread);

	if (rc == NB_OK) {
		rc = replay_share(replay, session, thread);
		mt_session_close(session);
	}
	if (rc != NB_OK)
		__atomic_store_n(&replay->rc, rc, __ATOMIC_RELAXED);
}

/* --- recovery --- */

/* Whether a log may lack its end although other logs have later records. */
static bool
may_have_gaps(const struct state *state)
{
	char boot[STORE_BOOT_SIZE];

	store_boot(boot);
	return state->level == NB_DUR_COMMIT ||
		(state->level == NB_DUR_PERIODIC && strcmp(boot, state->boot) != 0);
}

/*
 * A close states the number of changes in the logs. At `process` they may be lost if the machine
 * has been started since.
 */
static int
check_changes(const struct replay *replay)
{
	const struct state *state = replay->state;
	char boot[STORE_BOOT_SIZE];

	store_boot(boot);
	if (!state->has_changes || replay->replayed == state->changes ||
		replay->store->accepts_loss ||
		(state->level < NB_DUR_PERIODIC && strcmp(boot, state->boot) != 0))
		return NB_OK;
	return replay->store->host->fail(NB_FAIL,
		"masstree: the logs are damaged: they had %llu changes when the database was closed, and have %llu now: restore the files masstree-%016llx-log.* from a copy, or set accept_loss=yes to continue with these changes",
		(unsigned long long)state->changes, (unsigned long long)replay->replayed,
		(unsigned long long)state->id);
}

static int
find_segments(struct replay *replay)
{
	const struct dirs *dirs = &replay->state->logs;
	int rc = NB_OK;

	for (unsigned i = 0; i < dirs->count && rc == NB_OK; i++)
		rc = find_in(replay, dirs->path[i]);
	if (rc == NB_OK && replay->founds.count > 0) {
		qsort(replay->founds.at, replay->founds.count, sizeof(struct found),
			compare_found);
		store_run(replay->threads, open_segments, replay);
		rc = replay->rc;
	}
	return rc;
}

int
recover(struct store *store, const struct state *state, uint64_t *last, bool *has_logs)
{
	struct replay replay = {.store = store,
		.state = state,
		.limit = UINT64_MAX,
		.threads = store_threads(),
		.last = state->base > state->first ? state->base : state->first};
	int rc = load_checkpoint(store, state);

	if (rc == NB_OK)
		rc = find_segments(&replay);
	if (rc == NB_OK) {
		cut_chains(&replay);
		if (may_have_gaps(state) && !find_limit(&replay))
			rc = store->host->fail(NB_FAIL, "out of memory");
	}
	if (rc == NB_OK && replay.founds.count > 0) {
		store_run(replay.threads, replay_logs, &replay);
		rc = replay.rc;
	}
	if (rc == NB_OK)
		rc = check_changes(&replay);
	*has_logs = false;
	for (size_t i = 0; i < replay.founds.count; i++) {
		struct found *found = &replay.founds.at[i];
		*has_logs = *has_logs || found->generation == state->generation;
		view_close(&found->view);
		free(found->path);
	}
	free(replay.founds.at);
	store->replayed = replay.replayed;
	store->dropped = replay.dropped;
	*last = replay.last;
	return rc;
}
