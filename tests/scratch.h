/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SCRATCH_H
#define SCRATCH_H
/**
 * A temporary directory of the test program, which is its working directory between
 * scratch_enter() and scratch_leave(), and functions for whole files. The directory is in
 * memory if possible, because many tests sync their files.
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
/** A callback for nftw(). */
int
scratch_remove(const char *path, const struct stat *st, int type, struct FTW *where);
/** Create an empty directory for one test and enter it. */
void
scratch_fresh(const char *name);

void
file_put(const char *path, const void *data, size_t size);
/** The content of a file. Free it. */
uint8_t *
file_get(const char *path, size_t *size);
/** Change the lowest bit of the byte at offset `at`. */
void
file_flip(const char *path, size_t at);
void
file_is(const char *path, const void *data, size_t size);
/** The number of entries of a directory, except . and .. */
int
entries_of(const char *path);

#endif /* SCRATCH_H */
