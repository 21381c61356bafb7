/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mutations of inputs: changed bits, extreme integers, other decimal numbers, deleted pieces,
 * pieces of the same or another input, dictionary words, truncation. An input gets one to four
 * mutations in a row.
 */
#include "mutate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_MAX = 64, CHANGES_MAX = 4 };

static const char *const numbers[] = {"0", "1", "-1", "2147483648", "4294967296",
	"9007199254740993", "9223372036854775807", "18446744073709551615",
	"18446744073709551616", "1e308", "1e999", "0.1", "1e-320", "nan", ""};

/** Replace `size` bytes at `at` by `with`. Does nothing if the result does not fit. */
static void
replace(struct bytes *input, size_t at, size_t size, const uint8_t *with, size_t with_size)
{
	size_t tail = input->size - at - size;
	if (at + with_size + tail > input->room)
		return;
	memmove(input->data + at + with_size, input->data + at + size, tail);
	if (with_size > 0)
		memcpy(input->data + at, with, with_size);
	input->size = at + with_size + tail;
}

static size_t
any_place(const struct bytes *input, struct rng *rng)
{
	return (size_t)rng_below(rng, input->size + 1);
}

/** A random size of a piece at `at`. Short ones are more frequent. */
static size_t
any_size(const struct bytes *input, size_t at, struct rng *rng)
{
	size_t left = input->size - at, most = left < PIECE_MAX ? left : PIECE_MAX;
	return (size_t)rng_below(rng, 1 + rng_below(rng, most + 1));
}

static void
flip_bit(struct bytes *input, struct rng *rng)
{
	size_t at = any_place(input, rng);
	if (at < input->size)
		input->data[at] ^= (uint8_t)(1u << rng_below(rng, 8));
}

static void
set_extreme(struct bytes *input, struct rng *rng)
{
	static const uint64_t extremes[] = {0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff,
		INT32_MAX, (uint64_t)INT32_MAX + 1, UINT32_MAX, INT64_MAX,
		(uint64_t)INT64_MAX + 1, UINT64_MAX - 1, UINT64_MAX};
	size_t at = any_place(input, rng), size = (size_t)1 << rng_below(rng, 4);
	uint64_t value = extremes[rng_below(rng, sizeof(extremes) / sizeof(*extremes))];
	int is_big = (int)rng_below(rng, 2);
	for (size_t i = 0; i < size && at + i < input->size; i++)
		input->data[at + i] = (uint8_t)(value >> 8 * (is_big ? size - 1 - i : i));
}

/** Replace the next decimal number after a random place by another one. */
static void
set_number(struct bytes *input, struct rng *rng)
{
	size_t at = any_place(input, rng), size = 0;
	const char *number = numbers[rng_below(rng, sizeof(numbers) / sizeof(*numbers))];
	while (at < input->size && (input->data[at] < '0' || input->data[at] > '9'))
		at++;
	while (at + size < input->size && input->data[at + size] >= '0' &&
		input->data[at + size] <= '9')
		size++;
	if (size > 0)
		replace(input, at, size, (const uint8_t *)number, strlen(number));
}

static void
leave_out(struct bytes *input, struct rng *rng)
{
	size_t at = any_place(input, rng);
	replace(input, at, any_size(input, at, rng), NULL, 0);
}

static void
end_early(struct bytes *input, struct rng *rng)
{
	input->size = any_place(input, rng);
}

/** Copy a piece of `other` to a random place; it replaces bytes or is inserted. */
static void
splice(struct bytes *input, const struct bytes *other, struct rng *rng)
{
	uint8_t piece[PIECE_MAX];
	size_t at = any_place(input, rng), from = any_place(other, rng);
	size_t size = any_size(other, from, rng);
	memcpy(piece, other->data + from, size);
	replace(input, at, rng_below(rng, 2) ? any_size(input, at, rng) : 0, piece, size);
}

/** Join the beginning of `input` and the end of `other`. */
static void
cross(struct bytes *input, const struct bytes *other, struct rng *rng)
{
	size_t at = any_place(input, rng), from = any_place(other, rng);
	if (input != other)
		replace(input, at, input->size - at, other->data + from, other->size - from);
}

static void
use_word(struct bytes *input, const struct dictionary *dictionary, struct rng *rng)
{
	size_t at = any_place(input, rng);
	if (dictionary->count == 0)
		return;
	const struct bytes *word = &dictionary->words[rng_below(rng, dictionary->count)];
	size_t over = rng_below(rng, 2) ? word->size : 0;
	if (over > input->size - at)
		over = input->size - at;
	replace(input, at, over, word->data, word->size);
}

void
mutate(struct bytes *input, const struct bytes *other, const struct dictionary *dictionary,
	struct rng *rng)
{
	uint64_t changes = 1 + rng_below(rng, CHANGES_MAX);
	for (uint64_t i = 0; i < changes; i++) {
		switch (rng_below(rng, 10)) {
		case 0:
		case 1:
			flip_bit(input, rng);
			break;
		case 2:
			set_extreme(input, rng);
			break;
		case 3:
		case 4:
			set_number(input, rng);
			break;
		case 5:
			leave_out(input, rng);
			break;
		case 6:
			end_early(input, rng);
			break;
		case 7:
			splice(input, rng_below(rng, 2) ? input : other, rng);
			break;
		case 8:
			cross(input, other, rng);
			break;
		case 9:
			use_word(input, dictionary, rng);
			break;
		}
	}
}

/* ---- dictionaries ---- */

static int
hex(char digit)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = digit != '\0' ? strchr(digits, digit) : NULL;
	return at != NULL ? (int)(at - digits) : -1;
}

/** Unescape, in place, the text up to the next quote. Returns its size. */
static size_t
unquote(char *text)
{
	size_t size = 0;
	for (const char *at = text; *at != '\0' && *at != '"'; at++) {
		if (at[0] == '\\' && at[1] == 'x' && hex(at[2]) >= 0 && hex(at[3]) >= 0) {
			text[size++] = (char)(hex(at[2]) << 4 | hex(at[3]));
			at += 3;
		} else {
			at += at[0] == '\\' && at[1] != '\0';
			text[size++] = *at;
		}
	}
	return size;
}

static int
add_word(struct dictionary *dictionary, const char *word, size_t size)
{
	struct bytes *words = realloc(
		dictionary->words, (dictionary->count + 1) * sizeof(*dictionary->words));
	uint8_t *copy = malloc(size + 1);
	if (words != NULL)
		dictionary->words = words;
	if (words == NULL || copy == NULL) {
		free(copy);
		return 0;
	}
	memcpy(copy, word, size);
	words[dictionary->count++] = (struct bytes){copy, size, size + 1};
	return 1;
}

int
dictionary_read(struct dictionary *dictionary, const char *path)
{
	char *line = NULL;
	size_t room = 0;
	int is_good = 1;
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return 0;
	while (is_good && getline(&line, &room, file) >= 0) {
		char *quote = line[0] != '#' ? strchr(line, '"') : NULL;
		if (quote != NULL)
			is_good = add_word(dictionary, quote + 1, unquote(quote + 1));
	}
	is_good &= !ferror(file);
	free(line);
	fclose(file);
	return is_good;
}

void
dictionary_destroy(struct dictionary *dictionary)
{
	for (size_t i = 0; i < dictionary->count; i++)
		free(dictionary->words[i].data);
	free(dictionary->words);
}
