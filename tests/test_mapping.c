/* SPDX-License-Identifier: BSD-2-Clause */
/* Mapped files that are truncated while they are read. */
#include "base/mapping.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mininb/mininb.h>

#include "base/error.h"
#include "unit.h"

enum { PAGES = 4 };

static size_t page;
static int fd;
static unsigned char *data;

static void
map_file(void)
{
	char path[] = "/tmp/mininb-mapping-XXXXXX";
	page = (size_t)sysconf(_SC_PAGESIZE);
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	unlink(path);
	for (size_t i = 0; i < PAGES * page; i++)
		ck_assert_int_eq(write(fd, "x", 1), 1);
	data = mmap(NULL, PAGES * page, PROT_READ, MAP_SHARED, fd, 0);
	ck_assert(data != MAP_FAILED);
}

static void
mend(int number, siginfo_t *info, void *context)
{
	if (!mapping_mend(info->si_addr))
		_exit(7);
}

static void
catch_bus_errors(void)
{
	struct sigaction action = {.sa_sigaction = mend, .sa_flags = SA_SIGINFO};
	ck_assert_int_eq(sigaction(SIGBUS, &action, NULL), 0);
}

TEST(lost_pages_read_as_zeros_and_request_a_stop)
{
	map_file();
	catch_bus_errors();
	mapping_add(data, PAGES * page, "some/file");
	ck_assert_ptr_null(mapping_lost());
	ck_assert_int_eq(ftruncate(fd, (off_t)page), 0);
	ck_assert_int_eq(data[page - 1], 'x');
	ck_assert_int_eq(data[2 * page + 5], 0);
	ck_assert_int_eq(data[PAGES * page - 1], 0);
	ck_assert_int_eq(nb_stop_requested(), 1);
	ck_assert_str_eq(mapping_lost(), "some/file");
	/* and the error is not an interruption by the user */
	ck_assert_int_eq(error_interrupted(), NB_FAIL);
	ck_assert_str_eq(nb_error_text(),
		"some/file: the file was cut short or became unreadable during its use; "
		"mininb ended the work in order");
	mapping_remove(data);
	ck_assert_str_eq(mapping_lost(), "some/file");
	ck_assert_int_eq(data[0], 'x');
	nb_stop_clear();
}

TEST(unwatched_mappings_are_not_repaired)
{
	map_file();
	ck_assert(!mapping_mend(data));
	mapping_add(data + page, page, "second page");
	ck_assert(!mapping_mend(data));
	ck_assert(!mapping_mend(data + 2 * page));
	mapping_remove(data + page);
	ck_assert(!mapping_mend(data + page));
	ck_assert_int_eq(nb_stop_requested(), 0);
	ck_assert_ptr_null(mapping_lost());
}

TEST(places_of_the_table_are_reused)
{
	map_file();
	for (int i = 0; i < 10000; i++) {
		mapping_add(data, page, "again");
		mapping_remove(data);
	}
	mapping_add(data, page, "the last one");
	ck_assert(mapping_mend(data));
	ck_assert_str_eq(mapping_lost(), "the last one");
	nb_stop_clear();
}

TEST(surplus_mappings_are_unwatched_and_harmless)
{
	map_file();
	for (int i = 0; i < 1000; i++)
		mapping_add(data, page, "one of many");
	ck_assert(!mapping_mend(data + page));
	ck_assert(mapping_mend(data));
	nb_stop_clear();
}
