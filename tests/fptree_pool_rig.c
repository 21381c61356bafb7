/* SPDX-License-Identifier: BSD-2-Clause */
#include "fptree_pool_rig.h"

#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/vfs.h>

enum { TMPFS = 0x01021994 };

struct nb_open_args
rig_args(const char *path, uint32_t flags)
{
	return (struct nb_open_args){.size = sizeof(struct nb_open_args),
		.flags = flags,
		.host = &plugin_host,
		.path = path,
		.sessions = 1,
		.durability = NB_DUR_COMMIT};
}

struct pool *
rig_open_with(const struct nb_open_args *args, uint64_t size_bytes)
{
	struct pool *pool;
	int rc = pool_open(&pool, args, size_bytes);
	ck_assert_msg(rc == NB_OK, "%s", host_failure);
	return pool;
}

struct pool *
rig_opened(const char *path, uint64_t size_bytes)
{
	struct nb_open_args args = rig_args(path, 0);
	struct pool *pool = rig_open_with(&args, size_bytes);
	ck_assert(!pool->is_new);
	return pool;
}

struct pool *
rig_unfinished(const char *path, uint64_t size_bytes)
{
	struct nb_open_args args = rig_args(path, NB_OPEN_CREATE);
	struct pool *pool = rig_open_with(&args, size_bytes);
	ck_assert(pool->is_new);
	return pool;
}

struct pool *
rig_at_process(const char *path)
{
	struct nb_open_args args = rig_args(path, NB_OPEN_CREATE);
	args.durability = NB_DUR_PROCESS;
	return rig_open_with(&args, 0);
}

struct pool *
rig_created(const char *path, uint64_t size_bytes)
{
	struct pool *pool = rig_unfinished(path, size_bytes);
	pool->root->head = 4096;
	ck_assert_int_eq(pool_commit(pool), NB_OK);
	return pool;
}

void
rig_closed(struct pool *pool)
{
	ck_assert_int_eq(pool_close(pool), NB_OK);
}

void
rig_make(const char *path, uint64_t size_bytes)
{
	rig_closed(rig_created(path, size_bytes));
}

void
rig_refused_with(
	const struct nb_open_args *args, uint64_t size_bytes, int code, const char *text)
{
	struct pool *pool;
	host_failure[0] = '\0';
	ck_assert_int_eq(pool_open(&pool, args, size_bytes), code);
	ck_assert_msg(
		strstr(host_failure, text) != NULL, "\"%s\" lacks \"%s\"", host_failure, text);
}

void
rig_refused(const char *path, const char *text)
{
	struct nb_open_args args = rig_args(path, 0);
	rig_refused_with(&args, 0, NB_FAIL, text);
}

int
rig_take(struct pool *pool, size_t mib)
{
	for (size_t i = 0; i < mib; i++) {
		PMEMoid at;
		if (pmemobj_alloc(pool->obj, &at, MIB - 4096, 1, NULL, NULL) != 0)
			return errno;
	}
	return 0;
}

static bool
is_on_tmpfs(const char *path)
{
	struct statfs info;
	ck_assert_int_eq(statfs(path, &info), 0);
	return (uint32_t)info.f_type == TMPFS;
}

bool
rig_on_tmpfs(void)
{
	if (is_on_tmpfs("."))
		return true;
	printf("# skipped: no tmpfs at %s\n", scratch_path);
	return false;
}

bool
rig_mount_tmpfs(const char *path, const char *options)
{
	if (unshare(CLONE_NEWNS) != 0 ||
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		mount("none", path, "tmpfs", 0, options) != 0) {
		printf("# skipped: may not mount\n");
		return false;
	}
	return true;
}

const char *
rig_disk(void)
{
	static char path[] = "./mininb-disk-XXXXXX";
	static char *full;
	ck_assert_int_eq(chdir(POOL_TEST_DISK), 0);
	ck_assert_ptr_nonnull(mkdtemp(path));
	full = realpath(path, NULL);
	ck_assert_ptr_nonnull(full);
	if (!is_on_tmpfs(full))
		return full;
	printf("# skipped: the build is on tmpfs\n");
	ck_assert_int_eq(rmdir(full), 0);
	return NULL;
}

void
rig_remove_tree(const char *path)
{
	nftw(path, scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
}
