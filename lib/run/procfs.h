/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_PROCFS_H
#define RUN_PROCFS_H
/**
 * Values in small files of the kernel and the system. All functions look for a file below the
 * directory `root`: "" is the real one. They return false and change nothing if the file does
 * not exist, is not a regular file or has other content.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mininb/mininb.h>

/**
 * Copy a text from outside. Bytes that are not UTF-8 become '?', and control characters become
 * blanks. A long text is cut between characters. Blanks around it are removed.
 */
void
procfs_keep(char *into, size_t size, const char *text);

/** An array member and its size, as arguments of these functions. */
#define PROCFS_INTO(member) (member), sizeof(member)

/** Read the first line. False if it is blank. */
bool
procfs_line(char *line, size_t size, const char *root, const char *fmt, ...) NB_PRINTF(4, 5);

/** Read the chosen word b of a line "a [b] c". Without brackets, the whole line. */
bool
procfs_chosen(char *chosen, size_t size, const char *root, const char *fmt, ...)
	NB_PRINTF(4, 5);

/** Read a whole number, which a unit may follow: "32768K", "16 kB". */
bool
procfs_number(uint64_t *number, const char *root, const char *fmt, ...) NB_PRINTF(3, 4);

/** Parse such a number from a text. */
bool
procfs_parse_number(uint64_t *number, const char *text);

/**
 * Read the value after `key` and ':' or '=' in the first line that begins so, without quotes.
 */
bool
procfs_value(char *value, size_t size, const char *root, const char *path, const char *key);

/** Call `see` for each line, without its end, until it returns false. */
void
procfs_lines(const char *root, const char *path, bool (*see)(void *arg, char *line), void *arg);

/** Whether the file exists, of whatever type. */
bool
procfs_exists(const char *root, const char *fmt, ...) NB_PRINTF(2, 3);

/**
 * The number of elements of a list such as "0-3,8"; 0: not a list. Replaces *nth by the element
 * at that position, modulo the number of elements.
 */
uint64_t
procfs_list(const char *list, uint64_t *nth);

#endif /* RUN_PROCFS_H */
