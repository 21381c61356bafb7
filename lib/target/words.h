/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TARGET_WORDS_H
#define TARGET_WORDS_H
/** Command lines of servers: their words, placeholders and programs. */
#include <sched.h>
#include <stddef.h>

#include <mininb/mininb.h>

/** The words of a command line, ended by NULL, as execv() needs them. Owned. */
struct words {
	char **items;
	size_t count;
};

/** A placeholder "{name}" and its replacement. */
struct placeholder {
	const char *name, *text;
};

/**
 * Split a line at blanks. Quotes (' or ") preserve blanks and are removed. No shell is
 * involved. NB_ERR_USAGE: a quote is not closed, or the line has no word. Destroy `out`
 * also after a failure.
 */
NB_MUST_CHECK int
words_split(struct words *out, const char *line);

void
words_destroy(struct words *words);

/**
 * Replace the placeholders in `text`; the list ends with a NULL name. *out is yours to
 * free(). NB_ERR_USAGE: a name is unknown. Braces around anything but a name are kept.
 */
NB_MUST_CHECK int
words_expand(char **out, const char *text, const struct placeholder *placeholders);

/** Split a line and expand each word: words_expand(). */
NB_MUST_CHECK int
words_command(struct words *out, const char *line, const struct placeholder *placeholders);

/**
 * Find the file of a program: `name` itself if it has a '/'; else in $PATH, in the sbin
 * directories, then in `path`. `path` is a list of directories separated by ':', which may
 * be patterns; the last match of a pattern is used. NULL: not found. Yours to free().
 */
char *
words_find_program(const char *name, const char *path);

/** Parse a list of CPUs "0-3,8"; NB_ERR_USAGE: it is invalid. */
NB_MUST_CHECK int
words_cpus(cpu_set_t *out, const char *list);

#endif /* TARGET_WORDS_H */
