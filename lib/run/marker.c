/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The marker of a directory.
 *
 * Scripts that run overnight as root name a directory and use --fresh. A typing error in them
 * is harmless, because mininb removes and writes only directories that it made. A file next to
 * the database records this. Inside the directory, an engine might list or count it, or
 * consider the directory not empty.
 *
 * The disadvantage is that somebody can replace the directory while the marker stays. So the
 * marker identifies the directory. It contains the time of birth, which a move does not change.
 * On a file system without it, the inode number is used. A copy is another directory, and a
 * moved database leaves its marker behind. Both then need one --force, which is the safe
 * choice.
 *
 * mininb made neither symbolic links nor their targets. In a directory that everyone can write,
 * such as /tmp, anybody may have created files. So files of other users there count as not made
 * by mininb. The kernel has the same rule for links and files (sysctl fs.protected_symlinks and
 * fs.protected_regular).
 *
 * mininb also locks this file while it uses the database, because engines may lock the
 * directory itself. So it rewrites its marker in place and never replaces it by another file.
 */
#include "run/marker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/tree.h"

enum { NAME_SIZE = 256, TEXT_SIZE = 1024, PATH_SIZE = 4096, OPEN_TRIES = 10 };

/* ---- the lock ---- */

/*
 * flock(), because its lock belongs to the open file. Forked processes share it, and it lasts
 * until the last of them has ended. A POSIX lock would end at the first close() of the same
 * file anywhere in the process, and children would not have it.
 *
 * The kernel lists in /proc/locks which process took a lock. A process in another container is
 * not listed. If a file system has no device of its own (btrfs), the minor device number may
 * differ from that of stat(2).
 */

/* A killed process releases its locks a moment after its parent is notified. */
enum { TRIES = 50, PAUSE_NS = 10 * 1000 * 1000, COMMAND_SIZE = 160 };

/** The process that has a flock() on the file; 0: not known. */
static int
find_holder(const struct stat *st)
{
	char line[256];
	int holder = 0, pid;
	unsigned device_major, device_minor;
	uint64_t inode;
	FILE *file = fopen("/proc/locks", "re");
	while (file != NULL && holder == 0 && fgets(line, sizeof(line), file) != NULL) {
		if (sscanf(line, "%*d: FLOCK %*s %*s %d %x:%x:%" SCNu64, &pid, &device_major,
			    &device_minor, &inode) == 4 &&
			inode == st->st_ino && device_major == major(st->st_dev) &&
			(device_minor == minor(st->st_dev) || device_major == 0) && pid > 0)
			holder = pid;
	}
	if (file != NULL)
		fclose(file);
	return holder;
}

/** The words of its command line, separated by spaces; "" if it has ended or is hidden. */
static void
read_command(char text[COMMAND_SIZE], int pid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd >= 0 ? read(fd, text, COMMAND_SIZE - 1) : 0;
	if (fd >= 0)
		close(fd);
	while (size > 0 && text[size - 1] == '\0')
		size--;
	text[size > 0 ? size : 0] = '\0';
	for (ssize_t i = 0; i < size; i++)
		text[i] = (char)(text[i] == '\0' ? ' ' : text[i]);
}

static int
refuse_lock(int fd, const char *what)
{
	static const char advice[] = "wait until it ends, or name another --path";
	char command[COMMAND_SIZE];
	struct stat st;
	int holder = fstat(fd, &st) == 0 ? find_holder(&st) : 0;
	if (holder == 0)
		return error_set(NB_FAIL, "%s: is in use by another process; %s", what, advice);
	read_command(command, holder);
	return error_set(NB_FAIL, "%s: is in use by process %d%s%s%s; %s", what, holder,
		command[0] != '\0' ? " (" : "", command, command[0] != '\0' ? ")" : "", advice);
}

