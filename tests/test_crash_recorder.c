/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recorded programs that use every call that changes files. Replaying the recording must give
 * the same files, byte for byte. The recorder is preloaded.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "crash/image.h"
#include "crash/preload.h"
#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

#define LOG_BYTES (UINT64_C(64) << 20)
#define MUST(call) must((call) >= 0, #call)

/*
 * This program contains the library's own functions of these names, which count syncs
 * (run/syncs.c).
 */
#define NEXT(name, params, args) \
	static int next_##name params \
	{ \
		int(*call) params; \
		*(void **)&call = dlsym(RTLD_NEXT, #name); \
		return call args; \
	}
NEXT(fsync, (int fd), (fd))
NEXT(fdatasync, (int fd), (fd))
NEXT(syncfs, (int fd), (fd))
NEXT(msync, (void *at, size_t size, int flags), (at, size, flags))
#define fsync next_fsync
#define fdatasync next_fdatasync
#define syncfs next_syncfs
#define msync next_msync

static struct record_log *tape;
static struct crash_progress *board;
static struct preload recorder;

/* For the child, in which Check's assertions would not be reported. */
static void
must(bool is_done, const char *what)
{
	if (is_done)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	_exit(EXIT_FAILURE);
}

/** Execute `work` in the directory `database`, recorded, in a child process. */
static void
run_recorded(void (*work)(void))
{
	int status;
	ck_assert(preload_find(&recorder));
	tape = mmap(NULL, LOG_BYTES, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ck_assert_ptr_ne(tape, MAP_FAILED);
	record_create(tape, LOG_BYTES);
	board = crash_share(sizeof(*board));
	ck_assert_ptr_nonnull(board);
	pid_t pid = fork();
	if (pid == 0) {
		must(recorder.begin("database", tape, board, 1) == 0, "begin");
		MUST(chdir("database"));
		work();
		recorder.point();
		_exit(EXIT_SUCCESS);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(tape->is_full, 0);
	static const uint64_t start[1];
	ck_assert_msg(record_check(tape,
			      &(struct record_limits){.capacity = LOG_BYTES,
				      .sessions = 1,
				      .start = start,
				      .ops = 1000}) == 0,
		"%s", nb_error_text());
}

static void
end_recorded(void)
{
	munmap(board, sizeof(*board));
	munmap(tape, LOG_BYTES);
}

/** The recording gives the existing files, and no write has escaped it. */
static void
is_complete(void (*work)(void))
{
	char text[512] = "";
	struct image *image;
	ck_assert_int_eq(system("cp -a database base"), 0);
	run_recorded(work);
	ck_assert_msg(tape->is_blind == 0, "%s", tape->blind);
	ck_assert_int_eq(image_new(&image, tape, "base"), 0);
	image_make(image, image_count(image), &(struct image_choice){.kind = IMAGE_WHOLE});
	int rc = image_differs(image, "database", text, sizeof(text));
	ck_assert_msg(rc == 0, "%s", text);
	ck_assert_int_eq(image_write(image, "again"), 0);
	ck_assert_int_eq(system("diff -r database again"), 0);
	image_delete(image);
	end_recorded();
}

void
unit_setup(void)
{
	char name[16];
	snprintf(name, sizeof(name), "%d", (int)getpid()); /* each test is a process */
	scratch_fresh(name);
	ck_assert_int_eq(mkdir("database", 0700), 0);
}

static int
made(const char *path, int flags)
{
	int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC | flags, 0644);
	must(fd >= 0, path);
	return fd;
}

/* ---- writing ---- */

static void
write_in_each_way(void)
{
	char pages[10000];
	memset(pages, 'p', sizeof(pages));
	const struct iovec pieces[] = {{pages, 3000}, {pages, 0}, {pages, 7000}};
	int fd = made("a", 0);
	MUST(write(fd, "hello", 5));
	MUST(pwrite(fd, "J", 1, 0));
	MUST(writev(fd, pieces, 3));
	MUST(pwritev(fd, pieces, 3, 20001));
	MUST(pwritev2(fd, pieces, 3, -1, 0));
	MUST(pwritev2(fd, pieces, 3, 70000, RWF_DSYNC));
	MUST(lseek(fd, 100000, SEEK_SET));
	int other = dup(fd);
	MUST(write(other, "behind a hole", 13));
	MUST(write(fcntl(fd, F_DUPFD_CLOEXEC, 50), "and", 3));
	int end = made("a", O_APPEND);
	MUST(write(end, "at the end", 10));
	MUST(pwrite(end, "and here", 8, 3)); /* Linux appends in any case */
	MUST(pwritev2(fd, pieces, 1, 0, RWF_APPEND));
	MUST(write(fd, "where it was", 12));
	int created = creat("b", 0600);
	MUST(write(created, "gone", 4));
	MUST(close(created));
	MUST(write(made("b", O_TRUNC), "new", 3));
	must(pwrite(fd, "x", 1, -5) < 0, "an offset that is none");
	must(write(-1, "x", 1) < 0 && errno == EBADF, "a descriptor that is none");
}

static void
change_sizes(void)
{
	char pages[20000];
	memset(pages, 's', sizeof(pages));
	int fd = made("a", 0);
	MUST(write(fd, pages, sizeof(pages)));
	MUST(ftruncate(fd, 10001));
	MUST(ftruncate(fd, 30000));
	MUST(truncate("a", 29000));
	MUST(write(fd, "end", 3));
	must(posix_fallocate(fd, 40000, 1000) == 0, "posix_fallocate");
	MUST(fallocate(fd, 0, 50000, 10));
	MUST(fallocate(fd, FALLOC_FL_KEEP_SIZE, 60000, 10000));
	struct stat st;
	MUST(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 1 << 30)); /* too large to search for data */
	must(fstat(fd, &st) == 0 && st.st_blocks < 1 << 10, "a state needs no blocks");
	MUST(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 5000, 200000));
	must(fallocate(fd, 0, -1, 5) < 0 && errno == EINVAL, "an offset that is none");
	must(posix_fallocate(fd, 0, -1) == EINVAL, "a size that is none");
}

