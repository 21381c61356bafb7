/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder keeps a mirror of the pool as the recorded stores would have made it. It also
 * maps the parts itself, to see their actual content. A difference in a line of libpmemobj
 * means that libpmemobj has stored something. A difference in a line that the engine flushes
 * means that the engine has stored around pm.h. The recorder counts such lines; none is
 * allowed.
 *
 * Limit: libpmemobj may overwrite a store before the next flush or fence. The recorder does
 * not see states of a line between two looks at it. So images only contain states that it has
 * seen.
 */
#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pm.h"

/* A mapping of a part. */
struct range {
	uintptr_t start, end;
	uint64_t offset; /* in the pool */
};

enum { RANGES = 64, RANGE_LASTS = 1 << 20, POOL_MAX = 1 << 28 };

static struct recorder {
	struct record *record; /* NULL: not recording */
	struct range ranges[RANGES];
	size_t ranges_count;
	const uint8_t *live; /* the parts, mapped one after the other */
	uint8_t *mirror;
	uint64_t bytes;      /* size of all parts */
	uint8_t *is_foreign; /* per line: has libpmemobj flushed it? */
	uint32_t *foreign;   /* the lines for which is_foreign is set */
	size_t foreign_count, foreign_room;
	struct {
		dev_t dev;
		ino_t ino;
		uint64_t offset;
	} parts[RECORD_PARTS];
} recorder;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(bool) is_on;
static _Atomic(unsigned) threads_seen;
static _Atomic(uint64_t) fences, fuse;
static _Thread_local unsigned thread_id; /* counts from 1; 0: not assigned yet */

static void *
grown(void *array, size_t *room, size_t count, size_t size)
{
	if (count < *room)
		return array;
	*room = count * 2 > 1024 ? count * 2 : 1024;
	array = realloc(array, *room * size);
	if (array == NULL)
		abort(); /* out of memory: a test cannot continue */
	return array;
}

