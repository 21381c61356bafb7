/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Suggests "leveldb" for "leveldbb".
 *
 * The distance is the number of inserted, deleted, replaced or transposed adjacent letters
 * (optimal string alignment: Damerau, CACM 7(3), 1964, with the recurrence of Wagner and
 * Fischer, JACM 21(1), 1974). Case is ignored. A candidate is near if less than a third of the
 * longer word is wrong, or one letter of a short word. Beyond that a suggestion is a guess, and
 * a wrong one is worse than none.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

enum {
	WORD_MAX = 64, /* longer than all names of mininb */
	LIST_MAX = 320 /* longer lists are not printed */
};

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool
is_same(char a, char b)
{
	return lower(a) == lower(b);
}

static size_t
smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Both words have at most WORD_MAX letters. */
static size_t
distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
	/*
	 * row[i % 3][j] is the distance between the first i letters of a and the first j of b
	 */
	size_t rows[3][WORD_MAX + 1];
	for (size_t j = 0; j <= b_size; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_size; i++) {
		size_t *row = rows[i % 3], *above = rows[(i + 2) % 3],
		       *second = rows[(i + 1) % 3];
		row[0] = i;
		for (size_t j = 1; j <= b_size; j++) {
			size_t replaced = above[j - 1] + !is_same(a[i - 1], b[j - 1]);
			row[j] = smaller(replaced, smaller(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && is_same(a[i - 1], b[j - 2]) &&
				is_same(a[i - 2], b[j - 1]))
				row[j] = smaller(row[j], second[j - 2] + 1);
		}
	}
	return rows[a_size % 3][b_size];
}

/* The smallest distance at which two words are not near. */
static size_t
far_from(size_t a_size, size_t b_size)
{
	size_t longer = a_size > b_size ? a_size : b_size;
	size_t shorter = smaller(a_size, b_size);
	size_t wrong = longer < 6 ? 1 : (longer - 1) / 3;
	return smaller(wrong + 1, shorter); /* at least one letter must match */
}

const char *
nb_nearest(const char *word, const char *const *candidates, size_t count)
{
	size_t size = strnlen(word, WORD_MAX + 1);
	const char *nearest = NULL;
	size_t nearest_distance = SIZE_MAX;
	for (size_t i = 0; i < count; i++) {
		size_t candidate_size = strnlen(candidates[i], WORD_MAX + 1);
		if (size > WORD_MAX || candidate_size > WORD_MAX)
			continue;
		size_t d = distance(word, size, candidates[i], candidate_size);
		if (d < nearest_distance && d < far_from(size, candidate_size)) {
			nearest = candidates[i];
			nearest_distance = d;
		}
	}
	return nearest;
}

int
error_unknown(const char *word, const char *const *words, size_t count, const char *fmt, ...)
{
	char allowed[LIST_MAX] = "";
	size_t used = 0;
	for (size_t i = 0; i < count && used < sizeof(allowed); i++)
		used += (size_t)snprintf(allowed + used, sizeof(allowed) - used, "%s%s",
			i > 0 ? ", " : "", words[i]);
	bool is_listed = count > 0 && used < sizeof(allowed);
	const char *near = nb_nearest(word, words, count);
	va_list args;
	va_start(args, fmt);
	error_setv(NB_ERR_USAGE, fmt, args);
	va_end(args);
	if (near != NULL)
		return error_set(NB_ERR_USAGE, "%s, did you mean '%s'?%s%s", nb_error_text(),
			near, is_listed ? " Allowed: " : "", is_listed ? allowed : "");
	return error_set(NB_ERR_USAGE, "%s%s%s", nb_error_text(),
		is_listed ? "; allowed: " : "", is_listed ? allowed : "");
}
