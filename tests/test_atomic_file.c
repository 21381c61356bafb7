/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The test replaces three calls of the C library to simulate a file system without O_TMPFILE, a
 * signal during space reservation, and a kill before the file is in place.
 */
#include "base/atomic_file.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "base/error.h"
#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

static bool is_without_tmpfile, is_killed_at_rename;
static int interruptions;

int
open(const char *path, int flags, ...)
{
	if (is_without_tmpfile && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	va_list args;
	va_start(args, flags);
	bool is_made = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
	mode_t mode = is_made ? va_arg(args, mode_t) : 0;
	va_end(args);
	return openat(AT_FDCWD, path, flags, mode);
}

int
posix_fallocate(int fd, off_t offset, off_t size)
{
	if (interruptions > 0) {
		interruptions--;
		return EINTR;
	}
	return fallocate(fd, 0, offset, size) == 0 ? 0 : errno;
}

int
rename(const char *from, const char *to)
{
	if (is_killed_at_rename)
		kill(getpid(), SIGKILL);
	return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

static const char old_bytes[] = "the old file";
static const char new_bytes[] = "the new one, longer than the old";

static void
open_new(struct atomic_file *atomic, const char *path)
{
	ck_assert_int_eq(atomic_file_open(atomic, path, 0), NB_OK);
	ck_assert_int_eq(atomic_file_write(atomic, new_bytes, sizeof(new_bytes), 0), NB_OK);
}

static void
replace(const char *path)
{
	struct atomic_file atomic;
	open_new(&atomic, path);
	ck_assert_int_eq(atomic_file_commit(&atomic), NB_OK);
}

static void
check_refused(const char *path, uint64_t size, const char *reason)
{
	struct atomic_file atomic;
	ck_assert_int_lt(atomic_file_open(&atomic, path, size), 0);
	ck_assert_msg(strstr(nb_error_text(), reason) != NULL, "%s", nb_error_text());
	ck_assert_msg(strstr(nb_error_text(), path) != NULL, "%s", nb_error_text());
	ck_assert_ptr_null(strchr(nb_error_text(), '\n'));
}

static mode_t
mode_of(const char *path)
{
	struct stat st;
	ck_assert_int_eq(lstat(path, &st), 0);
	return st.st_mode;
}

static void
check_replacing(void)
{
	file_put("f", old_bytes, sizeof(old_bytes));
	struct atomic_file atomic;
	open_new(&atomic, "f");
	file_is("f", old_bytes, sizeof(old_bytes));
	ck_assert_int_eq(atomic_file_commit(&atomic), NB_OK);
	file_is("f", new_bytes, sizeof(new_bytes));
	ck_assert_int_eq(entries_of("."), 1);
}

TEST(the_old_file_stays_until_commit)
{
	scratch_fresh("replacing");
	check_replacing();
}

TEST(temporary_name_is_used_without_unnamed_files)
{
	scratch_fresh("named");
	is_without_tmpfile = true;
	check_replacing();
	struct atomic_file atomic;
	open_new(&atomic, "other");
	ck_assert_int_eq(entries_of("."), 2); /* here the temporary file has a name */
	atomic_file_abort(&atomic);
	ck_assert_int_eq(entries_of("."), 1);
	check_refused("no/such/directory", 1, "No such file");
}

static void
check_abort(void)
{
	struct atomic_file atomic;
	open_new(&atomic, "f");
	atomic_file_abort(&atomic);
	ck_assert_int_eq(entries_of("."), 0);
	file_put("f", old_bytes, sizeof(old_bytes));
	open_new(&atomic, "f");
	atomic_file_abort(&atomic);
	file_is("f", old_bytes, sizeof(old_bytes));
	ck_assert_int_eq(entries_of("."), 1);
}

TEST(abort_leaves_no_files)
{
	scratch_fresh("abort");
	check_abort();
	scratch_fresh("abort_named");
	is_without_tmpfile = true;
	check_abort();
}

static void
replace_in_child(const char *path)
{
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		replace(path);
		_exit(0);
	}
	int status;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(is_killed_at_rename ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL
				      : WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(killed_process_leaves_the_old_file)
{
	scratch_fresh("killed");
	file_put("f", old_bytes, sizeof(old_bytes));
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		struct atomic_file atomic;
		open_new(&atomic, "f");
		kill(getpid(), SIGKILL);
	}
	int status;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	ck_assert_int_eq(entries_of("."), 1);
	file_is("f", old_bytes, sizeof(old_bytes));
}

/* Killed while the new file has a temporary name, with and without O_TMPFILE. */
TEST_EACH(leftover_is_removed_by_the_next_write, 2)
{
	char name[NAME_MAX + 1];
	scratch_fresh(_i == 1 ? "leftover_named" : "leftover");
	memset(name, 'n', NAME_MAX);
	name[NAME_MAX] = '\0';
	is_without_tmpfile = _i == 1;
	const char *const paths[] = {"f", name};
	for (size_t i = 0; i < UNIT_COUNT(paths); i++) {
		file_put(paths[i], old_bytes, sizeof(old_bytes));
		is_killed_at_rename = true;
		replace_in_child(paths[i]);
		replace_in_child(paths[i]);
		file_is(paths[i], old_bytes, sizeof(old_bytes));
		ck_assert_int_eq(entries_of("."), i + 2); /* the second removed the first */
		is_killed_at_rename = false;
		replace(paths[i]);
		file_is(paths[i], new_bytes, sizeof(new_bytes));
		ck_assert_int_eq(entries_of("."), i + 1);
	}
}

TEST(temporary_file_of_a_live_process_stays)
{
	scratch_fresh("live");
	is_without_tmpfile = true;
	struct atomic_file atomic;
	open_new(&atomic, "f");
	replace_in_child("f");
	ck_assert_int_eq(entries_of("."), 2);
	ck_assert_int_eq(atomic_file_commit(&atomic), NB_OK);
	ck_assert_int_eq(entries_of("."), 1);
	file_is("f", new_bytes, sizeof(new_bytes));
}

TEST(files_with_similar_names_stay)
{
	static const char *const names[] = {"f.new", "f.new-", "f.new-1", "f.new-1-",
		"f.new--1", "f.new-1-2x", "f.new-1-2-3", "f.news-1-2", "ff.new-1-2",
		"g.new-1-2", "f.old-1-2"};
	scratch_fresh("similar");
	for (size_t i = 0; i < UNIT_COUNT(names); i++)
		file_put(names[i], old_bytes, sizeof(old_bytes));
	ck_assert_int_eq(mkdir("f.new-1-2", 0700), 0);
	ck_assert_int_eq(symlink("elsewhere", "f.new-1-3"), 0);
	ck_assert_int_eq(mkfifo("f.new-1-4", 0600), 0);
	replace("f");
	ck_assert_int_eq(entries_of("."), UNIT_COUNT(names) + 4);
}

TEST(the_mode_of_the_old_file_is_kept)
{
	static const mode_t modes[] = {0600, 0640, 0666, 0444, 0755, 0};
	scratch_fresh("mode");
	umask(027);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		file_put("f", old_bytes, sizeof(old_bytes));
		ck_assert_int_eq(chmod("f", modes[i]), 0);
		replace("f");
		ck_assert_uint_eq(mode_of("f") & 07777, modes[i]);
		ck_assert_int_eq(unlink("f"), 0);
	}
}

TEST(a_new_file_has_the_mode_of_any_new_file)
{
	scratch_fresh("new_mode");
	umask(027);
	replace("unnamed");
	is_without_tmpfile = true;
	replace("named");
	ck_assert_uint_eq(mode_of("unnamed") & 07777, 0640);
	ck_assert_uint_eq(mode_of("named") & 07777, 0640);
}

TEST(a_symbolic_link_is_followed)
{
	scratch_fresh("link");
	ck_assert_int_eq(mkdir("far", 0700), 0);
	file_put("far/f", old_bytes, sizeof(old_bytes));
	ck_assert_int_eq(symlink("far/f", "first"), 0);
	ck_assert_int_eq(symlink("first", "second"), 0);
	replace("second");
	file_is("far/f", new_bytes, sizeof(new_bytes));
	ck_assert(S_ISLNK(mode_of("first")));
	ck_assert(S_ISLNK(mode_of("second")));
	ck_assert_int_eq(entries_of("far"), 1);
	ck_assert_int_eq(entries_of("."), 3);
}

TEST(link_to_a_missing_file_creates_the_file)
{
	scratch_fresh("dangling");
	ck_assert_int_eq(mkdir("far", 0700), 0);
	ck_assert_int_eq(mkdir("near", 0700), 0);
	ck_assert_int_eq(symlink("../far/f", "near/first"), 0);
	ck_assert_int_eq(symlink("near/first", "second"), 0);
	replace("second");
	file_is("far/f", new_bytes, sizeof(new_bytes));
	ck_assert(S_ISLNK(mode_of("near/first")));
	ck_assert(S_ISLNK(mode_of("second")));
	ck_assert_int_eq(symlink("nowhere/f", "third"), 0);
	check_refused("third", 0, "No such file");
	ck_assert_int_eq(symlink("loop", "loop"), 0);
	check_refused("loop", 0, "symbolic links");
}

TEST(file_of_another_user_in_a_shared_directory_is_refused)
{
	scratch_fresh("sticky");
	ck_assert_int_eq(mkdir("tmp", 0700), 0);
	ck_assert_int_eq(chmod("tmp", 01777), 0);
	file_put("mine", old_bytes, sizeof(old_bytes));
	file_put("tmp/file", old_bytes, sizeof(old_bytes));
	ck_assert_int_eq(symlink("../mine", "tmp/link"), 0);
	ck_assert_int_eq(symlink("tmp/link", "link"), 0);
	replace("tmp/link");
	file_is("mine", new_bytes, sizeof(new_bytes));
	if (lchown("tmp/link", 12345, 12345) != 0)
		return; /* only root can change the owner */
	ck_assert_int_eq(chown("tmp/file", 12345, 12345), 0);
	check_refused("tmp/link", 0, "is another user's symbolic link");
	check_refused("tmp/file", 0, "is another user's file");
	struct atomic_file atomic;
	ck_assert_int_eq(
		atomic_file_open(&atomic, "link", 0), NB_FAIL); /* names the link in tmp */
	ck_assert_int_eq(chown("tmp", 12345, 12345), 0);        /* tmp has one owner */
	replace("link");
	replace("tmp/file");
	ck_assert_int_eq(chown("tmp", 0, 0), 0);
	ck_assert_int_eq(chmod("tmp", 0755), 0);
	replace("link");
	replace("tmp/file");
}

TEST(existing_file_with_the_temporary_name_stays)
{
	scratch_fresh("taken");
	char name[64];
	snprintf(name, sizeof(name), "f.new-%ld-0", (long)getpid());
	ck_assert_int_eq(symlink("elsewhere", name), 0);
	replace("f");
	is_without_tmpfile = true;
	replace("f");
	ck_assert(S_ISLNK(mode_of(name)));
	ck_assert_int_eq(entries_of("."), 2);
	file_is("f", new_bytes, sizeof(new_bytes));
}

/** Simulate a later write: set the time that the kernel's clock would show. */
static void
set_written(int fd, const struct timespec *at)
{
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, *at};
	ck_assert_int_eq(futimens(fd, times), 0);
}

