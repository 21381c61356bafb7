/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SCRATCH_H
#define SCRATCH_H
/**
 * A directory of the test program's own, which is its working directory between
 * scratch_enter() and scratch_leave(), and whole files in one call. In memory
 * where it can be: many tests write files that must be synced.
 */
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

extern char scratch_path[64];

void
scratch_enter(void);
void
scratch_leave(void);
/** For nftw(). */
int
scratch_remove(const char *path, const struct stat *st, int type, struct FTW *where);
/** An empty directory for one test, which becomes its working directory. */
void
scratch_fresh(const char *name);

void
file_put(const char *path, const void *data, size_t size);
/** All of a file, to be freed. */
uint8_t *
file_get(const char *path, size_t *size);
void
file_is(const char *path, const void *data, size_t size);
/** Entries of a directory beside . and .. */
int
entries_of(const char *path);

#endif /* SCRATCH_H */
