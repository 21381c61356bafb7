/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keys that begin with one of several words, and keys of letters.
 *
 * With W words, number n becomes word n mod W, followed by n / W in decimal. So consecutive
 * numbers have different words, and each word has equally many keys. A key is reversible,
 * because no word ends in a digit or is the beginning of another one. Letters are n in base 26,
 * most significant first, so the order of keys is that of the numbers.
 */
#include "workload/keyspace_words.h"

#include <string.h>

#include "base/decimal.h"
#include "base/error.h"

enum { LETTERS = 26 };

/** Find the start of word `index`; returns its size, 0 if it does not exist. */
static uint32_t
word_at(const struct keyspace *space, uint32_t index, const char **word)
{
	const char *at = space->prefix, *end = at + space->prefix_size;
	for (; index > 0 && at < end; index--) {
		const char *bar = memchr(at, '|', (size_t)(end - at));
		at = bar != NULL ? bar + 1 : end;
	}
	const char *bar = memchr(at, '|', (size_t)(end - at));
	*word = at;
	return (uint32_t)((bar != NULL ? bar : end) - at);
}

/** Whether two words can produce the same key. */
static bool
collide(const struct keyspace *space, uint32_t a, uint32_t b)
{
	const char *one, *other;
	uint32_t one_size = word_at(space, a, &one), other_size = word_at(space, b, &other);
	uint32_t both = one_size < other_size ? one_size : other_size;
	return memcmp(one, other, both) == 0;
}

static int
check_words(const struct keyspace *space)
{
	for (uint32_t w = 0; w < space->words; w++) {
		const char *word;
		uint32_t size = word_at(space, w, &word);
		if (size == 0 || (word[size - 1] >= '0' && word[size - 1] <= '9'))
			return error_set(NB_ERR_USAGE,
				"key-prefix: with key-format words it is a list such as 'user|machine'; no word is empty or ends in a digit");
		for (uint32_t other = 0; other < w; other++) {
			if (collide(space, w, other))
				return error_set(NB_ERR_USAGE,
					"key-prefix: a word of key-format words begins another one, so two records could have one key");
		}
	}
	return NB_OK;
}

static int
create_words(struct keyspace *space, const struct nb_job *job)
{
	const char *word;
	uint32_t longest = 0, digits;
	space->prefix_size = (uint32_t)strnlen(job->key_prefix, sizeof(job->key_prefix));
	memcpy(space->prefix, job->key_prefix, space->prefix_size);
	space->words = 1;
	for (uint32_t i = 0; i < space->prefix_size; i++)
		space->words += space->prefix[i] == '|';
	int rc = check_words(space);
	if (rc != NB_OK)
		return rc;
	for (uint32_t w = 0; w < space->words; w++) {
		uint32_t size = word_at(space, w, &word);
		longest = size > longest ? size : longest;
	}
	bool is_ordered = space->order == NB_ORDER_ORDERED;
	space->bits = 64;
	digits = decimal_digits((is_ordered ? space->numbers - 1 : UINT64_MAX) / space->words);
	space->digits = job->key_digits > 1 ? job->key_digits : 1;
	if (space->digits > NB_KEY_SIZE_MAX - sizeof(space->prefix))
		return error_set(NB_ERR_USAGE,
			"keys of %u digits: a key has no more than %u bytes", space->digits,
			NB_KEY_SIZE_MAX);
	space->key_size_max = longest + (digits > space->digits ? digits : space->digits);
	return NB_OK;
}

static int
create_letters(struct keyspace *space, const struct nb_job *job)
{
	uint64_t least = 1; /* the smallest number that is too large; 0: above 64 bits */
	if (job->key_size == 0 || job->key_size > NB_KEY_SIZE_MAX)
		return error_set(NB_ERR_USAGE, "keys of %llu letters: a key has 1..%u",
			(unsigned long long)job->key_size, NB_KEY_SIZE_MAX);
	space->key_size = space->key_size_max = job->key_size;
	for (uint64_t i = 0; i < job->key_size && least > 0; i++)
		least = least > UINT64_MAX / LETTERS ? 0 : least * LETTERS;
	space->bits = least > 0 ? 63 - (uint32_t)__builtin_clzll(least) : 64;
	if (space->bits > 56 && space->bits < 64)
		space->bits = 56; /* limit of keyspace_permute() */
	bool is_hashed = space->order == NB_ORDER_HASHED;
	uint64_t most = is_hashed && space->bits < 64 ? UINT64_C(1) << space->bits : least;
	if ((most > 0 && space->numbers > most) || (is_hashed && space->bits < 8))
		return error_set(NB_ERR_USAGE,
			"there are only %llu different keys of %llu letters, and %llu records; raise key-size",
			(unsigned long long)most, (unsigned long long)job->key_size,
			(unsigned long long)space->numbers);
	return NB_OK;
}

int
keyspace_create_words(struct keyspace *space, const struct nb_job *job)
{
	if (space->order == NB_ORDER_YCSB)
		return error_set(NB_ERR_USAGE,
			"key-order: ycsb needs key-format raw, text or be64; use hashed or ordered");
	return space->format == NB_KEY_WORDS ? create_words(space, job)
					     : create_letters(space, job);
}

size_t
keyspace_put_words(const struct keyspace *space, uint64_t written, uint8_t *out)
{
	if (space->format == NB_KEY_LETTERS) {
		for (size_t at = space->key_size; at-- > 0; written /= LETTERS)
			out[at] = (uint8_t)('a' + written % LETTERS);
		return space->key_size;
	}
	const char *word;
	uint32_t size = word_at(space, (uint32_t)(written % space->words), &word);
	uint64_t rest = written / space->words;
	uint32_t digits = decimal_digits(rest);
	digits = digits > space->digits ? digits : space->digits;
	memcpy(out, word, size);
	decimal_write(out + size, rest, digits);
	return size + (size_t)digits;
}

static bool
get_letters(struct nb_slice key, uint64_t *written)
{
	const uint8_t *in = key.data;
	*written = 0;
	for (size_t at = 0; at < key.size; at++) {
		uint64_t letter = (uint64_t)in[at] - 'a';
		if (letter >= LETTERS || *written > (UINT64_MAX - letter) / LETTERS)
			return false;
		*written = *written * LETTERS + letter;
	}
	return true;
}

/** Parse the number after the word; only its unique spelling is valid. */
static bool
get_digits(const struct keyspace *space, const uint8_t *in, size_t size, uint64_t *rest)
{
	*rest = 0;
	for (size_t at = 0; at < size; at++) {
		uint64_t digit = (uint64_t)in[at] - '0';
		if (digit > 9 || *rest > (UINT64_MAX - digit) / 10)
			return false;
		*rest = *rest * 10 + digit;
	}
	return size >= space->digits && (size == space->digits || in[0] != '0');
}

bool
keyspace_get_words(const struct keyspace *space, struct nb_slice key, uint64_t *written)
{
	if (space->format == NB_KEY_LETTERS)
		return get_letters(key, written);
	const uint8_t *in = key.data;
	for (uint32_t w = 0; w < space->words; w++) {
		const char *word;
		uint64_t rest;
		uint32_t size = word_at(space, w, &word);
		if (key.size <= size || memcmp(in, word, size) != 0)
			continue;
		if (!get_digits(space, in + size, key.size - size, &rest) ||
			rest > (UINT64_MAX - w) / space->words)
			return false;
		*written = rest * space->words + w;
		return true;
	}
	return false;
}