TEST(signature_is_valid_until_a_write)
{
	scratch_fresh("signature");
	struct atomic_file atomic;
	struct stat st;
	open_new(&atomic, "f");
	atomic_file_sign(&atomic);
	int fd = dup(atomic.fd);
	ck_assert_int_eq(atomic_file_commit(&atomic), NB_OK);
	bool was_signed = atomic_file_is_signed(
		fd); /* unless the file system has no attributes */
	ck_assert_int_eq(fstat(fd, &st), 0);
	struct timespec ours = st.st_mtim, later = {st.st_mtim.tv_sec + 1, 0};
	set_written(fd, &later); /* rewritten in place with the same size, as by dd of=f */
	ck_assert(!atomic_file_is_signed(fd));
	set_written(fd, &ours);
	ck_assert(atomic_file_is_signed(fd) == was_signed);
	ck_assert_int_eq(ftruncate(fd, 3), 0);
	set_written(fd, &ours);
	ck_assert(!atomic_file_is_signed(fd));
	close(fd);
	replace("other");
	fd = open("other", O_RDONLY | O_CLOEXEC);
	ck_assert(!atomic_file_is_signed(fd));
	close(fd);
}

TEST(path_that_is_not_a_regular_file_is_refused_and_stays)
{
	scratch_fresh("no_file");
	ck_assert_int_eq(mkdir("d", 0700), 0);
	check_refused("d", 1, "not a regular file");
	check_refused("d/", 1, "not a regular file");
	check_refused("/dev/null", 1, "not a regular file");
	ck_assert(S_ISCHR(mode_of("/dev/null")));
	file_put("f", old_bytes, sizeof(old_bytes));
	check_refused("f/g", 1, "Not a directory");
	ck_assert_int_eq(entries_of("."), 2);
}

