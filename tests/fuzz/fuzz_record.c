/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For libFuzzer: any bytes as a recording of the system calls that change files. A crashed
 * engine that writes into foreign memory may leave any bytes. The first bytes select:
 *
 *     byte 0    bit 0: the file system is that of POSIX; bit 1: the input is a list
 *               of calls, not a recording; bit 2: the database was not empty before
 *     byte 1    seed of the drawn states
 *
 * The rest is the recording, or four bytes for each call (make_call()). The target makes a
 * recording of the calls as the recorder would. So small changes of the input reach recordings
 * that pass the check but contain calls in an impossible order.
 *
 * A recording is rejected with a reason or accepted; one made of calls must be accepted. Each
 * state of an accepted recording must satisfy:
 *
 * - No name occurs twice.
 * - A repetition gives the same state.
 * - The state on disk is the same as in memory, except for the content of lost directories.
 * - Nothing is written beside the state.
 *
 *     tests/fuzz/fuzz_record -max_len=26000 NEW_CORPUS .../tests/fuzz/corpus/record
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/tree.h"
#include "crash/image_parts.h"
#include "crash/power.h"
#include "fuzz.h"

enum {
	STATES = 3,
	CALL = 4,
	CALLS_MAX = 200,
	ROOM = 4 << 20,
	OPS = 1000,
	IS_POSIX = 1,
	IS_CALLS = 2,
	HAS_BASE = 4
};

/* ---- recordings made of calls ---- */

static const char *const names[] = {"a", "b", "d", "d/a", "d/d", "d/d/a", "e", "e/a", "e/d",
	"f", "f/a", "b/a", "e/d/a", "f/e", "f/e/d", ""};

static const char *
name_at(uint8_t number)
{
	return names[number % (sizeof(names) / sizeof(*names))];
}

static void
add(struct record_log *log, struct record_entry entry, const char *path, const char *path2)
{
	char *to = (char *)log + log->used;
	size_t data = record_has_data(&entry) ? entry.length : 0;
	entry.path_size = path != NULL ? (uint32_t)strlen(path) + 1 : 0;
	entry.path2_size = path2 != NULL ? (uint32_t)strlen(path2) + 1 : 0;
	entry.size = (uint32_t)((sizeof(entry) + entry.path_size + entry.path2_size + data +
					7) &
		~(size_t)7);
	memset(to, 'A' + (int)(log->count % 26), entry.size);
	memcpy(to, &entry, sizeof(entry));
	if (path != NULL)
		memcpy(to + sizeof(entry), path, entry.path_size);
	if (path2 != NULL)
		memcpy(to + sizeof(entry) + entry.path_size, path2, entry.path2_size);
	log->used += entry.size;
	log->count++;
}

/**
 * Make a call of four bytes: its kind, its file, and two numbers that select names or offsets.
 * `files`: the number of files so far.
 */
static void
make_call(struct record_log *log, const uint8_t call[CALL], uint64_t *files)
{
	struct record_entry entry = {.kind = call[0] % RECORD_KINDS};
	const char *path = name_at(call[2]), *path2 = name_at(call[3]);
	bool is_new = entry.kind == RECORD_CREATE || entry.kind == RECORD_BASE;
	bool has_file = entry.kind <= RECORD_SYNC || entry.kind == RECORD_LINK ||
		(entry.kind == RECORD_RENAME && call[1] % 4 != 0);
	if (has_file && !is_new && *files == 0)
		return;
	if (has_file)
		entry.file = is_new ? ++*files : 1 + call[1] % *files;
	if (record_has_data(&entry) || entry.kind == RECORD_TRUNCATE ||
		entry.kind == RECORD_SYNC)
		entry.offset = (uint64_t)call[2] * 97;
	if (record_has_data(&entry) || entry.kind == RECORD_SYNC)
		entry.length = (uint64_t)call[3] * 37;
	if (record_is_sync(&entry))
		entry.covers = log->count - log->count * (call[1] / 16) / 16;
	if (entry.kind == RECORD_RENAME)
		add(log, entry, path, path2);
	else if (entry.kind == RECORD_LINK)
		add(log, entry, NULL, path2);
	else if (is_new || entry.kind == RECORD_SYNC_DIR ||
		(entry.kind > RECORD_LINK && entry.kind != RECORD_POINT))
		add(log, entry, entry.kind == RECORD_CREATE && call[1] == 0 ? NULL : path,
			NULL);
	else
		add(log, entry, NULL, NULL);
}

/** A recording in memory that ends exactly where the recording ends. */
static struct record_log *
of_calls(const uint8_t *data, size_t size)
{
	static _Alignas(struct record_log) uint8_t room[ROOM];
	struct record_log *log = (struct record_log *)room, *fitting;
	uint64_t files = 0;
	record_create(log, ROOM);
	for (size_t i = 0; i + CALL <= size && i < CALLS_MAX * CALL; i += CALL)
		make_call(log, data + i, &files);
	fitting = malloc(log->used);
	require(fitting != NULL, "memory is available");
	return memcpy(fitting, log, log->used);
}

