/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_PROCFS_H
#define RUN_PROCFS_H
/**
 * Facts in small files of the kernel and of the system. All functions look for a file below the
 * directory `root`: "" is the real one. If it does not exist, is not a regular file or holds
 * something else, the answer is false and nothing is changed.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mininb/mininb.h>

/**
 * Copy a text of another's making: bytes that are not UTF-8 become '?', control characters become
 * blanks, a long text is cut between characters, and blanks around it are left out.
 */
void
procfs_keep(char *into, size_t size, const char *text);

/** A member that is an array, and its size, as these functions take them. */
#define PROCFS_INTO(member) (member), sizeof(member)

/** The first line. False if it is blank. */
bool
procfs_line(char *line, size_t size, const char *root, const char *fmt, ...) NB_PRINTF(4, 5);

/** Of a line "a [b] c" the b; of one without brackets all. */
bool
procfs_chosen(char *chosen, size_t size, const char *root, const char *fmt, ...)
	NB_PRINTF(4, 5);

/** A whole number, which may have a unit behind it: "32768K", "16 kB". */
bool
procfs_number(uint64_t *number, const char *root, const char *fmt, ...) NB_PRINTF(3, 4);

/** The same from a text. */
bool
procfs_parse_number(uint64_t *number, const char *text);

/** What stands behind `key` and ':' or '=' in the first line that begins so, without quotes. */
bool
procfs_value(char *value, size_t size, const char *root, const char *path, const char *key);

/** Call `see` for each line, without its end, until it says false. */
void
procfs_lines(const char *root, const char *path, bool (*see)(void *arg, char *line), void *arg);

/** Whether there is such a file, of whatever kind. */
bool
procfs_exists(const char *root, const char *fmt, ...) NB_PRINTF(2, 3);

/**
 * How many the list "0-3,8" has; 0 if it is not a list. *nth becomes the number at that place
 * of the list, round and round.
 */
uint64_t
procfs_list(const char *list, uint64_t *nth);

#endif /* RUN_PROCFS_H */