/* Rejected before the work, not when the file is moved into place. */
TEST(impossible_file_name_is_refused_at_once)
{
	scratch_fresh("no_name");
	check_refused("missing/f", 1, "No such file or directory");
	check_refused("new/", 1, "is not the name of a file");
	check_refused("", 1, "is not the name of a file");
	char name[NAME_MAX + 2];
	memset(name, 'n', NAME_MAX + 1);
	name[NAME_MAX + 1] = '\0';
	check_refused(name, 1, "too long");
	ck_assert_int_eq(entries_of("."), 0);
}

TEST(the_longest_name_can_be_replaced)
{
	scratch_fresh("longest");
	char name[NAME_MAX + 1];
	memset(name, 'n', NAME_MAX);
	name[NAME_MAX] = '\0';
	replace(name);
	file_is(name, new_bytes, sizeof(new_bytes));
	is_without_tmpfile = true;
	replace(name);
	ck_assert_int_eq(entries_of("."), 1);
}

TEST(the_space_is_reserved_at_once)
{
	scratch_fresh("size");
	struct atomic_file atomic;
	ck_assert_int_eq(atomic_file_open(&atomic, "f", 1000000), NB_OK);
	struct stat st;
	ck_assert_int_eq(fstat(atomic.fd, &st), 0);
	ck_assert_int_eq(st.st_size, 1000000);
	ck_assert_int_ge(st.st_blocks * 512, 1000000);
	ck_assert_int_eq(atomic_file_write(&atomic, "abc", 3, 499999), NB_OK);
	ck_assert_int_eq(atomic_file_commit(&atomic), NB_OK);
	size_t size;
	uint8_t *data = file_get("f", &size);
	ck_assert_uint_eq(size, 1000000);
	ck_assert_mem_eq(data + 499998, "\0abc", 5);
	free(data);
}