static void *
reserve(int prot)
{
	void *at = mmap(
		NULL, POOL_MAX, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return at == MAP_FAILED ? NULL : at;
}

static unsigned
thread_of(void)
{
	if (thread_id == 0)
		thread_id = ++threads_seen;
	return (thread_id - 1) % RECORD_THREADS;
}

static struct event *
event_add(enum event_kind kind)
{
	struct record *record = recorder.record;
	record->events = grown(
		record->events, &record->room, record->count, sizeof(struct event));
	struct event *event = &record->events[record->count++];
	*event = (struct event){.kind = (uint8_t)kind, .thread = (uint8_t)thread_of()};
	return event;
}

/* --- the parts --- */

static int
names_compare(const void *a, const void *b)
{
	return strcmp(
		((const struct record_part *)a)->name, ((const struct record_part *)b)->name);
}

int
record_parts(const char *directory, struct record_part parts[RECORD_PARTS])
{
	char *const roots[] = {(char *)(uintptr_t)directory, NULL};
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	if (walk == NULL)
		return -1;
	int count = 0;
	for (FTSENT *at; (at = fts_read(walk)) != NULL;) {
		const char *ending = strrchr(at->fts_name, '.');
		if (at->fts_info != FTS_F || ending == NULL || strcmp(ending, ".pmem") != 0)
			continue;
		const char *name = at->fts_path + strlen(directory) + 1;
		if (count == RECORD_PARTS || strlen(name) >= sizeof(parts->name)) {
			count = -1;
			break;
		}
		parts[count].bytes = (uint64_t)at->fts_statp->st_size;
		strcpy(parts[count++].name, name);
	}
	fts_close(walk);
	if (count > 0)
		qsort(parts, (size_t)count, sizeof(*parts), names_compare);
	return count;
}

/* Map the next part after the mapped ones. */
static bool
part_map(const struct record_part *part)
{
	struct record *record = recorder.record;
	char path[4096];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", record->directory, part->name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool is_mapped = fstat(fd, &st) == 0 && recorder.bytes + part->bytes <= POOL_MAX &&
		mmap((uint8_t *)(uintptr_t)recorder.live + recorder.bytes, part->bytes,
			PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED;
	close(fd);
	if (!is_mapped)
		return false;
	recorder.parts[record->parts_count].dev = st.st_dev;
	recorder.parts[record->parts_count].ino = st.st_ino;
	recorder.parts[record->parts_count].offset = recorder.bytes;
	record->parts[record->parts_count++] = *part;
	recorder.bytes += part->bytes;
	return true;
}

/* Find new parts. A new part contains zeros until something is stored in it. */
static void
parts_look(void)
{
	struct record *record = recorder.record;
	struct record_part found[RECORD_PARTS];
	int count = record_parts(record->directory, found);

	for (int i = (int)record->parts_count; i < count; i++) {
		if (found[i].bytes == 0 || !part_map(&found[i]))
			return;
		event_add(EVENT_PART)->what = found[i].bytes;
	}
}

/* --- addresses --- */

static void
range_add(struct range range)
{
	/* a small mapping is of a header, and may soon be replaced */
	if (range.end - range.start >= RANGE_LASTS && recorder.ranges_count < RANGES)
		recorder.ranges[recorder.ranges_count++] = range;
}

/* Parse a line of the mappings: does it map a part? The range ends at the end of the part. */
static bool
mapping_is_part(const char *line, struct range *range)
{
	struct record *record = recorder.record;
	uintptr_t start, end;
	unsigned long offset, ino;
	unsigned major, minor;

	if (sscanf(line, "%lx-%lx %*s %lx %x:%x %lu", &start, &end, &offset, &major, &minor,
		    &ino) != 6)
		return false;
	for (size_t i = 0; i < record->parts_count; i++) {
		if (recorder.parts[i].ino != ino || offset >= record->parts[i].bytes)
			continue;
		*range = (struct range){start, end, recorder.parts[i].offset + offset};
		if (end - start > record->parts[i].bytes - offset)
			range->end = start + (record->parts[i].bytes - offset);
		return (const uint8_t *)start < recorder.live ||
			(const uint8_t *)start >= recorder.live + POOL_MAX;
	}
	return false;
}

static bool
ranges_read(uintptr_t at, struct range *range)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	if (maps == NULL)
		return false;
	char line[4600];
	bool is_found = false;
	while (!is_found && fgets(line, sizeof(line), maps) != NULL)
		is_found = mapping_is_part(line, range) && at >= range->start &&
			at < range->end;
	fclose(maps);
	if (is_found)
		range_add(*range);
	return is_found;
}

static bool
offset_of(const void *at, uint64_t *offset)
{
	uintptr_t address = (uintptr_t)at;
	struct range found;

	for (size_t i = 0; i < recorder.ranges_count; i++) {
		const struct range *range = &recorder.ranges[i];
		if (address >= range->start && address < range->end) {
			*offset = range->offset + (address - range->start);
			return true;
		}
	}
	if (!ranges_read(address, &found)) {
		parts_look();
		if (!ranges_read(address, &found))
			return false;
	}
	*offset = found.offset + (address - found.start);
	return true;
}

/* --- events --- */

static void
store_add(uint64_t offset, const uint8_t *from, size_t size, bool is_whole, const void *site)
{
	struct record *record = recorder.record;
	struct event *event = event_add(EVENT_STORE);

	event->site = site;
	event->line = (uint32_t)(offset / RECORD_LINE);
	event->at = (uint8_t)(offset % RECORD_LINE);
	event->size = (uint8_t)size;
	event->is_whole = is_whole;
	event->what = record->bytes_count;
	record->bytes = grown(
		record->bytes, &record->bytes_room, record->bytes_count + RECORD_LINE, 1);
	memcpy(record->bytes + record->bytes_count, from, size);
	record->bytes_count += size;
	memcpy(recorder.mirror + offset, from, size);
}

static void
stores_add(uint64_t offset, const uint8_t *from, size_t size, const void *site)
{
	while (size > 0) {
		size_t step = RECORD_LINE - offset % RECORD_LINE;
		if (step > size)
			step = size;
		store_add(offset, from, step, false, site);
		offset += step;
		from += step;
		size -= step;
	}
}

/* Does the line differ from the recorded stores? */
static bool
line_differs(uint32_t line)
{
	uint64_t at = (uint64_t)line * RECORD_LINE;
	return memcmp(recorder.live + at, recorder.mirror + at, RECORD_LINE) != 0;
}

static void
line_adopt(uint32_t line, const void *site)
{
	uint64_t at = (uint64_t)line * RECORD_LINE;
	uint8_t bytes[RECORD_LINE];
	memcpy(bytes, recorder.live + at, RECORD_LINE);
	store_add(at, bytes, RECORD_LINE, true, site);
}

static void
flush_add(uint32_t line, bool is_foreign, const void *site)
{
	if (is_foreign && !recorder.is_foreign[line]) {
		recorder.is_foreign[line] = true;
		recorder.foreign = grown(recorder.foreign, &recorder.foreign_room,
			recorder.foreign_count, sizeof(*recorder.foreign));
		recorder.foreign[recorder.foreign_count++] = line;
	}
	if (line_differs(line)) {
		if (!recorder.is_foreign[line])
			recorder.record->unseen++;
		line_adopt(line, site);
	}
	struct event *event = event_add(EVENT_FLUSH);
	event->line = line;
	event->site = site;
}

static void
flushes_add(const void *at, size_t size, bool is_foreign, const void *site)
{
	uint64_t offset;
	if (size == 0 || !offset_of(at, &offset))
		return;
	uint64_t end = offset + size;
	if (end > recorder.bytes)
		end = recorder.bytes;
	for (uint64_t line = offset / RECORD_LINE; line * RECORD_LINE < end; line++)
		flush_add((uint32_t)line, is_foreign, site);
}

static void
fence_count(void)
{
	uint64_t now = ++fences;
	if (now == fuse)
		_exit(RECORD_FUSED);
}

void
record_fuse(uint64_t n)
{
	fuse = n == 0 ? 0 : fences + n;
}

uint64_t
record_fences(void)
{
	return fences;
}

static void
fence_add(const void *site)
{
	for (size_t i = 0; i < recorder.foreign_count; i++)
		if (line_differs(recorder.foreign[i]))
			line_adopt(recorder.foreign[i], site);
	event_add(EVENT_FENCE)->site = site;
}

/* True if a recording is active; the lock is then held. */
static bool
recorder_enter(void)
{
	if (!is_on)
		return false;
	pthread_mutex_lock(&lock);
	if (recorder.record != NULL)
		return true;
	pthread_mutex_unlock(&lock);
	return false;
}

void
pm_record_store(const void *at, const void *from, size_t size)
{
	uint64_t offset;

	if (!recorder_enter())
		return;
	if (offset_of(at, &offset))
		stores_add(offset, from, size, __builtin_return_address(0));
	else
		recorder.record->strays++;
	pthread_mutex_unlock(&lock);
}

void
pm_record_flush(const void *at, size_t size)
{
	if (!recorder_enter())
		return;
	flushes_add(at, size, false, __builtin_return_address(0));
	pthread_mutex_unlock(&lock);
}

void
pm_record_fence(void)
{
	fence_count();
	if (!recorder_enter())
		return;
	fence_add(__builtin_return_address(0));
	pthread_mutex_unlock(&lock);
	/* let another thread run: otherwise this one keeps the lock for many operations */
	if (threads_seen > 1)
		sched_yield();
}

void
record_foreign_store(const void *at, const void *from, size_t size, const void *site)
{
	uint64_t offset;

	if (!recorder_enter())
		return;
	if (offset_of(at, &offset))
		stores_add(offset, from, size, site);
	pthread_mutex_unlock(&lock);
}

void
record_foreign_flush(const void *at, size_t size, const void *site)
{
	if (!recorder_enter())
		return;
	parts_look();
	flushes_add(at, size, true, site);
	pthread_mutex_unlock(&lock);
}

void
record_foreign_fence(const void *site)
{
	fence_count();
	if (!recorder_enter())
		return;
	fence_add(site);
	pthread_mutex_unlock(&lock);
}

void
record_note(uint64_t what)
{
	if (!recorder_enter())
		return;
	event_add(EVENT_NOTE)->what = what;
	pthread_mutex_unlock(&lock);
}

/* --- begin and end --- */

static void
recorder_drop(void)
{
	if (recorder.live != NULL)
		munmap((void *)(uintptr_t)recorder.live, POOL_MAX);
	if (recorder.mirror != NULL)
		munmap(recorder.mirror, POOL_MAX);
	free(recorder.is_foreign);
	free(recorder.foreign);
	recorder = (struct recorder){0};
}

static bool
recorder_map(const char *directory)
{
	struct record *record = recorder.record;
	struct record_part parts[RECORD_PARTS];
	int count = record_parts(directory, parts);

	if (count <= 0) {
		errno = ENOENT;
		return false;
	}
	recorder.live = reserve(PROT_NONE);
	recorder.mirror = reserve(PROT_READ | PROT_WRITE);
	recorder.is_foreign = calloc(POOL_MAX / RECORD_LINE, 1);
	record->directory = strdup(directory);
	if (recorder.live == NULL || recorder.mirror == NULL || recorder.is_foreign == NULL ||
		record->directory == NULL)
		return false;
	for (int i = 0; i < count; i++)
		if (!part_map(&parts[i]))
			return false;
	record->first_parts = record->parts_count;
	record->first_bytes = recorder.bytes;
	record->first = malloc(recorder.bytes);
	if (record->first == NULL)
		return false;
	memcpy(record->first, recorder.live, recorder.bytes);
	memcpy(recorder.mirror, recorder.live, recorder.bytes);
	return true;
}

bool
record_begin(struct record *record, const char *directory)
{
	*record = (struct record){0};
	pthread_mutex_lock(&lock);
	recorder = (struct recorder){.record = record};
	bool is_begun = recorder_map(directory);
	if (!is_begun) {
		recorder_drop();
		record_free(record);
	}
	is_on = is_begun;
	pthread_mutex_unlock(&lock);
	return is_begun;
}

void
record_end(void)
{
	pthread_mutex_lock(&lock);
	is_on = false;
	recorder_drop();
	pthread_mutex_unlock(&lock);
}

void
record_free(struct record *record)
{
	free(record->directory);
	free(record->first);
	free(record->events);
	free(record->bytes);
	*record = (struct record){0};
}
