/* SPDX-License-Identifier: BSD-2-Clause */
/* Linked into a test program to run each test in its own empty directory. */
#include "scratch.h"

bool unit_in_scratch = true;

static char name[] = "XXXXXX";

void
unit_setup(void)
{
	if (mkdtemp(name) == NULL || chdir(name) != 0)
		abort();
}

/* A test may have changed the working directory. */
void
unit_teardown(void)
{
	if (chdir(scratch_path) != 0)
		abort();
	nftw(name, scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
}