static void
copy_within_the_kernel(void)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), ends[2];
	int fd = made("a", 0), data = made("data", 0);
	char bytes[9000];
	MUST(read(from, bytes, sizeof(bytes)));
	MUST(write(data, bytes, sizeof(bytes)));
	off_t at = 10, to = 777;
	MUST(copy_file_range(data, &at, fd, &to, 5000, 0));
	MUST(lseek(fd, 8000, SEEK_SET));
	MUST(sendfile(fd, data, &at, 3000));
	MUST(pipe2(ends, O_CLOEXEC));
	MUST(write(ends[1], "through a pipe", 14));
	MUST(splice(ends[0], NULL, fd, NULL, 14, 0));
	int blind = open("b", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	MUST(lseek(data, 0, SEEK_SET));
	MUST(copy_file_range(data, NULL, blind, NULL, 6000, 0));
}

TEST(every_write_is_recorded)
{
	is_complete(write_in_each_way);
}

TEST(every_size_is_recorded)
{
	file_put("database/a", "from before", 11);
	is_complete(change_sizes);
}

TEST(copies_by_the_kernel_are_recorded)
{
	is_complete(copy_within_the_kernel);
}

/* ---- names ---- */

static void
change_names(void)
{
	char absolute[PATH_MAX], temporary[] = "temporary-XXXXXX";
	must(getcwd(absolute, sizeof(absolute)) != NULL, "getcwd");
	MUST(mkdir("d", 0700));
	MUST(mkdir("d/e", 0700));
	MUST(mkdirat(AT_FDCWD, "d/gone", 0700));
	MUST(rmdir("d/gone"));
	int fd = made("./d//../d/e/file", 0);
	MUST(write(fd, "data", 4));
	MUST(link("d/e/file", "second"));
	MUST(rename("d/e/file", "d/renamed"));
	MUST(rename("d", "directory"));
	MUST(write(fd, "later", 5));
	int dir = open("directory", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	MUST(renameat(dir, "renamed", AT_FDCWD, "third"));
	MUST(write(openat(dir, "fourth", O_CREAT | O_WRONLY, 0600), "4", 1));
	MUST(linkat(dir, "fourth", dir, "fifth", 0));
	MUST(unlinkat(dir, "fourth", 0));
	MUST(unlinkat(dir, "e", AT_REMOVEDIR));
	MUST(renameat2(dir, "fifth", dir, "sixth", RENAME_NOREPLACE));
	strcat(absolute, "/by its path");
	MUST(write(made(absolute, 0), "x", 1));
	MUST(write(made("taken away", 0), "x", 1));
	MUST(write(made("to be removed", 0), "x", 1));
	MUST(remove("to be removed"));
	MUST(mkdir("to be removed", 0700));
	MUST(remove("to be removed"));
	MUST(unlink("from before"));
	MUST(write(made("from before", 0), "another", 7));
	MUST(write(mkstemp(temporary), "made within the C library", 25));
	MUST(rename("../outside", "inside"));
	MUST(rename("taken away", "../outside"));
	int nameless = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (nameless < 0) /* some file systems cannot */
		return;
	MUST(write(nameless, "named at last", 13));
	snprintf(absolute, sizeof(absolute), "/proc/self/fd/%d", nameless);
	MUST(linkat(AT_FDCWD, absolute, AT_FDCWD, "named", AT_SYMLINK_FOLLOW));
}

TEST(every_name_is_recorded)
{
	file_put("outside", "moved in", 8);
	file_put("database/from before", "before", 6);
	is_complete(change_names);
}

/* ---- writes without a call ---- */

static void
use_streams(void)
{
	FILE *one = fopen("log", "w"), *more = fopen("from before", "a");
	must(one != NULL && more != NULL, "fopen");
	FILE *other = fdopen(made("other", 0), "w");
	must(other != NULL, "fdopen");
	for (int i = 0; i < 3000; i++)
		must(fprintf(one, "line %d\n", i) > 0, "fprintf");
	fflush(one);
	recorder.point();
	must(fputs("more", one) >= 0 && fputs(" and more", more) >= 0, "fputs");
	must(fputs("by the way", other) >= 0, "fputs");
	fclose(one);
	fclose(more);
	fclose(other);
}

TEST(streams_are_recorded)
{
	file_put("database/from before", "before", 6);
	is_complete(use_streams);
}

static void
store(void)
{
	enum { SIZE = 1 << 20, MORE = 3 << 20 };
	int fd = made("mapped", 0);
	MUST(ftruncate(fd, SIZE));
	char *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(at != MAP_FAILED, "mmap");
	strcpy(at + 5000, "stored");
	MUST(pwrite(fd, "written", 7, 9000));
	memset(at + 100000, 'x', 9000);
	MUST(msync(at, SIZE, MS_SYNC));
	MUST(ftruncate(fd, MORE));
	at = mremap(at, SIZE, MORE, MREMAP_MAYMOVE);
	must(at != MAP_FAILED, "mremap");
	at[MORE - 1] = 'e';
	at[5001] = 'T';
	MUST(ftruncate(fd, MORE - 5));
	MUST(munmap(at, MORE));
	int sparse = made("sparse", 0);
	MUST(ftruncate(sparse, 1 << 26));
	at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, sparse, 1 << 25);
	must(at != MAP_FAILED, "mmap");
	at[SIZE / 2] = 'm';
}