/** The bytes as a recording, padded with zeros to the size of a header. */
static struct record_log *
of_bytes(const uint8_t *data, size_t size, uint64_t *capacity)
{
	*capacity = size > sizeof(struct record_log) ? size : sizeof(struct record_log);
	uint8_t *log = calloc(1, *capacity);
	require(log != NULL, "memory is available");
	if (size > 0)
		memcpy(log, data, size);
	return (struct record_log *)log;
}

/* ---- checks ---- */

static char top[FUZZ_PATH], place[FUZZ_PATH + 8], base[FUZZ_PATH];

static void
remove_all(void)
{
	tree_drop(top);
	tree_drop(base);
}

static void
make_base(const char *name, off_t size)
{
	char path[FUZZ_PATH + 8];
	snprintf(path, sizeof(path), "%s/%s", base, name);
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	require(fd >= 0 && pwrite(fd, "base", 4, size - 4) == 4, "the file can be written");
	close(fd);
}

/** Create, once, the directory for states and the base of some recordings. */
static void
make_places(void)
{
	char path[FUZZ_PATH + 8];
	mkdir(place_of("record", top), 0700);
	snprintf(place, sizeof(place), "%s/state", top);
	mkdir(place_of("base", base), 0700);
	snprintf(path, sizeof(path), "%s/d", base);
	mkdir(path, 0700);
	make_base("a", 5000);
	make_base("d/a", 4);
	make_base("f", 1 << 20);
	atexit(remove_all);
}

static void
check_names(const struct image_names *state)
{
	for (size_t i = 0; i < state->count; i++)
		for (size_t j = 0; j < i; j++)
			require(strcmp(state->names[i].path, state->names[j].path) != 0,
				"each name has one file");
}

/** Whether all names of the state exist on disk. A name must exist if its directory exists. */
static bool
is_whole(const struct image_names *state)
{
	char path[FUZZ_PATH + 8 + PATH_MAX];
	struct stat st;
	bool is_all = true;
	for (size_t i = 0; i < state->count; i++) {
		snprintf(path, sizeof(path), "%s/%s", place, state->names[i].path);
		if (lstat(path, &st) == 0)
			continue;
		is_all = false;
		*strrchr(path, '/') = '\0';
		require(lstat(path, &st) != 0 || !S_ISDIR(st.st_mode),
			"a missing name has a missing directory");
	}
	return is_all;
}

static void
check_state(struct image *image, const struct power_draw *draw, uint32_t file_system)
{
	char text[CRASH_TEXT_SIZE], again[CRASH_TEXT_SIZE];
	const struct image_choice choice = {draw->kind, file_system, draw->seed};
	image_make(image, draw->done, &choice);
	check_names(&image->names);
	image_tell(image, text, sizeof(text));
	require(text[0] != '\0', "the state has a description");
	if (image_write(image, place) == NB_OK) {
		bool is_all = is_whole(&image->names);
		image_make(image, draw->done, &choice);
		image_tell(image, again, sizeof(again));
		require(strcmp(text, again) == 0, "the same choice makes the same state");
		int rc = image_differs(image, place, again, sizeof(again));
		require(rc == (is_all ? 0 : 1), rc == 1 ? again : "the comparison succeeds");
	} else { /* a file too large, a name too long */
		require(strstr(nb_error_text(), place) != NULL, "the error names the place");
	}
	tree_drop(place);
}

static void
check_beside(void)
{
	require(rmdir(top) == 0, "a state makes no files outside its directory");
	mkdir(top, 0700);
}

static void
read_recording(const struct record_log *log, uint8_t what, uint8_t lot)
{
	struct image *image;
	struct power_moments moments;
	struct rng rng;
	uint32_t file_system = (what & IS_POSIX) != 0 ? NB_CRASH_POSIX : NB_CRASH_JOURNALLED;
	rng_create(&rng, lot);
	require(image_new(&image, log, (what & HAS_BASE) != 0 ? base : NULL) == NB_OK,
		"an image can be made of the log");
	require(power_moments_create(&moments, image, log->is_coarse != 0) == NB_OK,
		"the moments can be listed");
	for (uint64_t i = 0; i < STATES; i++) {
		struct power_draw draw;
		power_draw(&draw, &moments, i, STATES, lot % 4 != 0, &rng);
		require(draw.done <= image_count(image), "the moment is in the log");
		check_state(image, &draw, file_system);
	}
	power_moments_destroy(&moments);
	image_delete(image);
	check_beside();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t start[CRASH_SESSIONS_MAX];
	struct record_limits limits = {
		.capacity = ROOM, .sessions = 2, .start = start, .ops = OPS};
	if (size < 2)
		return 0;
	if (top[0] == '\0')
		make_places();
	bool is_calls = (data[0] & IS_CALLS) != 0;
	struct record_log *log = is_calls ? of_calls(data + 2, size - 2)
					  : of_bytes(data + 2, size - 2, &limits.capacity);
	int rc = record_check(log, &limits);
	require(rc == NB_OK || !is_calls, "a log of recorded calls is valid");
	if (rc == NB_OK)
		read_recording(log, data[0], data[1]);
	else
		require(rc == NB_ERR_DATA && strchr(nb_error_text(), '\n') == NULL,
			"the error has a reason of one line");
	free(log);
	return 0;
}
