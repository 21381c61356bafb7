/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel says which pages there are. */
#include "run/reserve.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

enum { PAGES = 64 };

static struct reserve reserve;
static size_t page;

static size_t
resident_pages(void)
{
	unsigned char is_there[PAGES + 1];
	size_t count = 0;
	ck_assert_int_eq(mincore(reserve.pages, reserve.bytes, is_there), 0);
	for (size_t i = 0; i < reserve.bytes / page; i++)
		count += is_there[i] & 1;
	return count;
}

static void
create(size_t bytes)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	ck_assert_int_eq(reserve_create(&reserve, bytes), NB_OK);
}

TEST(whole_reserve_is_present_from_the_start)
{
	create(PAGES * sysconf(_SC_PAGESIZE) - 1);
	ck_assert_uint_eq(reserve.bytes, PAGES * page);
	ck_assert_uint_eq(resident_pages(), PAGES);
	reserve_destroy(&reserve);
	ck_assert_ptr_null(reserve.pages);
	reserve_destroy(&reserve);
}

TEST(reserve_shrinks_by_the_memory_in_use)
{
	create(PAGES * sysconf(_SC_PAGESIZE));
	reserve_use(&reserve, 1);
	ck_assert_uint_eq(resident_pages(), PAGES);
	reserve_use(&reserve, page);
	ck_assert_uint_eq(resident_pages(), PAGES - 1);
	reserve_use(&reserve, 50 * page + 7);
	ck_assert_uint_eq(resident_pages(), PAGES - 50);
	reserve_use(&reserve, 20 * page); /* the rest is in the heap still */
	ck_assert_uint_eq(resident_pages(), PAGES - 50);
	reserve_use(&reserve, 1000 * page); /* the list has more than was foreseen */
	ck_assert_uint_eq(resident_pages(), 0);
	reserve_destroy(&reserve);
}

TEST(child_process_does_not_have_the_reserve)
{
	int status;
	create(PAGES * sysconf(_SC_PAGESIZE));
	pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		unsigned char is_there[PAGES + 1];
		_exit(mincore(reserve.pages, reserve.bytes, is_there) != 0 ? 7 : 0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 7);
	reserve_destroy(&reserve);
}