TEST(stores_into_mappings_are_detected)
{
	is_complete(store);
}

/* ---- syncs ---- */

static void
sync_in_each_way(void)
{
	int fd = made("a", 0), dir = open(".", O_RDONLY | O_CLOEXEC);
	MUST(write(fd, "x", 1));
	MUST(fsync(fd));
	MUST(pwrite(fd, "y", 1, 5000));
	MUST(fdatasync(fd));
	MUST(write(made("b", O_DSYNC), "abc", 3));
	MUST(fsync(dir));
	char *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(at != MAP_FAILED, "mmap");
	at[4096] = 'z';
	MUST(msync(at + 4096, 10, MS_SYNC));
	MUST(msync(at, 8192, MS_ASYNC));
	MUST(syncfs(fd));
	must(fsync(-1) < 0 && errno == EBADF, "fsync of none");
	int ends[2];
	MUST(pipe2(ends, O_CLOEXEC));
	must(fsync(ends[0]) < 0, "fsync of a pipe");
}

TEST(syncs_record_their_range)
{
	static const struct {
		uint32_t kind;
		uint64_t file, offset, length, covers;
	} wanted[] = {
		{RECORD_CREATE, 1, 0, 0, 0},
		{RECORD_WRITE, 1, 0, 1, 0},
		{RECORD_SYNC, 1, 0, 0, 2},
		{RECORD_WRITE, 1, 5000, 1, 0},
		{RECORD_SYNC, 1, 0, 0, 4},
		{RECORD_CREATE, 2, 0, 0, 0},
		{RECORD_WRITE, 2, 0, 3, 0},
		{RECORD_SYNC, 2, 0, 3, 7},
		{RECORD_SYNC_DIR, 0, 0, 0, 8},
		{RECORD_MAPPED, 1, 4096, 1, 0},
		{RECORD_SYNC, 1, 4096, 905, 10}, /* the page, up to the end of the file */
		{RECORD_SYNC_ALL, 0, 0, 0, 11},
		{RECORD_POINT, 0, 0, 0, 0},
	};
	run_recorded(sync_in_each_way);
	const struct record_entry *entry = record_first(tape);
	ck_assert_uint_eq(tape->count, sizeof(wanted) / sizeof(*wanted));
	for (size_t i = 0; i < tape->count; i++, entry = record_next(entry)) {
		ck_assert_msg(entry->kind == wanted[i].kind, "entry %zu: %u", i, entry->kind);
		ck_assert_uint_eq(entry->file, wanted[i].file);
		ck_assert_uint_eq(entry->offset, wanted[i].offset);
		if (entry->kind != RECORD_SYNC || wanted[i].length != 905)
			ck_assert_uint_eq(entry->length, wanted[i].length);
		ck_assert_uint_eq(entry->covers, wanted[i].covers);
	}
	end_recorded();
}

