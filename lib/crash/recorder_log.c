/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files of the database, and the entries of the recording.
 *
 * A file is identified by device and inode, which each call gets by fstat(2). So the origin
 * of a descriptor does not matter: dup, fcntl, or another process. The system may reuse the
 * inode of a deleted file, so each created file gets a new number. A file created by a call
 * that is not replaced, such as mkstemp(), is recorded with its contents at its first use.
 */
#include "crash/recorder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	KNOWN_MAX = 1 << 14, /* files; a few hundred are usual */
	READ_BACK = 1 << 16,
	DEPTH_MAX = 16 /* directory levels below the database */
};

#define OUTSIDE UINT64_MAX

struct known {
	dev_t dev;
	ino_t ino;
	uint64_t number; /* 0: free; OUTSIDE: not a file of the database */
};

int recorder_is_on;

static struct {
	pthread_mutex_t lock;
	pid_t pid;
	struct record_log *log;
	const struct crash_progress *board;
	uint32_t sessions;
	size_t dir_length;
	uint64_t files; /* the highest number in use */
	struct known *known;
	size_t known_count;
	char dir[PATH_MAX];
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread int depth __attribute__((tls_model("initial-exec")));
/* `acked` and is_made at recorder_enter() */
static __thread struct crash_moment entered __attribute__((tls_model("initial-exec")));

void
recorder_lock(void)
{
	pthread_mutex_lock(&self.lock);
}

void
recorder_unlock(void)
{
	pthread_mutex_unlock(&self.lock);
}

bool
recorder_enter(void)
{
	if (getpid() != self.pid) /* a child process of the engine */
		return false;
	if (depth > 0) {
		recorder_blind("a signal handler changed files", "");
		return false;
	}
	depth++;
	entered.is_made = __atomic_load_n(&self.board->is_open, __ATOMIC_ACQUIRE);
	for (uint32_t s = 0; s < self.sessions; s++)
		entered.acked[s] = __atomic_load_n(
			&self.board->marks[s].acked, __ATOMIC_ACQUIRE);
	recorder_lock();
	return true;
}

bool
recorder_is_inside(void)
{
	return depth > 0;
}

void
recorder_leave(int error)
{
	recorder_unlock();
	depth--;
	errno = error;
}

void
recorder_blind(const char *reason, const char *about)
{
	if (__atomic_exchange_n(&self.log->is_blind, 1, __ATOMIC_RELAXED) == 0)
		snprintf(self.log->blind, sizeof(self.log->blind), "%s%s%.200s", reason,
			about[0] != '\0' ? ": " : "", about);
}

void
recorder_looked(uint64_t bytes, bool is_coarse)
{
	if (bytes > self.log->mapped_bytes)
		self.log->mapped_bytes = bytes;
	if (is_coarse)
		self.log->is_coarse = 1;
}

uint64_t
recorder_count(void)
{
	return self.log->count;
}

void
recorder_put(const struct record_entry *head, const char *path, const char *path2,
	const struct iovec *pieces, int count)
{
	struct record_log *log = self.log;
	size_t path_size = path != NULL ? strlen(path) + 1 : 0;
	size_t path2_size = path2 != NULL ? strlen(path2) + 1 : 0;
	uint64_t data_size = pieces != NULL ? head->length : 0;
	uint64_t size = sizeof(*head) + path_size + path2_size + data_size;
	size = (size + 7) & ~(uint64_t)7;
	/* all entries after a missing one would be wrong */
	if (log->is_full || size > log->capacity - log->used || size > UINT32_MAX) {
		__atomic_store_n(&log->is_full, 1, __ATOMIC_RELAXED);
		return;
	}
	struct record_entry *entry = (struct record_entry *)((char *)log + log->used);
	*entry = *head;
	entry->size = (uint32_t)size;
	entry->path_size = (uint32_t)path_size;
	entry->path2_size = (uint32_t)path2_size;
	entry->moment = entered;
	for (uint32_t s = 0; s < self.sessions; s++)
		entry->moment.begun[s] = __atomic_load_n(
			&self.board->marks[s].begun, __ATOMIC_ACQUIRE);
	char *to = (char *)(entry + 1);
	memcpy(to, path != NULL ? path : "", path_size);
	memcpy(to + path_size, path2 != NULL ? path2 : "", path2_size);
	to += path_size + path2_size;
	for (int i = 0; i < count && data_size > 0; i++) {
		size_t part = pieces[i].iov_len < data_size ? pieces[i].iov_len : data_size;
		memcpy(to, pieces[i].iov_base, part);
		to += part;
		data_size -= part;
	}
	__atomic_store_n(&log->used, log->used + size, __ATOMIC_RELEASE);
	__atomic_store_n(&log->count, log->count + 1, __ATOMIC_RELEASE);
}

void
recorder_put_write(
	uint64_t file, uint64_t offset, uint64_t length, const struct iovec *pieces, int count)
{
	recorder_put(
		&(struct record_entry){
			.kind = RECORD_WRITE, .file = file, .offset = offset, .length = length},
		NULL, NULL, pieces, count);
	recorder_watch_write(file, offset, length, pieces, count);
}

/* ---- names ---- */

static bool
take_inside(char out[PATH_MAX], const char *full)
{
	if (strncmp(full, self.dir, self.dir_length) != 0 ||
		(full[self.dir_length] != '/' && full[self.dir_length] != '\0'))
		return false;
	full += self.dir_length;
	full += *full == '/';
	memmove(out, full, strlen(full) + 1);
	return true;
}

/** The path of an open file or directory. */
static bool
path_of_fd(char out[PATH_MAX], int fd)
{
	char link[64];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t length = readlink(link, out, PATH_MAX - 1);
	out[length > 0 ? length : 0] = '\0';
	return length > 0;
}

bool
recorder_inside_fd(char out[PATH_MAX], int fd)
{
	char full[PATH_MAX];
	return path_of_fd(full, fd) && take_inside(out, full);
}

/** The absolute form of `path`, with symlinks unresolved. */
static bool
from_root(char out[PATH_MAX], int dir, const char *path)
{
	out[0] = '\0';
	if (path[0] != '/' &&
		(dir == AT_FDCWD ? getcwd(out, PATH_MAX) == NULL : !path_of_fd(out, dir)))
		return false;
	size_t length = strlen(out);
	if (length + strlen(path) + 2 > PATH_MAX)
		return false;
	snprintf(out + length, PATH_MAX - length, "%s%s", length > 0 ? "/" : "", path);
	return true;
}

/** Whether the last part is a name, which need not exist. */
static bool
is_name(const char *last)
{
	return last[0] != '\0' && strcmp(last, ".") != 0 && strcmp(last, "..") != 0;
}

bool
recorder_inside(char out[PATH_MAX], int dir, const char *path)
{
	char full[PATH_MAX], real[PATH_MAX];
	if (!from_root(full, dir, path))
		return false;
	size_t length = strlen(full);
	while (length > 1 && full[length - 1] == '/')
		full[--length] = '\0';
	char *slash = strrchr(full, '/');
	if (slash == NULL || !is_name(slash + 1))
		return realpath(full, real) != NULL && take_inside(out, real);
	*slash = '\0';
	if (realpath(slash == full ? "/" : full, real) == NULL)
		return false;
	length = strlen(real);
	if (length + strlen(slash + 1) + 2 > PATH_MAX)
		return false;
	snprintf(real + length, PATH_MAX - length, "%s%s", length > 1 ? "/" : "", slash + 1);
	return take_inside(out, real);
}

/* ---- files ---- */

/** The slot of a file, used or free. NULL: the table is full. */
static struct known *
known_find(const struct stat *st)
{
	uint64_t mixed = (st->st_ino ^ (uint64_t)st->st_dev << 40) * 0x9e3779b97f4a7c15u;
	size_t at = mixed >> 50;
	for (size_t i = 0; i < KNOWN_MAX; i++, at++) {
		struct known *known = &self.known[at % KNOWN_MAX];
		if (known->number == 0 ||
			(known->dev == st->st_dev && known->ino == st->st_ino))
			return known;
	}
	return NULL;
}

static void
known_set(const struct stat *st, uint64_t number)
{
	struct known *known = known_find(st);
	if (known == NULL || (known->number == 0 && self.known_count == KNOWN_MAX - 1)) {
		recorder_blind("the database has too many files", "");
		return;
	}
	self.known_count += known->number == 0;
	*known = (struct known){.dev = st->st_dev, .ino = st->st_ino, .number = number};
}

static uint64_t
known_number(const struct stat *st)
{
	const struct known *known = known_find(st);
	return known != NULL ? known->number : OUTSIDE;
}

uint64_t
recorder_create(const struct stat *st, const char *inside)
{
	uint64_t number = ++self.files;
	known_set(st, number);
	put(RECORD_CREATE, number, inside, NULL);
	return number;
}

int
recorder_reader(int fd)
{
	char link[64];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return (int)syscall(SYS_openat, AT_FDCWD, link, O_RDONLY | O_CLOEXEC);
}

void
recorder_read_back(uint64_t file, int fd, uint64_t offset, uint64_t length)
{
	static uint8_t buffer[READ_BACK]; /* protected by the lock */
	int flags = (int)syscall(SYS_fcntl, fd, F_GETFL);
	int reader = (flags & O_ACCMODE) == O_WRONLY ? recorder_reader(fd) : fd;
	while (length > 0) {
		size_t part = length < READ_BACK ? (size_t)length : READ_BACK;
		ssize_t got = syscall(SYS_pread64, reader, buffer, part, offset);
		if (got <= 0) {
			recorder_blind("a file cannot be read", strerror(errno));
			return;
		}
		const struct iovec piece = {buffer, (size_t)got};
		recorder_put_write(file, offset, (uint64_t)got, &piece, 1);
		offset += (uint64_t)got;
		length -= (uint64_t)got;
	}
}

/** Record an existing file that is not known yet. */
static uint64_t
adopt(const struct stat *st, const char *inside, int fd)
{
	uint64_t number = recorder_create(st, inside);
	if (st->st_size > 0)
		recorder_read_back(number, fd, 0, (uint64_t)st->st_size);
	return number;
}

uint64_t
recorder_file(int fd, struct stat *st)
{
	char inside[PATH_MAX];
	if (fstat(fd, st) != 0 || !S_ISREG(st->st_mode))
		return 0;
	uint64_t number = known_number(st);
	if (number != 0)
		return number != OUTSIDE ? number : 0;
	if (st->st_nlink > 0 && recorder_inside_fd(inside, fd))
		return adopt(st, inside, fd);
	known_set(st, OUTSIDE);
	return 0;
}

uint64_t
recorder_file_at(const char *inside, int dir, const char *path)
{
	struct stat st;
	if (fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
		return 0;
	uint64_t number = known_number(&st);
	if (number != 0 && number != OUTSIDE)
		return number;
	int fd = (int)syscall(SYS_openat, dir, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		recorder_blind("a file cannot be read", inside);
		return 0;
	}
	return adopt(&st, inside, fd);
}

/* ---- the start ---- */

/**
 * Number and record the existing files below `path`, which is absolute and has room for
 * more.
 */
static void
number_files(char path[PATH_MAX], int levels)
{
	size_t length = strlen(path);
	DIR *dir = levels > 0 ? opendir(path) : NULL;
	if (dir == NULL) {
		recorder_blind("a directory cannot be read", path);
		return;
	}
	for (const struct dirent *at; (at = readdir(dir)) != NULL;) {
		struct stat st;
		char inside[PATH_MAX];
		if (!is_name(at->d_name) || length + strlen(at->d_name) + 2 > PATH_MAX)
			continue;
		snprintf(path + length, PATH_MAX - length, "/%s", at->d_name);
		if (lstat(path, &st) != 0 || !take_inside(inside, path))
			continue;
		if (S_ISDIR(st.st_mode))
			number_files(path, levels - 1);
		if (!S_ISREG(st.st_mode))
			continue;
		if (known_number(&st) == 0)
			known_set(&st, ++self.files);
		/* the table is full, and the recording is marked as blind */
		if (known_number(&st) == OUTSIDE)
			continue;
		put(RECORD_BASE, known_number(&st), inside, NULL);
	}
	path[length] = '\0';
	closedir(dir);
}

int
recorder_log_begin(const char *dir, struct record_log *log, const struct crash_progress *board,
	uint32_t sessions)
{
	char path[PATH_MAX];
	void *table = (void *)syscall(SYS_mmap, NULL, KNOWN_MAX * sizeof(struct known),
		PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, (off_t)0);
	if (table == MAP_FAILED)
		return errno;
	self.known = table;
	self.log = log;
	self.board = board;
	self.sessions = sessions;
	self.pid = getpid();
	if (realpath(dir, self.dir) == NULL)
		return errno;
	self.dir_length = strlen(self.dir);
	strcpy(path, self.dir);
	number_files(path, DEPTH_MAX);
	return 0;
}
