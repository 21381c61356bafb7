/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handmade recordings for which the possible states after a power loss are known. Each state
 * that occurs is one of them, and each of them occurs.
 */
#include "crash/image.h"

#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

enum { LOG_BYTES = 1 << 20, SEEDS = 200, PAGE = 4096 };

static struct record_log *tape;

void
unit_setup(void)
{
	tape = calloc(1, LOG_BYTES);
	ck_assert_ptr_nonnull(tape);
	record_create(tape, LOG_BYTES);
}

void
unit_teardown(void)
{
	free(tape);
}

/** Append `head`. Returns its number. */
static uint64_t
put(struct record_entry head, const char *path, const char *path2, const void *data)
{
	size_t path_size = path != NULL ? strlen(path) + 1 : 0;
	size_t path2_size = path2 != NULL ? strlen(path2) + 1 : 0;
	size_t size = sizeof(head) + path_size + path2_size + (data != NULL ? head.length : 0);
	struct record_entry *entry = (struct record_entry *)((char *)tape + tape->used);
	*entry = head;
	entry->size = (uint32_t)((size + 7) / 8 * 8);
	entry->path_size = (uint32_t)path_size;
	entry->path2_size = (uint32_t)path2_size;
	char *to = (char *)(entry + 1);
	memcpy(to, path != NULL ? path : "", path_size);
	memcpy(to + path_size, path2 != NULL ? path2 : "", path2_size);
	if (data != NULL)
		memcpy(to + path_size + path2_size, data, head.length);
	tape->used += entry->size;
	return tape->count++;
}

static void
create(uint64_t file, const char *path)
{
	put((struct record_entry){.kind = RECORD_CREATE, .file = file}, path, NULL, NULL);
}

/** Write `size` copies of the letter. */
static void
fill(uint64_t file, uint64_t offset, uint64_t size, char letter)
{
	char *data = malloc(size);
	memset(data, letter, size);
	put(
		(struct record_entry){
			.kind = RECORD_WRITE, .file = file, .offset = offset, .length = size},
		NULL, NULL, data);
	free(data);
}

/** A sync that begins after all earlier calls have completed, and returns at once. */
static void
sync_file(uint64_t file)
{
	put((struct record_entry){.kind = RECORD_SYNC, .file = file, .covers = tape->count},
		NULL, NULL, NULL);
}

static void
sync_names(const char *path)
{
	put((struct record_entry){.kind = RECORD_SYNC_DIR, .covers = tape->count}, path, NULL,
		NULL);
}

static void
move(uint64_t file, const char *from, const char *to)
{
	put((struct record_entry){.kind = RECORD_RENAME, .file = file}, from, to, NULL);
}

/* ---- states ---- */

/**
 * The content of a file, in short form: runs of letters as "x5", zeros as ".3". "-": no file.
 */
static void
describe(char *text, size_t room, const char *dir, const char *name)
{
	char path[128];
	size_t size, length = 0;
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (access(path, F_OK) != 0) {
		snprintf(text, room, "-");
		return;
	}
	uint8_t *data = file_get(path, &size);
	text[0] = '\0';
	for (size_t at = 0, end; at < size; at = end) {
		for (end = at; end < size && data[end] == data[at]; end++)
			continue;
		length += (size_t)snprintf(text + length, room - length, "%c%zu",
			data[at] != 0 ? data[at] : '.', end - at);
	}
	free(data);
}

/** All distinct states of these files at moment `done`, as "a=x5 b=-". */
struct seen {
	char states[64][128];
	size_t count;
};

static void
see(struct seen *seen, const char *state)
{
	for (size_t i = 0; i < seen->count; i++)
		if (strcmp(seen->states[i], state) == 0)
			return;
	ck_assert_uint_lt(seen->count, 64);
	strcpy(seen->states[seen->count++], state);
}