/* ---- recorded processes and files ---- */

static void
write_elsewhere(void)
{
	int status, fd = made("a", 0);
	MUST(write(made("../elsewhere", O_TRUNC), "x", 1));
	MUST(mkdir("../database2", 0700)); /* its name begins with the same text */
	MUST(write(made("../database2/a", 0), "x", 1));
	MUST(rename("../elsewhere", "../somewhere"));
	MUST(symlink("../database2/a", "link")); /* not a regular file */
	MUST(link("link", "link2"));
	pid_t pid = fork();
	if (pid == 0) {
		MUST(write(fd, "by a child", 10));
		_exit(EXIT_SUCCESS);
	}
	must(waitpid(pid, &status, 0) == pid && status == 0, "waitpid");
}

/** Read the kernel's boot id with open() and with fopen(): both must agree. */
static void
read_boot_id(char id[64])
{
	static const char path[] = "/proc/sys/kernel/random/boot_id";
	char again[64];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ssize_t size = read(fd, id, 63);
	ck_assert_int_eq(size, 37);
	id[size] = '\0';
	close(fd);
	FILE *stream = fopen(path, "re");
	ck_assert_ptr_nonnull(stream);
	ck_assert_ptr_nonnull(fgets(again, sizeof(again), stream));
	fclose(stream);
	ck_assert_str_eq(again, id);
}

TEST(each_simulated_start_of_the_machine_has_a_boot_id)
{
	char real[64], first[64], second[64], again[64];
	ck_assert(preload_find(&recorder));
	read_boot_id(real);
	recorder.boot(1);
	read_boot_id(first);
	recorder.boot(2);
	read_boot_id(second);
	recorder.boot(1);
	read_boot_id(again);
	ck_assert_str_eq(again, first);
	ck_assert_str_ne(first, real);
	ck_assert_str_ne(second, real);
	ck_assert_str_ne(second, first);
	recorder.boot(0);
	read_boot_id(again);
	ck_assert_str_eq(again, real);
}

TEST(writes_elsewhere_are_not_recorded)
{
	run_recorded(write_elsewhere);
	ck_assert_uint_eq(tape->count, 2); /* the creation of a, and the point */
	ck_assert_uint_eq(tape->is_blind, 0);
	end_recorded();
}

static void
advance(void)
{
	board->marks[0].begun = 7;
	board->marks[0].acked = 6;
	board->is_open = 1;
	MUST(write(made("a", 0), "x", 1));
}

TEST(entries_store_the_progress_of_the_writer)
{
	run_recorded(advance);
	const struct record_entry *entry = record_next(record_first(tape));
	ck_assert_uint_eq(entry->kind, RECORD_WRITE);
	ck_assert_uint_eq(entry->moment.begun[0], 7);
	ck_assert_uint_eq(entry->moment.acked[0], 6);
	ck_assert_uint_eq(entry->moment.is_made, 1);
	end_recorded();
}

static void
exchange(void)
{
	made("a", 0);
	made("b", 0);
	MUST(renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_EXCHANGE));
}

TEST(unsupported_calls_are_reported)
{
	run_recorded(exchange);
	ck_assert_uint_eq(tape->is_blind, 1);
	ck_assert_str_eq(tape->blind, "the engine exchanged two names: b");
	end_recorded();
}

enum { THREADS = 4, WRITES = 200 };

static void *
write_much(void *arg)
{
	char name[32], bytes[64];
	int own, common = made("common", O_APPEND);
	snprintf(name, sizeof(name), "of %d", (int)(intptr_t)arg);
	own = made(name, 0);
	memset(bytes, 'a' + (int)(intptr_t)arg, sizeof(bytes));
	for (int i = 0; i < WRITES; i++) {
		MUST(write(common, bytes, (size_t)(i % 60 + 1)));
		MUST(write(own, bytes, sizeof(bytes)));
		MUST(fdatasync(own));
		if (i % 20 == 0)
			recorder.point();
	}
	return NULL;
}

static void
write_by_threads(void)
{
	pthread_t threads[THREADS];
	for (intptr_t i = 0; i < THREADS; i++)
		must(pthread_create(&threads[i], NULL, write_much, (void *)i) == 0, "create");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

TEST(threads_are_recorded_in_the_order_of_their_writes)
{
	is_complete(write_by_threads);
}
