/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_FACT_H
#define RUN_FACT_H
/**
 * Facts that stand in small files of the kernel's and of the system's. All functions take the
 * directory below which the file is looked for: "" is in earnest. What is no regular file, is
 * not there or holds something else is not known: the answer is false, and what it was to be
 * put into is left as it was.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mininb/mininb.h>

/**
 * Copy a text that somebody else made: what is no UTF-8 becomes '?', control characters
 * become blanks, what is too long is cut between characters. Blanks around it are left out.
 */
void
fact_keep(char *into, size_t size, const char *text);

/** The first line. False if it is blank. */
bool
fact_line(char *line, size_t size, const char *root, const char *fmt, ...) NB_PRINTF(4, 5);

/** Of a line "a [b] c" the b; of one without brackets all. */
bool
fact_chosen(char *chosen, size_t size, const char *root, const char *fmt, ...) NB_PRINTF(4, 5);

/** A whole number, which may have a unit behind it: "32768K", "16 kB". */
bool
fact_number(uint64_t *number, const char *root, const char *fmt, ...) NB_PRINTF(3, 4);

/** The same from a text. */
bool
fact_parse_number(uint64_t *number, const char *text);

/** What stands behind `key` and ':' or '=' in the first line that begins so, without quotes. */
bool
fact_value(char *value, size_t size, const char *root, const char *path, const char *key);

/** Call `see` for each line, without its end, until it says false. */
void
fact_lines(const char *root, const char *path, bool (*see)(void *arg, char *line), void *arg);

/** Whether there is such a file, of whatever kind. */
bool
fact_exists(const char *root, const char *fmt, ...) NB_PRINTF(2, 3);

/** How many the list "0-3,8" has; 0 if it is none. */
uint32_t
fact_list_count(const char *list);

#endif /* RUN_FACT_H */