/** Collect the states of kind `kind`. IMAGE_KINDS: all kinds that a power loss has. */
static void
look(struct seen *seen, uint64_t done, uint32_t kind, uint32_t file_system,
	const char *const *names)
{
	struct image *image;
	*seen = (struct seen){.count = 0};
	ck_assert_int_eq(image_new(&image, tape, NULL), 0);
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		char state[128] = "", part[100];
		uint32_t of_all = IMAGE_NONE + (uint32_t)seed % (IMAGE_KINDS - IMAGE_NONE);
		struct image_choice choice = {.kind = kind != IMAGE_KINDS ? kind : of_all,
			.file_system = file_system,
			.seed = seed};
		image_make(image, done, &choice);
		ck_assert_int_eq(image_write(image, "state"), 0);
		for (const char *const *name = names; *name != NULL; name++) {
			describe(part, sizeof(part), "state", *name);
			snprintf(state + strlen(state), sizeof(state) - strlen(state),
				"%s%s=%s", state[0] != '\0' ? " " : "", *name, part);
		}
		see(seen, state);
		nftw("state", scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
	}
	image_delete(image);
}

/** Exactly these states were seen. */
static void
states_are(const struct seen *seen, const char *const *wanted)
{
	size_t count = 0;
	for (; wanted[count] != NULL; count++) {
		size_t i = 0;
		while (i < seen->count && strcmp(seen->states[i], wanted[count]) != 0)
			i++;
		ck_assert_msg(i < seen->count, "state never appears: %s", wanted[count]);
	}
	for (size_t i = 0; i < seen->count; i++) {
		size_t w = 0;
		while (w < count && strcmp(seen->states[i], wanted[w]) != 0)
			w++;
		ck_assert_msg(w < count, "unexpected state: %s", seen->states[i]);
	}
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void
all_are(uint64_t done, uint32_t kind, uint32_t file_system, const char *const *names,
	const char *const *wanted)
{
	struct seen seen;
	look(&seen, done, kind, file_system, names);
	states_are(&seen, wanted);
}

/* ---- the promises ---- */

TEST(unsynced_data_may_be_lost_or_stay)
{
	create(1, "a");
	fill(1, 0, 5, 'x');
	all_are(2, IMAGE_WHOLE, NB_CRASH_JOURNALLED, NAMES("a"), NAMES("a=x5"));
	all_are(2, IMAGE_NONE, NB_CRASH_JOURNALLED, NAMES("a"), NAMES("a=-", "a=", "a=.5"));
	all_are(2, IMAGE_KINDS, NB_CRASH_JOURNALLED, NAMES("a"),
		NAMES("a=-", "a=", "a=.5", "a=x5"));
}

TEST(sync_makes_writes_durable_that_were_complete_before_it)
{
	create(1, "a");
	fill(1, 0, PAGE, 'x');
	fill(1, PAGE, PAGE, 'y');
	/* the sync began between the two writes */
	put((struct record_entry){.kind = RECORD_SYNC, .file = 1, .covers = 2}, NULL, NULL,
		NULL);
	all_are(4, IMAGE_NONE, NB_CRASH_JOURNALLED, NAMES("a"),
		NAMES("a=x4096", "a=x4096.4096"));
	sync_file(1);
	all_are(5, IMAGE_KINDS, NB_CRASH_JOURNALLED, NAMES("a"), NAMES("a=x4096y4096"));
	/* and has not returned, so it promises nothing */
	all_are(4, IMAGE_NONE, NB_CRASH_JOURNALLED, NAMES("a"),
		NAMES("a=x4096", "a=x4096.4096"));
}

TEST(sync_of_a_range_covers_its_pages)
{
	create(1, "a");
	fill(1, 0, 2 * PAGE, 'x');
	sync_file(1);
	fill(1, 0, 2 * PAGE, 'y');
	put((struct record_entry){.kind = RECORD_SYNC,
		    .file = 1,
		    .covers = 4,
		    .offset = PAGE,
		    .length = 1},
		NULL, NULL, NULL);
	all_are(5, IMAGE_NONE, NB_CRASH_JOURNALLED, NAMES("a"), NAMES("a=x4096y4096"));
}

TEST(rename_without_a_sync_may_come_before_the_data)
{
	create(1, "a");
	fill(1, 0, 3, 'x');
	sync_file(1);
	create(2, "b");
	fill(2, 0, 4, 'y');
	move(2, "b", "a");
	all_are(6, IMAGE_NONE, NB_CRASH_JOURNALLED, NAMES("a", "b"),
		NAMES("a=x3 b=-", "a=x3 b=", "a=x3 b=.4", "a= b=-", "a=.4 b=-"));
}

TEST(rename_after_a_sync_is_the_old_or_the_new)
{
	create(1, "a");
	fill(1, 0, 3, 'x');
	sync_file(1);
	create(2, "b");
	fill(2, 0, 4, 'y');
	sync_file(2);
	move(2, "b", "a");
	all_are(7, IMAGE_KINDS, NB_CRASH_JOURNALLED, NAMES("a"), NAMES("a=x3", "a=y4"));
	sync_names("");
	all_are(8, IMAGE_KINDS, NB_CRASH_JOURNALLED, NAMES("a", "b"), NAMES("a=y4 b=-"));
}

TEST(journal_keeps_names_in_their_order)
{
	create(1, "a");
	create(2, "b");
	all_are(2, IMAGE_KINDS, NB_CRASH_JOURNALLED, NAMES("a", "b"),
		NAMES("a=- b=-", "a= b=-", "a= b="));
	all_are(2, IMAGE_KINDS, NB_CRASH_POSIX, NAMES("a", "b"),
		NAMES("a=- b=-", "a= b=-", "a=- b=", "a= b="));
}

TEST(posix_name_needs_a_sync_of_its_directory_to_be_durable)
{
	put((struct record_entry){.kind = RECORD_MKDIR}, "d", NULL, NULL);
	sync_names("");
	create(1, "d/a");
	fill(1, 0, 3, 'x');
	sync_file(1);
	all_are(5, IMAGE_NONE, NB_CRASH_JOURNALLED, NAMES("d/a"), NAMES("d/a=x3"));
	all_are(5, IMAGE_NONE, NB_CRASH_POSIX, NAMES("d/a"), NAMES("d/a=-", "d/a=x3"));
	sync_names(""); /* another directory */
	all_are(6, IMAGE_NONE, NB_CRASH_POSIX, NAMES("d/a"), NAMES("d/a=-", "d/a=x3"));
	sync_names("d");
	all_are(7, IMAGE_KINDS, NB_CRASH_POSIX, NAMES("d/a"), NAMES("d/a=x3"));
}

/*
 * Only a commit of the journal makes names of other files durable. A sync of a file with
 * nothing in the journal does not commit it.
 */
TEST(sync_of_an_overwrite_makes_no_other_name_durable)
{
	create(1, "a");
	fill(1, 0, PAGE, 'x');
	sync_file(1);
	create(2, "b");
	fill(1, 0, PAGE, 'y');
	sync_file(1);
	all_are(6, IMAGE_NONE, NB_CRASH_JOURNALLED, NAMES("a", "b"),
		NAMES("a=y4096 b=-", "a=y4096 b="));
	fill(1, PAGE, 1, 'z'); /* the file grows */
	sync_file(1);
	all_are(8, IMAGE_NONE, NB_CRASH_JOURNALLED, NAMES("b"), NAMES("b="));
}

TEST(data_in_new_blocks_is_not_older_than_metadata_before_it)
{
	create(1, "a");
	sync_file(1);
	create(2, "b");
	fill(1, 0, 3, 'x');
	all_are(4, IMAGE_KINDS, NB_CRASH_JOURNALLED, NAMES("a", "b"),
		NAMES("a= b=-", "a= b=", "a=.3 b=-", "a=.3 b=", "a=x3 b="));
}

TEST(torn_page_is_torn_between_sectors)
{
	struct seen seen;
	create(1, "a");
	fill(1, 0, PAGE, 'x');
	sync_file(1);
	fill(1, 0, PAGE, 'y');
	look(&seen, 4, IMAGE_TORN, NB_CRASH_JOURNALLED, NAMES("a"));
	for (size_t i = 0; i < seen.count; i++) {
		char first, second;
		unsigned one = 0, other = 0;
		ck_assert_int_eq(
			sscanf(seen.states[i], "a=%c%u%c%u", &first, &one, &second, &other), 4);
		ck_assert_int_ne(first, second);
		ck_assert_uint_eq(one % 512, 0);
		ck_assert_uint_eq(one + other, PAGE);
	}
	ck_assert_uint_eq(seen.count, 2 * 7); /* 7 tears, new part first or last */
}

/* Either two writes of one page reach the disk together, or the second alone is torn. */
TEST(writes_of_a_torn_page_are_torn_together_or_in_order)
{
	create(1, "a");
	fill(1, 0, PAGE, 'x');
	sync_file(1);
	fill(1, 0, 600, 'y');
	fill(1, 600, 600, 'z'); /* both writes span two sectors */
	struct seen seen;
	look(&seen, 5, IMAGE_TORN, NB_CRASH_JOURNALLED, NAMES("a"));
	states_are(&seen,
		NAMES("a=y512x3584", "a=x512y88x3496",            /* the first alone */
			"a=y600z424x3072", "a=y600x424z176x2896", /* after the first */
			"a=x1024z176x2896"));                     /* together */
}

TEST(head_or_end_of_the_pending_writes_of_a_file_is_lost)
{
	create(1, "a");
	fill(1, 0, 100, 'x');
	create(2, "b");
	sync_file(1);
	sync_file(2);
	fill(2, 0, 3, 'b'); /* has only one page */
	fill(1, 100, 3 * PAGE, 'y');
	all_are(7, IMAGE_HEAD_LOST, NB_CRASH_JOURNALLED, NAMES("a", "b"),
		NAMES("a=x100.3996y8292 b=b3", "a=x100.8092y4196 b=b3",
			"a=x100.12188y100 b=b3"));
	all_are(7, IMAGE_END_LOST, NB_CRASH_JOURNALLED, NAMES("a", "b"),
		NAMES("a=x100y12188 b=b3", "a=x100y12188.100 b=b3", "a=x100y8092 b=b3",
			"a=x100y8092.4196 b=b3", "a=x100y3996 b=b3", "a=x100y3996.8292 b=b3"));
}

TEST(names_may_be_durable_without_data_and_data_without_names)
{
	create(1, "log");
	fill(1, 0, 3, 'x');
	create(2, "new");
	sync_file(1);
	fill(2, 0, 3, 'y');
	move(2, "new", "old");
	put((struct record_entry){.kind = RECORD_TRUNCATE, .file = 1, .offset = 0}, NULL, NULL,
		NULL);
	all_are(7, IMAGE_NAMES, NB_CRASH_JOURNALLED, NAMES("log", "old"),
		NAMES("log= old=", "log= old=.3"));
	all_are(7, IMAGE_DATA, NB_CRASH_JOURNALLED, NAMES("log", "old"), NAMES("log=x3 old=-"));
}

TEST(stakes_are_the_possible_losses_at_each_entry)
{
	enum { SYNCED_BY_TWO = IMAGE_STAKE_ANY | IMAGE_STAKE_NAMES | IMAGE_STAKE_PAIR };
	uint8_t stakes[16], wanted[16] = {0};
	struct image *image;
	create(1, "log");
	wanted[1] = IMAGE_STAKE_ANY | IMAGE_STAKE_NAMES;
	sync_file(1);
	fill(1, 0, 100, 'a'); /* within one sector */
	wanted[3] = IMAGE_STAKE_ANY | IMAGE_STAKE_PAIR;
	sync_file(1);
	put((struct record_entry){.kind = RECORD_POINT}, NULL, NULL, NULL);
	fill(1, 500, 100, 'b'); /* in two sectors */
	wanted[6] = IMAGE_STAKE_ANY | IMAGE_STAKE_PAGES;
	sync_file(1);
	create(2, "new");
	fill(2, 0, 100, 'c');
	fill(2, PAGE, 100, 'd');
	move(2, "new", "old");
	wanted[11] = SYNCED_BY_TWO | IMAGE_STAKE_PAGES;
	sync_names(""); /* makes the name durable, but not the data */
	wanted[12] = IMAGE_STAKE_ANY | IMAGE_STAKE_PAGES | IMAGE_STAKE_NAMES;
	put((struct record_entry){.kind = RECORD_POINT}, NULL, NULL, NULL);
	wanted[13] = wanted[12];
	sync_file(2);
	put((struct record_entry){.kind = RECORD_POINT}, NULL, NULL, NULL);
	ck_assert_int_eq(image_new(&image, tape, NULL), 0);
	ck_assert_uint_eq(image_count(image), 15);
	image_find_stakes(image, stakes);
	for (size_t i = 0; i < 15; i++)
		ck_assert_msg(stakes[i] == wanted[i], "entry %zu: %u, not %u", i, stakes[i],
			wanted[i]);
	image_delete(image);
}

TEST(lost_end_of_a_file_is_missing_or_zeros)
{
	create(1, "a");
	fill(1, 0, 100, 'x');
	sync_file(1);
	fill(1, 100, 5000, 'y');
	all_are(4, IMAGE_NONE, NB_CRASH_JOURNALLED, NAMES("a"), NAMES("a=x100", "a=x100.5000"));
	/* 3996 bytes are in the first page, 1004 in the second; each part exists or not */
	all_are(4, IMAGE_RANDOM, NB_CRASH_JOURNALLED, NAMES("a"),
		NAMES("a=x100", "a=x100.5000", "a=x100y3996", "a=x100y3996.1004",
			"a=x100.3996y1004", "a=x100y5000"));
}

TEST(writes_reach_a_page_in_order)
{
	create(1, "a");
	fill(1, 0, 3, 'x');
	sync_file(1);
	fill(1, 0, 1, 'a');
	fill(1, 1, 1, 'b');
	fill(1, 2, 1, 'c');
	all_are(6, IMAGE_KINDS, NB_CRASH_POSIX, NAMES("a"),
		NAMES("a=-", "a=x3", "a=a1x2", "a=a1b1x1", "a=a1b1c1"));
}

TEST(write_in_flight_is_allowed_but_not_required)
{
	create(1, "a");
	sync_file(1);
	fill(1, 0, 2 * PAGE, 'x');
	all_are(2, IMAGE_WHOLE, NB_CRASH_JOURNALLED, NAMES("a"), NAMES("a="));
	all_are(2, IMAGE_PART, NB_CRASH_JOURNALLED, NAMES("a"), NAMES("a=x4096", "a=x8192"));
	all_are(2, IMAGE_RANDOM, NB_CRASH_JOURNALLED, NAMES("a"),
		NAMES("a=", "a=.8192", "a=x4096", "a=x4096.4096", "a=.4096x4096", "a=x8192"));
}

TEST(lost_truncate_also_loses_later_writes_after_the_cut)
{
	create(1, "a");
	fill(1, 0, 2 * PAGE, 'x');
	sync_file(1);
	put((struct record_entry){.kind = RECORD_TRUNCATE, .file = 1, .offset = 0}, NULL, NULL,
		NULL);
	fill(1, 0, PAGE, 'y');
	struct seen seen;
	look(&seen, 5, IMAGE_KINDS, NB_CRASH_JOURNALLED, NAMES("a"));
	ck_assert_uint_gt(seen.count, 3);
	for (size_t i = 0; i < seen.count; i++)
		ck_assert_msg(strcmp(seen.states[i], "a=x8192") == 0 ||
				strchr(seen.states[i], 'x') == NULL,
			"%s", seen.states[i]);
}

TEST(sync_of_all_covers_all)
{
	create(1, "a");
	create(2, "b");
	fill(2, 0, 3, 'x');
	put((struct record_entry){.kind = RECORD_SYNC_ALL, .covers = 3}, NULL, NULL, NULL);
	all_are(4, IMAGE_KINDS, NB_CRASH_POSIX, NAMES("a", "b"), NAMES("a= b=x3"));
}

TEST(unlinked_file_returns_only_unchanged)
{
	create(1, "a");
	fill(1, 0, 3, 'x');
	sync_file(1);
	put((struct record_entry){.kind = RECORD_UNLINK}, "a", NULL, NULL);
	create(2, "a");
	fill(2, 0, 2, 'y');
	sync_file(2);
	all_are(4, IMAGE_KINDS, NB_CRASH_JOURNALLED, NAMES("a"), NAMES("a=-", "a=x3", "a="));
	all_are(7, IMAGE_KINDS, NB_CRASH_JOURNALLED, NAMES("a"), NAMES("a=y2"));
}

/* A sync of a directory makes its new entries durable, whatever the directory is called now. */
TEST(renamed_directory_keeps_its_identity)
{
	put((struct record_entry){.kind = RECORD_MKDIR}, "new", NULL, NULL);
	create(1, "new/a");
	put((struct record_entry){.kind = RECORD_RENAME}, "new", "old", NULL);
	sync_names("");
	all_are(4, IMAGE_KINDS, NB_CRASH_POSIX, NAMES("old/a"), NAMES("old/a=-", "old/a="));
	sync_names("old");
	all_are(5, IMAGE_KINDS, NB_CRASH_POSIX, NAMES("old/a"), NAMES("old/a="));
	all_are(5, IMAGE_KINDS, NB_CRASH_JOURNALLED, NAMES("old/a"), NAMES("old/a="));
}

TEST(links_and_directories_move_with_their_names)
{
	size_t size;
	struct image *image;
	char text[256];
	struct stat one, other;
	put((struct record_entry){.kind = RECORD_MKDIR}, "d", NULL, NULL);
	create(1, "d/a");
	fill(1, 0, 3, 'x');
	put((struct record_entry){.kind = RECORD_LINK, .file = 1}, NULL, "d/b", NULL);
	put((struct record_entry){.kind = RECORD_RENAME}, "d", "e", NULL);
	ck_assert_int_eq(image_new(&image, tape, NULL), 0);
	image_make(image, 5, &(struct image_choice){.kind = IMAGE_WHOLE});
	ck_assert_int_eq(image_write(image, "moved"), 0);
	free(file_get("moved/e/a", &size));
	ck_assert_uint_eq(size, 3);
	ck_assert_int_eq(stat("moved/e/a", &one), 0);
	ck_assert_int_eq(stat("moved/e/b", &other), 0);
	ck_assert_uint_eq(one.st_ino, other.st_ino);
	ck_assert_int_ne(access("moved/d", F_OK), 0);
	ck_assert_int_eq(image_differs(image, "moved", text, sizeof(text)), 0);
	file_put("moved/e/a", "xyx", 3);
	ck_assert_int_eq(image_differs(image, "moved", text, sizeof(text)), 1);
	ck_assert_msg(strstr(text, "has other bytes") != NULL, "%s", text);
	file_put("moved/new", "", 0);
	ck_assert_int_eq(unlink("moved/e/a"), 0);
	ck_assert_int_eq(unlink("moved/e/b"), 0);
	ck_assert_int_eq(image_differs(image, "moved", text, sizeof(text)), 1);
	ck_assert_str_eq(text, "new is there");
	image_delete(image);
}

static struct image *
written(const char *path)
{
	struct image *image;
	char text[256] = "";
	ck_assert_int_eq(image_new(&image, tape, NULL), 0);
	image_make(image, image_count(image), &(struct image_choice){.kind = IMAGE_WHOLE});
	ck_assert_int_eq(image_write(image, path), 0);
	ck_assert_msg(image_differs(image, path, text, sizeof(text)) == 0, "%s", text);
	return image;
}

/* An older directory moves into a newer one. */
TEST(directory_exists_before_its_entries)
{
	scratch_fresh("order");
	put((struct record_entry){.kind = RECORD_MKDIR}, "inner", NULL, NULL);
	create(1, "inner/a");
	put((struct record_entry){.kind = RECORD_MKDIR}, "outer", NULL, NULL);
	put((struct record_entry){.kind = RECORD_RENAME}, "inner", "outer/inner", NULL);
	image_delete(written("state"));
	ck_assert_int_eq(access("state/outer/inner/a", F_OK), 0);
}

/* If a directory is replaced, its content disappears. */
TEST(directory_replaces_an_existing_entry)
{
	scratch_fresh("replaced");
	put((struct record_entry){.kind = RECORD_MKDIR}, "old", NULL, NULL);
	create(1, "old/a");
	create(2, "old/b");
	put((struct record_entry){.kind = RECORD_MKDIR}, "new", NULL, NULL);
	create(3, "new/a");
	fill(3, 0, 3, 'x');
	put((struct record_entry){.kind = RECORD_RENAME}, "new", "old", NULL);
	image_delete(written("state"));
	file_is("state/old/a", "xxx", 3);
	ck_assert_int_ne(access("state/old/b", F_OK), 0);
	ck_assert_int_ne(access("state/new", F_OK), 0);
}

/* As in rename(2): renaming to the same name or to another link of the same file. */
TEST(rename_to_itself_has_no_effect)
{
	scratch_fresh("itself");
	put((struct record_entry){.kind = RECORD_MKDIR}, "d", NULL, NULL);
	create(1, "d/a");
	put((struct record_entry){.kind = RECORD_LINK, .file = 1}, NULL, "d/b", NULL);
	put((struct record_entry){.kind = RECORD_RENAME}, "d", "d", NULL);
	move(1, "d/a", "d/b");
	image_delete(written("state"));
	ck_assert_int_eq(access("state/d/a", F_OK), 0);
	ck_assert_int_eq(access("state/d/b", F_OK), 0);
}

/* The first name is in a lost directory. */
TEST(link_survives_without_the_first_name)
{
	struct image *image;
	char text[256];
	scratch_fresh("second");
	create(1, "lost/a");
	put((struct record_entry){.kind = RECORD_LINK, .file = 1}, NULL, "b", NULL);
	fill(1, 0, 3, 'x');
	ck_assert_int_eq(image_new(&image, tape, NULL), 0);
	image_make(image, 3, &(struct image_choice){.kind = IMAGE_WHOLE});
	ck_assert_int_eq(image_write(image, "state"), 0);
	file_is("state/b", "xxx", 3);
	ck_assert_int_eq(image_differs(image, "state", text, sizeof(text)), 1);
	image_delete(image);
}

/* The database directory itself, recreated or renamed, is where states are written. */
TEST(top_directory_has_no_name)
{
	scratch_fresh("top");
	put((struct record_entry){.kind = RECORD_MKDIR}, "", NULL, NULL);
	put((struct record_entry){.kind = RECORD_MKDIR}, "d", NULL, NULL);
	create(1, "d/a");
	put((struct record_entry){.kind = RECORD_RENAME}, "d", "", NULL);
	image_delete(written("state"));
	ck_assert_int_eq(access("state/d/a", F_OK), 0);
}

/* The base has a changed file, an unchanged file, and one with a hole of a gigabyte. */
TEST(base_file_exists_until_it_is_changed)
{
	struct image *image;
	char text[256];
	size_t size;
	scratch_fresh("based");
	ck_assert_int_eq(mkdir("base", 0700), 0);
	ck_assert_int_eq(mkdir("base/d", 0700), 0);
	file_put("base/a", "aaaa", 4);
	file_put("base/d/b", "bbbb", 4);
	file_put("base/hole", "h", 1);
	ck_assert_int_eq(truncate("base/hole", 1 << 30), 0);
	put((struct record_entry){.kind = RECORD_BASE, .file = 1}, "a", NULL, NULL);
	put((struct record_entry){.kind = RECORD_BASE, .file = 2}, "d/b", NULL, NULL);
	put((struct record_entry){.kind = RECORD_BASE, .file = 3}, "hole", NULL, NULL);
	fill(1, 1, 2, 'x');
	ck_assert_int_eq(image_new(&image, tape, "base"), 0);
	image_make(image, 3, &(struct image_choice){.kind = IMAGE_NONE});
	ck_assert_int_eq(image_differs(image, "base", text, sizeof(text)), 0);
	image_make(image, 4, &(struct image_choice){.kind = IMAGE_WHOLE});
	ck_assert_int_eq(image_write(image, "after"), 0);
	file_is("after/a", "axxa", 4);
	file_is("after/d/b", "bbbb", 4);
	struct stat st;
	ck_assert_int_eq(stat("after/hole", &st), 0);
	ck_assert_int_eq(st.st_size, 1 << 30);
	ck_assert_int_lt(st.st_blocks, 100);
	free(file_get("after/a", &size));
	image_delete(image);
}

TEST(choice_and_moment_determine_the_state)
{
	struct image *image;
	char text[2][256], first[2][100];
	create(1, "a");
	for (int i = 0; i < 20; i++)
		fill(1, (uint64_t)i * PAGE, PAGE, (char)('a' + i));
	ck_assert_int_eq(image_new(&image, tape, NULL), 0);
	struct image_choice choice = {.kind = IMAGE_TORN, .seed = 7}, other = {.seed = 8};
	for (int i = 0; i < 2; i++) {
		image_make(image, 15, &choice);
		image_tell(image, text[i], sizeof(text[i]));
		ck_assert_int_eq(image_write(image, "again"), 0);
		describe(first[i], sizeof(first[i]), "again", "a");
		nftw("again", scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
		image_make(image, 20, &other); /* has no effect on later states */
	}
	ck_assert_str_eq(text[0], text[1]);
	ck_assert_str_eq(first[0], first[1]);
	ck_assert_msg(strstr(text[0], "in call 15 of 21, write to a") != NULL, "%s", text[0]);
	image_delete(image);
}
