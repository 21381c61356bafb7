/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Catching what is printed: descriptor 1 becomes a file in memory. The file cannot grow beyond
 * ROOM, lest an engine that prints for each operation fills the memory; what comes after that
 * is lost, and to the engine it is a write that has failed.
 */
#include "check/prints.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check/suite.h"

enum { ROOM = 4096, SHOWN = 60 };

void
prints_begin(struct prints *prints)
{
	fflush(stdout);
	prints->stdout_was = -1;
	int memory = memfd_create("printed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (memory < 0)
		return;
	int was = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (was >= 0 && ftruncate(memory, ROOM) == 0 &&
		fcntl(memory, F_ADD_SEALS, F_SEAL_GROW) == 0 &&
		dup2(memory, STDOUT_FILENO) >= 0)
		prints->stdout_was = was;
	else if (was >= 0)
		close(was);
	close(memory);
}

void
prints_end(struct prints *prints, char *text, size_t size)
{
	char bytes[SHOWN];
	text[0] = '\0';
	if (prints->stdout_was < 0)
		return;
	fflush(stdout);
	clearerr(stdout); /* it may have been full */
	off_t end = lseek(STDOUT_FILENO, 0, SEEK_CUR);
	ssize_t got = pread(STDOUT_FILENO, bytes, end < SHOWN ? (size_t)end : SHOWN, 0);
	if (got > 0)
		slice_write(text, size, (struct nb_slice){bytes, (size_t)got}, (size_t)end);
	dup2(prints->stdout_was, STDOUT_FILENO);
	close(prints->stdout_was);
}
