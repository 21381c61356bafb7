/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides which processes may open a directory: one with a private environment, or any
 * number with a shared one.
 *
 * Berkeley DB's registry (DB_REGISTER) detects that a process has died. But it does not
 * exclude private environments, and it recovers while other processes are alive. It also
 * detects neither a reboot nor a private environment in between. So the plugin adds two
 * locks:
 *
 * - flock(2) of the directory while it is open: exclusive for a private environment, shared
 *   for a shared one. Only a process that is alone can get the exclusive lock.
 * - The gate, byte 0 of a file. A shared environment holds it while it opens or closes, so
 *   one process at a time checks whether it is alone. A process that is alone recovers when
 *   it opens, and removes the regions when it closes. A private environment fails if the
 *   gate is held, because the check briefly releases the shared lock.
 *
 * A process can have only one shared environment of a directory. The registry uses fcntl
 * locks, which are lost when the process closes any descriptor of the file. So each process
 * also locks the byte of the gate file at its process id. These locks belong to the open
 * file (F_OFD_SETLK), so they conflict inside a process.
 *
 * Lock order: gate, then directory. A private environment takes the directory first and does
 * not wait.
 */
#include "sharing.h"

#include <sys/file.h>

#define GATE_FILE "shared.lock"
#define REGISTRY_FILE "__db.register" /* REGISTER_FILE of Berkeley DB's env_register.c */

static int
lock_byte(int fd, off_t byte, int how, bool waits)
{
	struct flock lock = {
		.l_type = (short)how, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
	int rc;
	do
		rc = fcntl(fd, waits ? F_OFD_SETLKW : F_OFD_SETLK, &lock);
	while (rc != 0 && errno == EINTR);
	return rc;
}

static int
lock_directory(int fd, int how)
{
	int rc;
	do
		rc = flock(fd, how);
	while (rc != 0 && errno == EINTR);
	return rc;
}

static void
close_locks(struct nb_db *db)
{
	if (db->gate_fd >= 0)
		close(db->gate_fd);
	if (db->lock_fd >= 0)
		close(db->lock_fd);
	db->gate_fd = db->lock_fd = -1;
}

static int
is_open_already(struct nb_db *db)
{
	close_locks(db);
	return db->host->fail(NB_FAIL, "it is open already, here or in another process");
}

static int
open_gate(struct nb_db *db, const char *path, int flags)
{
	char text[PATH_MAX];
	snprintf(text, sizeof(text), "%s/" GATE_FILE, path);
	db->gate_fd = open(text, flags | O_CLOEXEC, 0666);
	if (db->gate_fd >= 0 || (errno == ENOENT && (flags & O_CREAT) == 0))
		return NB_OK;
	int error = errno;
	close_locks(db);
	return db->host->fail(NB_FAIL, "%s: %s", text, strerror(error));
}

/* An old registry and its regions may predate the last private environment. */
static void
forget_registry(const char *path)
{
	char name[PATH_MAX];
	snprintf(name, sizeof(name), "%s/" REGISTRY_FILE, path);
	unlink(name);
}

static int
enter_alone(struct nb_db *db, const char *path)
{
	if (lock_directory(db->lock_fd, LOCK_EX | LOCK_NB) != 0) {
		int error = errno;
		close_locks(db);
		if (error == EWOULDBLOCK)
			return is_open_already(db);
		db->host->log(NB_LOG_WARNING,
			"berkeleydb: %s cannot be locked (%s): keep other processes away from it",
			path, strerror(error));
		return NB_OK;
	}
	int rc = open_gate(db, path, O_RDWR);
	if (rc != NB_OK)
		return rc;
	if (db->gate_fd >= 0 && lock_byte(db->gate_fd, 0, F_WRLCK, false) != 0)
		return is_open_already(db);
	if (db->gate_fd >= 0)
		close(db->gate_fd);
	db->gate_fd = -1;
	forget_registry(path);
	return NB_OK;
}

static int
enter_shared(struct nb_db *db, const char *path)
{
	int rc = open_gate(db, path, O_RDWR | O_CREAT);
	if (rc != NB_OK)
		return rc;
	if (lock_byte(db->gate_fd, getpid(), F_WRLCK, false) != 0 &&
		(errno == EAGAIN || errno == EACCES))
		return is_open_already(db);
	if (lock_byte(db->gate_fd, 0, F_WRLCK, true) != 0)
		goto no_locks;
	db->is_alone = lock_directory(db->lock_fd, LOCK_EX | LOCK_NB) == 0;
	if (!db->is_alone && errno != EWOULDBLOCK)
		goto no_locks;
	if (!db->is_alone && lock_directory(db->lock_fd, LOCK_SH | LOCK_NB) != 0)
		return is_open_already(db);
	if (db->is_alone)
		forget_registry(path);
	return NB_OK;

no_locks:
	rc = errno;
	close_locks(db);
	return db->host->fail(
		NB_FAIL, "%s cannot be locked, as shared=yes needs: %s", path, strerror(rc));
}

int
sharing_enter(struct nb_db *db, const char *path)
{
	db->gate_fd = -1;
	db->lock_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (db->lock_fd < 0)
		return db->host->fail(NB_FAIL, "%s: %s", path, strerror(errno));
	return db->is_shared ? enter_shared(db, path) : enter_alone(db, path);
}

/* Waits only for a private environment that is about to find the gate held. */
void
sharing_settle(struct nb_db *db)
{
	if (!db->is_shared)
		return;
	if (db->is_alone)
		lock_directory(db->lock_fd, LOCK_SH);
	lock_byte(db->gate_fd, 0, F_UNLCK, false);
}

void
sharing_begin_leave(struct nb_db *db)
{
	db->is_alone = true;
	if (!db->is_shared)
		return;
	lock_byte(db->gate_fd, 0, F_WRLCK, true);
	db->is_alone = lock_directory(db->lock_fd, LOCK_EX | LOCK_NB) == 0;
	if (!db->is_alone)
		lock_directory(db->lock_fd, LOCK_SH);
}

/*
 * Without force: regions of a dead process stay, and the next process that opens recovers.
 * Berkeley DB requires a separate handle for this.
 */
static void
remove_regions(const char *path)
{
	DB_ENV *env;
	if (db_env_create(&env, 0) != 0)
		return;
	env->set_errcall(env, NULL);
	env->set_errfile(env, NULL);
	env->remove(env, path, 0);
	forget_registry(path);
}

void
sharing_leave(struct nb_db *db, const char *path)
{
	if (db->is_shared && db->is_alone)
		remove_regions(path);
	close_locks(db);
}
