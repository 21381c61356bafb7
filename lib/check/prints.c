/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Captures printed text: descriptor 1 becomes a file in memory. The file is limited to ROOM
 * bytes, so that an engine that prints for each operation does not fill the memory. Further
 * writes fail in the engine.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "check/board.h"

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
	clearerr(stdout); /* a write may have failed because the file was full */
	off_t end = lseek(STDOUT_FILENO, 0, SEEK_CUR);
	ssize_t got = pread(STDOUT_FILENO, bytes, end < SHOWN ? (size_t)end : SHOWN, 0);
	if (got > 0)
		slice_write(text, size, (struct nb_slice){bytes, (size_t)got}, (size_t)end);
	dup2(prints->stdout_was, STDOUT_FILENO);
	close(prints->stdout_was);
}

int
nb_check_load(struct nb_engine_ref **out, struct nb_check_args *args, const char *driver)
{
	struct prints prints;
	prints_begin(&prints);
	int rc = nb_engine_load(out, driver);
	prints_end(&prints, args->printed, sizeof(args->printed));
	if (rc == NB_OK)
		args->engine = nb_engine_table(*out);
	else if (args->printed[0] != '\0')
		rc = error_prefix(rc, "it printed %s", args->printed);
	return rc;
}
