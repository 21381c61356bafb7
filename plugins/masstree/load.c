/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files that an open reads, and loading the checkpoint. Its parts have different keys, so
 * several threads load them independently.
 */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

bool
store_keeps(const struct store *store)
{
	return store->durability >= NB_DUR_PERIODIC;
}

bool
view_open(struct view *view, const char *path, bool is_synced)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	*view = (struct view){NULL};
	if (fd < 0)
		return false;
	bool is_open = fstat(fd, &status) == 0 && (!is_synced || fsync(fd) == 0);
	if (is_open && status.st_size > 0) {
		size_t size = (size_t)status.st_size;
		void *data = mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
		is_open = data != MAP_FAILED;
		if (is_open)
			*view = (struct view){.data = data, .size = size};
	}
	int error = errno;
	close(fd);
	errno = error;
	return is_open;
}

void
view_close(struct view *view)
{
	if (view->size > 0 && view->data != NULL)
		munmap(view->data, view->size);
	view->data = NULL;
}

/* --- the checkpoint --- */

struct loading {
	struct store *store;
	const struct state *state;
	unsigned threads;
	uint64_t records; /* atomic */
	int rc;           /* atomic */
};

static int
load_block(struct nb_session *session, const char *at, const struct block_header *header)
{
	const char *end = at + header->size;

	for (uint64_t i = 0; i < header->count; i++) {
		uint32_t sizes[2];

		if ((size_t)(end - at) < sizeof(sizes))
			return NB_NOT_FOUND;
		memcpy(sizes, at, sizeof(sizes));
		at += sizeof(sizes);
		if ((uint64_t)sizes[0] + sizes[1] > (uint64_t)(end - at))
			return NB_NOT_FOUND;
		int rc = mt_put(session, (struct nb_slice){at, sizes[0]},
			(struct nb_slice){at + sizes[0], sizes[1]});
		if (rc != NB_OK)
			return rc;
		at += sizes[0] + sizes[1];
	}
	return at == end ? NB_OK : NB_NOT_FOUND;
}

/* Load the records of a mapped part. NB_NOT_FOUND: the part is damaged. */
static int
load_view(struct nb_session *session, const struct view *view, const struct state *state,
	unsigned index, uint64_t *records)
{
	struct part_header part;
	struct block_header header;
	size_t at = sizeof(part);

	if (view->size < sizeof(part))
		return NB_NOT_FOUND;
	memcpy(&part, view->data, sizeof(part));
	if (part.magic != PART_MAGIC || part.id != state->id ||
		part.checkpoint != state->checkpoint || part.part != index)
		return NB_NOT_FOUND;
	for (;;) {
		if (view->size - at < sizeof(header))
			return NB_NOT_FOUND;
		memcpy(&header, view->data + at, sizeof(header));
		at += sizeof(header);
		if (header.size == 0)
			break;
		if (header.size > view->size - at ||
			XXH3_64bits_withSeed(view->data + at, header.size, header.size) !=
				header.checksum)
			return NB_NOT_FOUND;
		int rc = load_block(session, view->data + at, &header);
		if (rc != NB_OK)
			return rc;
		at += header.size;
		*records += header.count;
	}
	return header.count == *records &&
			XXH3_64bits_withSeed(&header.count, sizeof(header.count), 0) ==
				header.checksum
		? NB_OK
		: NB_NOT_FOUND;
}

static int
load_part(struct loading *loading, struct nb_session *session, unsigned index)
{
	const char *path = loading->state->parts.path[index];
	struct view view;
	uint64_t records = 0;

	if (!view_open(&view, path, store_keeps(loading->store)))
		return store_failed(loading->store, "open", path);
	int rc = load_view(session, &view, loading->state, index, &records);
	view_close(&view);
	__atomic_fetch_add(&loading->records, records, __ATOMIC_RELAXED);
	return rc != NB_NOT_FOUND ? rc
				  : loading->store->host->fail(NB_FAIL,
					    "masstree: the checkpoint is damaged: %s", path);
}

static void
load_parts(void *to, unsigned thread)
{
	struct loading *loading = to;
	struct nb_session *session;
	int rc = mt_session_open(
		&session, loading->store->tree, loading->store->sessions + thread);

	if (rc == NB_OK) {
		for (unsigned i = thread; i < loading->state->parts.count && rc == NB_OK;
			i += loading->threads)
			rc = load_part(loading, session, i);
		mt_session_close(session);
	}
	if (rc != NB_OK)
		__atomic_store_n(&loading->rc, rc, __ATOMIC_RELAXED);
}

int
load_checkpoint(struct store *store, const struct state *state)
{
	struct loading loading = {.store = store, .state = state, .threads = store_threads()};

	if (loading.threads > state->parts.count)
		loading.threads = state->parts.count;
	if (loading.threads == 0)
		return NB_OK;
	store_run(loading.threads, load_parts, &loading);
	store->recovered = loading.records;
	if (loading.rc == NB_OK && loading.records != state->records)
		return store->host->fail(NB_FAIL,
			"masstree: the checkpoint has %llu records, and the state file says %llu",
			(unsigned long long)loading.records,
			(unsigned long long)state->records);
	return loading.rc;
}
