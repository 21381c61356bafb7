/* SPDX-License-Identifier: BSD-2-Clause */
/* A damaged recording is rejected, whatever the damage is. */
#include "crash/syscall_log.h"

#include "unit.h"

enum { ROOM = 4096, SESSIONS = 2, OPS = 10 };

static const uint64_t start[SESSIONS] = {5, 7};
static _Alignas(struct record_log) unsigned char memory[ROOM];
static struct record_log *const tape = (struct record_log *)memory;

/**
 * Three entries: file 1 is created as "d/a", three bytes are written to it, and it is synced.
 */
enum { CREATED, WRITTEN, SYNCED, ENTRIES };

static struct record_entry *entries[ENTRIES];

static void
put(size_t number, struct record_entry head, const char *path, const char *data)
{
	struct record_entry *entry = (struct record_entry *)(memory + tape->used);
	entries[number] = entry;
	*entry = head;
	entry->path_size = path != NULL ? (uint32_t)strlen(path) + 1 : 0;
	entry->size = (uint32_t)(sizeof(head) + 8);
	for (size_t s = 0; s < SESSIONS; s++)
		entry->moment.acked[s] = entry->moment.begun[s] = start[s];
	memcpy(entry + 1, path != NULL ? path : data, path != NULL ? entry->path_size : 3);
	tape->used += entry->size;
	tape->count++;
}

static void
begin(void)
{
	memset(memory, 0, sizeof(memory));
	record_create(tape, ROOM);
	put(CREATED, (struct record_entry){.kind = RECORD_CREATE, .file = 1}, "d/a", NULL);
	put(WRITTEN, (struct record_entry){.kind = RECORD_WRITE, .file = 1, .length = 3}, NULL,
		"xyz");
	put(SYNCED, (struct record_entry){.kind = RECORD_SYNC, .file = 1, .covers = 2}, NULL,
		"\0\0");
}

static int
checked(void)
{
	return record_check(tape,
		&(struct record_limits){
			.capacity = ROOM, .sessions = SESSIONS, .start = start, .ops = OPS});
}

static void
is_refused(const char *why)
{
	ck_assert_int_eq(checked(), NB_ERR_DATA);
	ck_assert_msg(strstr(nb_error_text(), why) != NULL, "%s", nb_error_text());
	begin();
}

static void
path_is_refused(const char *path, const char *why)
{
	memcpy(entries[CREATED] + 1, path, strlen(path) + 1);
	entries[CREATED]->path_size = (uint32_t)strlen(path) + 1;
	is_refused(why);
}

TEST(recorded_log_passes)
{
	begin();
	ck_assert_int_eq(checked(), NB_OK);
	tape->count = 2; /* the process ended before it counted the third entry */
	ck_assert_int_eq(checked(), NB_OK);
	record_create(tape, ROOM);
	ck_assert_int_eq(checked(), NB_OK);
}

TEST(invalid_head_is_refused)
{
	begin();
	tape->used = ROOM + 8;
	is_refused("it is 4104 bytes long");
	tape->used = 8;
	is_refused("it is 8 bytes long");
	tape->count = UINT64_MAX;
	is_refused("entries in");
	memset(tape->blind, 'x', sizeof(tape->blind));
	is_refused("a text in it is not terminated");
}

TEST(invalid_entry_is_refused)
{
	static const uint32_t sizes[] = {0, 8, sizeof(struct record_entry) - 8,
		sizeof(struct record_entry) + 4, ROOM, UINT32_MAX - 7};
	begin();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		entries[WRITTEN]->size = sizes[i];
		is_refused("entry 1 of 3: its size is invalid");
	}
	tape->count = ENTRIES + 1; /* one entry is missing */
	is_refused("entries in");
	entries[SYNCED]->kind = RECORD_KINDS;
	is_refused("entry 2 of 3: its kind is unknown");
	entries[WRITTEN]->length = 9;
	is_refused("its paths and data exceed its size");
	entries[WRITTEN]->length = INT64_MAX;
	is_refused("its paths and data exceed its size");
	entries[WRITTEN]->path_size = entries[WRITTEN]->path2_size = UINT32_MAX;
	is_refused("its paths and data exceed its size");
	entries[WRITTEN]->offset = INT64_MAX - 2;
	is_refused("its offset is after the end of any file");
	entries[SYNCED]->length = UINT64_MAX;
	is_refused("its offset is after the end of any file");
}

TEST(reference_to_a_missing_entry_is_refused)
{
	begin();
	entries[CREATED]->file = 2;
	is_refused("entry 0 of 3: its file is unknown");
	entries[CREATED]->file = UINT64_MAX;
	is_refused("its file is unknown");
	entries[WRITTEN]->file = 0;
	is_refused("entry 1 of 3: its file is unknown");
	entries[WRITTEN]->file = 2;
	is_refused("its file is unknown");
	entries[SYNCED]->covers = 3;
	is_refused("entry 2 of 3: it syncs later entries");
}

TEST(path_outside_the_directory_is_refused)
{
	static const char *const paths[] = {
		"/", "/a", "..", "../a", "d/..", "d/./a", ".", "d//a", "d/"};
	begin();
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		path_is_refused(paths[i], "entry 0 of 3: its path leads out of the database");
	entries[CREATED]->path_size--;
	is_refused("its path has a wrong length");
	entries[CREATED]->path_size++;
	is_refused("its path has a wrong length");
	entries[CREATED]->path2_size = 1;
	memcpy(entries[CREATED] + 1, "d/a\0x", 5);
	is_refused("its path has a wrong length");
	memcpy(entries[CREATED] + 1, "..a", 4);
	ck_assert_int_eq(checked(), NB_OK);
}

TEST(moment_with_impossible_counts_is_refused)
{
	begin();
	entries[WRITTEN]->moment.acked[1] = start[1] + OPS;
	entries[WRITTEN]->moment.begun[1] = start[1] + OPS;
	ck_assert_int_eq(checked(), NB_OK);
	entries[WRITTEN]->moment.begun[1]++;
	is_refused("entry 1 of 3: its counts of operations are impossible");
	entries[WRITTEN]->moment.acked[0] = start[0] - 1;
	is_refused("its counts of operations are impossible");
	entries[WRITTEN]->moment.acked[0] = start[0] + 1;
	is_refused("its counts of operations are impossible");
	entries[CREATED]->kind = RECORD_BASE; /* existed before the recording */
	memset(&entries[CREATED]->moment, 0, sizeof(entries[CREATED]->moment));
	ck_assert_int_eq(checked(), NB_OK);
}
