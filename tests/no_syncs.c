/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded into the program: fsync(2) and fdatasync(2) that say they have done it and do
 * nothing, as some use to make tests faster.
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
