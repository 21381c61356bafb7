/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For libFuzzer: any bytes as a key file. The first byte is the key size minus 1. The second
 * byte, signed, is the number of requested keys minus the number in the file. The survey must
 * agree with a search for equal keys. The shuffled file must have the same keys and the same
 * bytes after them.
 *
 *     tests/fuzz/fuzz_keys -max_len=2048 NEW_CORPUS .../tests/fuzz/corpus/keys
 */
#include <fcntl.h>

#define XXH_NO_INLINE_HINTS 1 /* at -Og, GCC 14 cannot inline every function that demands it */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "fuzz.h"
#include "workload/keys.h"

static size_t key_size;

static int
by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, key_size);
}

/** A sorted copy of the keys. Free it. */
static uint8_t *
sorted(const uint8_t *keys, size_t count)
{
	uint8_t *copy = malloc(count * key_size + 1);
	require(copy != NULL, "memory is available");
	memcpy(copy, keys, count * key_size);
	qsort(copy, count, key_size, by_bytes);
	return copy;
}

static uint64_t
count_equals(const uint8_t *keys, size_t count)
{
	uint8_t *copy = sorted(keys, count);
	uint64_t equals = 0;
	for (size_t i = 1; i < count; i++)
		equals += memcmp(copy + i * key_size, copy + (i - 1) * key_size, key_size) == 0;
	free(copy);
	return equals;
}

static void
survey(const uint8_t *bytes, const struct keys *keys)
{
	struct keys_facts facts;
	require(keys_survey(keys, &facts, KEYS_EXACT, NULL, NULL) == NB_OK,
		"the survey succeeds");
	require(facts.duplicates == count_equals(bytes, keys->count),
		"the number of duplicates is exact");
	require(!facts.is_estimate, "few keys are not estimated");
	require(facts.hash == XXH3_64bits(bytes, keys->count * key_size),
		"the hash is of all keys");
	struct nb_slice last = keys_get(keys, keys->count - 1);
	require(memcmp(last.data, bytes + (keys->count - 1) * key_size, key_size) == 0,
		"the last key is correct");
}

static void
shuffle(const uint8_t *bytes, size_t size, size_t count)
{
	char path[FUZZ_PATH];
	uint8_t *after = malloc(size + 1);
	int fd = open(place_of("keys", path), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
	require(fd >= 0 && write(fd, bytes, size) == (ssize_t)size, "the file can be written");
	close(fd);
	/* small buckets, so that there are several */
	require(keys_shuffle(path, key_size, count, size, 8 * key_size, NULL, NULL) == NB_OK,
		"the shuffle succeeds");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	require(after != NULL && read(fd, after, size + 1) == (ssize_t)size,
		"the file keeps its size");
	close(fd);
	unlink(path);
	uint8_t *were = sorted(bytes, count), *are = sorted(after, count);
	require(memcmp(were, are, count * key_size) == 0, "the file keeps its keys");
	require(memcmp(after + count * key_size, bytes + count * key_size,
			size - count * key_size) == 0,
		"bytes after the keys stay");
	free(were);
	free(are);
	free(after);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[FUZZ_PATH];
	struct keys keys;
	if (size < 2)
		return 0;
	key_size = (size_t)data[0] + 1;
	size_t there = (size - 2) / key_size;
	int64_t wanted = (int64_t)there + (int8_t)data[1];
	const uint8_t *bytes = data + 2;
	size -= 2;
	if (wanted <= 0)
		return 0; /* no command requests 0 keys */
	int fd = file_of(bytes, size, path);
	int rc = keys_open(&keys, path, key_size, (uint64_t)wanted);
	close(fd);
	require((rc == NB_OK) == ((size_t)wanted <= there),
		"the file opens if it has enough keys");
	if (rc != NB_OK) {
		require(strstr(nb_error_text(), path) != NULL, "the error names the file");
		return 0;
	}
	survey(bytes, &keys);
	keys_close(&keys);
	shuffle(bytes, size, (size_t)wanted);
	return 0;
}