TEST(full_disk_is_reported_and_leaves_the_old_file)
{
	scratch_fresh("full");
	if (unshare(CLONE_NEWNS) != 0 ||
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		mount("none", ".", "tmpfs", 0, "size=1m") != 0 || chdir(scratch_path) != 0 ||
		chdir("full") != 0)
		return; /* only root can mount */
	file_put("f", old_bytes, sizeof(old_bytes));
	check_refused(
		"f", 2 << 20, "2097152 bytes cannot be reserved: No space left on device");
	is_without_tmpfile = true;
	check_refused("f", 2 << 20, "No space left on device");
	is_without_tmpfile = false;
	struct atomic_file atomic;
	ck_assert_int_eq(atomic_file_open(&atomic, "f", 0), NB_OK);
	char *much = calloc(1, 2 << 20);
	ck_assert_int_eq(atomic_file_write(&atomic, much, 2 << 20, 0), NB_FAIL);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "f: write: No space left on device"));
	atomic_file_abort(&atomic);
	free(much);
	ck_assert_int_eq(entries_of("."), 1);
	file_is("f", old_bytes, sizeof(old_bytes));
}

TEST(signal_while_space_is_reserved_is_not_a_failure)
{
	scratch_fresh("signal");
	interruptions = 3;
	struct atomic_file atomic;
	ck_assert_int_eq(atomic_file_open(&atomic, "f", 100), NB_OK);
	ck_assert_int_eq(interruptions, 0);
	ck_assert_int_eq(atomic_file_commit(&atomic), NB_OK);
	struct stat st;
	ck_assert_int_eq(stat("f", &st), 0);
	ck_assert_int_eq(st.st_size, 100);
}

TEST(stop_request_while_space_is_reserved_is_obeyed)
{
	scratch_fresh("stop");
	interruptions = INT_MAX;
	nb_stop();
	struct atomic_file atomic;
	ck_assert_int_eq(atomic_file_open(&atomic, "f", 100), NB_ERR_INTERRUPTED);
	ck_assert_int_eq(entries_of("."), 0);
	nb_stop_clear();
}
