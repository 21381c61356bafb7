/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TARGET_WORDS_H
#define TARGET_WORDS_H
/** Command lines of servers: their words, their placeholders, their programs. */
#include <sched.h>
#include <stddef.h>

#include <mininb/mininb.h>

/** The words of a command line, ended by NULL, as execv() takes them. Owned. */
struct words {
	char **items;
	size_t count;
};

/** A placeholder "{name}" and what stands for it. */
struct placeholder {
	const char *name, *text;
};

/**
 * Split a line at blanks; quotes, ' or ", keep them, and are no part of the word. There is no
 * shell. NB_ERR_USAGE: a quote lacks its end, or there is no word. Destroy it also after that.
 */
NB_MUST_CHECK int
words_split(struct words *out, const char *line);

void
words_destroy(struct words *words);

/**
 * `text` with its placeholders replaced; the list ends with a NULL name. *out is yours to free().
 * NB_ERR_USAGE: there is no placeholder of that name. What is in other braces stays.
 */
NB_MUST_CHECK int
words_expand(char **out, const char *text, const struct placeholder *placeholders);

/** words_expand() of each word of a line. */
NB_MUST_CHECK int
words_command(struct words *out, const char *line, const struct placeholder *placeholders);

/**
 * The file of a program: `name` itself if it has a '/', else where $PATH or `path` has it, a list
 * of directories with ':' between them; they may be patterns, whose last match is taken. NULL: it
 * was not found. Yours to free().
 */
char *
words_find_program(const char *name, const char *path);

/** The CPUs of a list "0-3,8"; NB_ERR_USAGE: it is none. */
NB_MUST_CHECK int
words_cpus(cpu_set_t *out, const char *list);

#endif /* TARGET_WORDS_H */