int
lock_take(int fd, bool is_shared, const char *what)
{
	int how = (is_shared ? LOCK_SH : LOCK_EX) | LOCK_NB;
	int rc = flock(fd, how);
	for (int i = 0; rc != 0 && i < TRIES && (errno == EWOULDBLOCK || errno == EINTR); i++) {
		nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
		rc = flock(fd, how);
	}
	if (rc == 0)
		return NB_OK;
	if (errno == EWOULDBLOCK || errno == EINTR)
		return refuse_lock(fd, what);
	log_message(NB_LOG_WARNING,
		"%s: cannot be locked (%s), so mininb would not notice another process that uses it",
		what, strerror(errno));
	return NB_OK;
}

/* ---- the directory ---- */

static const char *const ends[] = {[MARKER_KILLED] = "not closed",
	[MARKER_FIRST] = "the first ones",
	[MARKER_SCATTERED] = "scattered"};

static const char marker_head[] = "mininb made the directory ";

/** The opened <path> and its content. */
struct place {
	const char *path, *name;
	char marker[NAME_SIZE];
	int parent, fd; /* `fd` is of the directory; -1: none */
};

/** The identity of a directory. */
struct birth {
	uint64_t inode;
	int64_t s;
	uint32_t ns;
};

static int
find_birth(int fd, struct birth *birth)
{
	struct statx st;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &st) != 0)
		return -1;
	*birth = (struct birth){.inode = st.stx_ino};
	if ((st.stx_mask & STATX_BTIME) != 0) {
		birth->s = st.stx_btime.tv_sec;
		birth->ns = st.stx_btime.tv_nsec;
	}
	return 0;
}

/** A file system may renumber its inodes when it is mounted, but times of birth stay. */
static bool
is_same_birth(const struct birth *a, const struct birth *b)
{
	bool is_known = a->s != 0 && b->s != 0;
	return is_known ? a->s == b->s && a->ns == b->ns : a->inode == b->inode;
}

