/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library for LD_PRELOAD: fsync(2) and fdatasync(2) that do nothing and report success, like
 * libraries that make tests faster.
 */
#include <unistd.h>

int
fsync(int fd)
{
	(void)fd;
	return 0;
}

int
fdatasync(int fd)
{
	(void)fd;
	return 0;
}