/** Leaves nothing open after a failure. `flags` apply to the directory itself. */
static int
open_place(struct place *place, const char *path, const char *name, int flags)
{
	*place = (struct place){.path = path, .name = name, .fd = -1};
	snprintf(place->marker, sizeof(place->marker), ".mininb-%s", name);
	place->parent = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (place->parent < 0 && errno == EACCES) /* not readable, but searchable */
		place->parent = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (place->parent < 0)
		return errno == ENOENT || errno == ENOTDIR ? NB_OK : error_system("%s", path);
	place->fd = openat(place->parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
	return NB_OK;
}

static void
close_place(const struct place *place)
{
	if (place->fd >= 0)
		close(place->fd);
	if (place->parent >= 0)
		close(place->parent);
}

/* ---- the marker ---- */

/** Read the text of the file. -1 and errno, also if it is a link or not a regular file. */
static int
read_marker(const struct place *place, char text[TEXT_SIZE])
{
	int fd = openat(place->parent, place->marker,
		O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	if (fd < 0)
		return -1;
	ssize_t size = fstat(fd, &st) == 0 && S_ISREG(st.st_mode)
		? read(fd, text, TEXT_SIZE - 1)
		: -1;
	close(fd);
	if (size < 0) {
		errno = EINVAL;
		return -1;
	}
	text[size] = '\0';
	return 0;
}

/**
 * Whether mininb wrote the file. An empty one is being written by another process, which may be
 * dead.
 */
static bool
is_ours(const char *text)
{
	return text[0] == '\0' || strncmp(text, marker_head, sizeof(marker_head) - 1) == 0;
}

/** Whether the marker belongs to this directory. */
static bool
is_marked(const struct place *place)
{
	char text[TEXT_SIZE];
	struct birth now, then;
	if (read_marker(place, text) != 0 || find_birth(place->fd, &now) != 0)
		return false;
	const char *at = strstr(text, ", inode ");
	return is_ours(text) && at != NULL &&
		sscanf(at, ", inode %" SCNu64 ", born %" SCNd64 ".%" SCNu32, &then.inode,
			&then.s, &then.ns) == 3 &&
		is_same_birth(&now, &then);
}

/** Whether the file still has the name. It may have been removed before it was locked. */
static bool
is_named(const struct place *place, int fd)
{
	struct stat named, opened;
	return fstatat(place->parent, place->marker, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
		fstat(fd, &opened) == 0 && named.st_ino == opened.st_ino &&
		named.st_dev == opened.st_dev;
}

static int
lock_marker(const struct place *place, int fd, uint32_t lock)
{
	char path[PATH_SIZE];
	if (lock == MARKER_UNLOCKED)
		return NB_OK;
	snprintf(path, sizeof(path), "%s/%s", place->path, place->name);
	return lock_take(fd, lock == MARKER_SHARED, path);
}

/**
 * Open or create it. -1 and errno. Replaces a file that is not a marker: the caller had to
 * force that.
 */
static int
open_marker(const struct place *place)
{
	char text[TEXT_SIZE];
	int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	if (read_marker(place, text) == 0 && is_ours(text)) {
		int fd = openat(place->parent, place->marker, O_RDWR | flags);
		/* the marker of another user can still be locked */
		return fd >= 0 ? fd : openat(place->parent, place->marker, O_RDONLY | flags);
	}
	if (unlinkat(place->parent, place->marker, 0) != 0 && errno != ENOENT)
		return -1;
	return openat(place->parent, place->marker, O_RDWR | O_CREAT | O_EXCL | flags, 0666);
}

/** Open it, and lock it if required. -1 and errno; *rc is the result of the lock. */
static int
open_locked(const struct place *place, uint32_t lock, int *rc)
{
	int fd = -1;
	/* repeat if another process has just created it, or removed it before it was locked */
	for (int i = 0; i < OPEN_TRIES; i++) {
		fd = open_marker(place);
		*rc = fd >= 0 ? lock_marker(place, fd, lock) : NB_OK;
		if (fd >= 0 ? *rc != NB_OK || is_named(place, fd)
			    : errno != EEXIST && errno != ENOENT)
			return fd;
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	return fd;
}

/**
 * Write a marker for the directory. `fd` is -1 if it could not be opened; errno has the reason.
 */
static int
write_marker(const struct place *place, int fd, bool is_forced)
{
	char text[TEXT_SIZE];
	struct birth birth;
	int cause = errno;
	if (find_birth(place->fd, &birth) != 0)
		return error_system("%s/%s", place->path, place->name);
	errno = cause;
	int size = snprintf(text, sizeof(text),
		"%s%s beside this file, and --fresh may remove what is in it. (mininb %s, engine %s, inode %" PRIu64
		", born %" PRId64 ".%09" PRIu32 ")\n",
		marker_head, place->name, nb_version(), place->name, birth.inode, birth.s,
		birth.ns);
	if (fd >= 0 && pwrite(fd, text, (size_t)size, 0) == size && ftruncate(fd, size) == 0)
		return NB_OK;
	int rc = error_system(
		"%s/%s: cannot be written, but must mark %s as made by mininb; choose another --path, or use --force to go on without it",
		place->path, place->marker, place->name);
	if (!is_forced)
		return rc;
	log_message(
		NB_LOG_WARNING, "%s; the next run will need --force again", nb_error_text());
	return NB_OK;
}

/** Read the load in the second line of the text; none if the line is missing or invalid. */
static void
read_load(struct marker *marker, const char *text)
{
	struct marker_load load = {.done = 0};
	char end[16];
	const char *line = strchr(text, '\n');
	marker->load = load;
	marker->head_size = line != NULL ? (uint64_t)(line + 1 - text) : 0;
	if (line == NULL ||
		sscanf(line + 1,
			"unfinished %15[a-z]: %" SCNu64 " of %" SCNu64
			" records, %15[a-z ], keys %" SCNx64,
			load.action, &load.done, &load.total, end, &load.keys) < 4)
		return;
	for (load.end = 0; load.end < sizeof(ends) / sizeof(*ends); load.end++)
		if (strcmp(ends[load.end], end) == 0)
			marker->load = load;
}

int
marker_note(struct marker *marker, const struct marker_load *load)
{
	char line[128];
	int size = load->action[0] == '\0'
		? 0
		: snprintf(line, sizeof(line),
			  "unfinished %s: %" PRIu64 " of %" PRIu64
			  " records, %s, keys %016" PRIx64 "\n",
			  load->action, load->done, load->total, ends[load->end], load->keys);
	off_t at = (off_t)marker->head_size;
	marker->load = *load;
	if (pwrite(marker->fd, line, (size_t)size, at) == size &&
		ftruncate(marker->fd, at + size) == 0)
		return NB_OK;
	return error_system("the marker cannot be written");
}

/** Write a new marker for this directory, and keep its load. */
static int
renew_marker(const struct place *place, struct marker *marker, bool is_forced)
{
	char text[TEXT_SIZE] = "";
	struct marker_load load = marker->load;
	int rc = write_marker(place, marker->fd, is_forced);
	if (rc == NB_OK && marker->is_open && read_marker(place, text) == 0)
		read_load(marker, text);
	if (rc == NB_OK && load.action[0] != '\0')
		rc = marker_note(marker, &load);
	return rc;
}

int
marker_put(struct marker *marker, const char *path, const char *name, uint32_t lock,
	bool is_forced)
{
	struct place place;
	char text[TEXT_SIZE];
	*marker = (struct marker){.is_open = false};
	int rc = open_place(&place, path, name, 0);
	if (rc != NB_OK)
		return rc;
	if (place.fd < 0) {
		rc = error_system("%s/%s", path, name);
		goto close_place;
	}
	marker->fd = open_locked(&place, lock, &rc);
	marker->is_open = marker->fd >= 0;
	if (marker->is_open && rc == NB_OK && read_marker(&place, text) == 0)
		read_load(marker, text);
	if (rc == NB_OK && (!marker->is_open || !is_marked(&place)))
		rc = renew_marker(&place, marker, is_forced);
	if (rc != NB_OK)
		marker_close(marker);
close_place:
	close_place(&place);
	return rc;
}

int
marker_open(struct marker *marker, const char *path, const char *name, uint32_t lock)
{
	struct place place;
	char text[TEXT_SIZE];
	*marker = (struct marker){.is_open = false};
	int rc = open_place(&place, path, name, 0);
	if (rc != NB_OK)
		return rc;
	marker->fd = read_marker(&place, text) == 0 && is_ours(text)
		? openat(place.parent, place.marker, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
		: -1;
	marker->is_open = marker->fd >= 0;
	if (marker->is_open)
		rc = lock_marker(&place, marker->fd, lock);
	if (rc == NB_OK && marker->is_open && read_marker(&place, text) == 0)
		read_load(marker, text);
	if (rc != NB_OK)
		marker_close(marker);
	close_place(&place);
	return rc;
}

void
marker_close(struct marker *marker)
{
	if (marker->is_open)
		close(marker->fd);
	marker->is_open = false;
}

/* ---- checks of a directory ---- */

/**
 * Whether another user could have planted the file to be followed or written. The owner of the
 * directory is trusted, because the user chose the directory. On file systems with only one
 * owner (vfat, NFS with all squashed), this owner has all files.
 */
static bool
is_of_others(int dir, const struct stat *st)
{
	struct stat around;
	return st->st_uid != geteuid() && fstatat(dir, "", &around, AT_EMPTY_PATH) == 0 &&
		(around.st_mode & S_IWOTH) != 0 && st->st_uid != around.st_uid;
}

/** Whether the directory, its marker or their parent belongs to another user. */
static bool
is_planted(const struct place *place)
{
	struct stat st;
	if (fstatat(place->parent, place->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		is_of_others(place->parent, &st))
		return true;
	if (fstatat(place->parent, place->marker, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		is_of_others(place->parent, &st))
		return true;
	int above = openat(place->parent, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool is_bad = above >= 0 && fstatat(place->parent, "", &st, AT_EMPTY_PATH) == 0 &&
		st.st_uid != 0 && is_of_others(above, &st);
	if (above >= 0)
		close(above);
	return is_bad;
}

/** The number of entries, and the first one. 0 if it is not a directory. */
static size_t
count_entries(const struct place *place, char first[NAME_SIZE])
{
	size_t count = 0;
	int fd = place->fd < 0 ? -1
			       : openat(place->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (dir == NULL) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (count++ == 0)
			snprintf(first, NAME_SIZE, "%s", entry->d_name);
	}
	closedir(dir);
	return count;
}

static bool
is_link(const struct place *place, const char *name)
{
	struct stat st;
	return fstatat(place->parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		S_ISLNK(st.st_mode);
}

/** Whether a foreign file has the name of the marker. */
static bool
is_taken(const struct place *place)
{
	struct stat st;
	char text[TEXT_SIZE];
	if (fstatat(place->parent, place->marker, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return false;
	return read_marker(place, text) != 0 || !is_ours(text);
}

/** Refuse a directory with content. `what` is the intended action. */
static int
refuse_content(const struct place *place, const char *what)
{
	char first[NAME_SIZE] = "", text[TEXT_SIZE];
	size_t count = count_entries(place, first);
	if (count == 0)
		return NB_OK;
	bool is_stale = read_marker(place, text) == 0 && text[0] != '\0';
	const char *why = is_stale
		? "it is a copy of a database that mininb made, or took its place: "
		: "mininb did not make it: ";
	return error_set(NB_FAIL,
		"%s/%s: is not %s: it holds '%s'%s, and %s%s is %s; choose another --path, or use --force to do it anyway",
		place->path, place->name, what, first, count > 1 ? " and more" : "", why,
		place->marker, is_stale ? "of another directory" : "missing");
}

static int
check(const struct place *place, const char *what)
{
	if (place->parent < 0)
		return NB_OK;
	if (is_link(place, place->name))
		return error_set(NB_FAIL,
			"%s/%s: is not %s: it is a symbolic link, which mininb did not make; --path itself may be one; use --force to follow this one",
			place->path, place->name, what);
	if (is_taken(place))
		return error_set(NB_FAIL,
			"%s/%s: this file exists, and mininb did not make it; choose another --path, or use --force to replace it",
			place->path, place->marker);
	if (is_planted(place))
		return error_set(NB_FAIL,
			"%s/%s: is not %s: it belongs to another user, in a directory that everyone can write; choose another --path, or use --force to do it anyway",
			place->path, place->name, what);
	return is_marked(place) ? NB_OK : refuse_content(place, what);
}

int
marker_allow(const char *path, const char *name, bool is_cleared, bool is_forced)
{
	struct place place;
	int rc = open_place(&place, path, name, is_cleared ? O_NOFOLLOW : 0);
	if (rc != NB_OK)
		return rc;
	if (!is_forced)
		rc = check(&place, is_cleared ? "removed" : "written");
	else if (is_cleared && place.parent >= 0 && is_link(&place, name))
		rc = error_set(NB_FAIL,
			"%s/%s: is a symbolic link, and mininb removes nothing through a link; remove its target or the link yourself",
			path, name);
	close_place(&place);
	return rc;
}

int
marker_clear(const char *path, const char *name)
{
	struct place place;
	char database[PATH_SIZE];
	int rc = open_place(&place, path, name, O_NOFOLLOW);
	snprintf(database, sizeof(database), "%s/%s", path, name);
	if (rc == NB_OK && place.fd >= 0)
		rc = tree_empty(place.fd, database);
	close_place(&place);
	return rc;
}
