/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Maps and makes key files.
 *
 * Keys are raw bytes of one size, so `dd if=/dev/urandom` makes a valid file, too. The keys
 * made here are distinct, because a duplicate silently turns a put into an overwrite. The first
 * 8 bytes of key i (all of a shorter key) are a bijection of i, so they cannot collide. The
 * other bytes are hashed from them.
 *
 * The bijection on b bits alternates x ^= x >> b/2 with multiplication by an odd number mod
 * 2^b; both are invertible. The multipliers are splitmix64's (Steele, Lea, Flood, OOPSLA 2014).
 * The seed determines the order. Consecutive keys of the file are not near each other.
 */
#include "workload/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/mapping.h"
#include "base/progress.h"
#include "base/rng.h"

enum { WRITE_CHUNK = 1 << 20 };

static int
check_size(const char *path, uint64_t file_size, uint64_t key_size, uint64_t count)
{
	if (count <= file_size / key_size)
		return NB_OK;
	return error_set(NB_FAIL,
		"%s: holds %llu keys of %llu bytes, %llu are needed; make them with: mininb --action=keys -i %s -k %llu -c %llu",
		path, (unsigned long long)(file_size / key_size), (unsigned long long)key_size,
		(unsigned long long)count, path, (unsigned long long)key_size,
		(unsigned long long)count);
}

static int
open_checked(int *out, const char *path, uint64_t key_size, uint64_t count)
{
	/* without O_NONBLOCK, opening a pipe waits for a writer */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return error_set(NB_FAIL,
			"%s: no such file; make it with: mininb --action=keys -i %s -k %llu -c %llu",
			path, path, (unsigned long long)key_size, (unsigned long long)count);
	if (fd < 0)
		return error_system("%s", path);
	struct stat st;
	int rc = NB_OK;
	if (fstat(fd, &st) != 0)
		rc = error_system("%s", path);
	else if (!S_ISREG(st.st_mode))
		rc = error_set(NB_FAIL, "%s: is not a regular file", path);
	else
		rc = check_size(path, (uint64_t)st.st_size, key_size, count);
	if (rc != NB_OK) {
		close(fd);
		return rc;
	}
	*out = fd;
	return NB_OK;
}

int
keys_open(struct keys *keys, const char *path, uint64_t key_size, uint64_t count)
{
	int fd = -1;
	int rc = open_checked(&fd, path, key_size, count);
	if (rc != NB_OK)
		return rc;
	uint64_t size = count * key_size;
	void *data = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (data == MAP_FAILED)
		rc = error_system("%s: mmap", path);
	close(fd);
	if (rc != NB_OK)
		return rc;
	*keys = (struct keys){.data = data,
		.key_size = key_size,
		.count = count,
		.mapped_size = size,
		.path = strdup(path)};
	madvise(data, size, MADV_SEQUENTIAL);
	mapping_add(data, size, path);
	if (keys->path != NULL)
		return NB_OK;
	keys_close(keys);
	return error_memory();
}

void
keys_close(struct keys *keys)
{
	mapping_remove(keys->data);
	munmap((void *)keys->data, keys->mapped_size);
	free(keys->path);
	*keys = (struct keys){0};
}

void
keys_forget(const struct keys *keys, uint64_t begin, uint64_t end)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t from = (begin * keys->key_size + page - 1) / page * page;
	uint64_t to = end * keys->key_size / page * page;
	if (from < to)
		madvise((uint8_t *)keys->data + from, to - from, MADV_DONTNEED);
}

/** Number of bits that make a key unique: all of its bits, at most 64. */
static unsigned
key_bits(uint64_t key_size)
{
	return key_size < 8 ? (unsigned)key_size * 8 : 64;
}

static uint64_t
mask_of(unsigned bits)
{
	return UINT64_MAX >> (64 - bits);
}

static uint64_t
permute(uint64_t x, unsigned bits)
{
	uint64_t mask = mask_of(bits);
	x = (x * 0x9e3779b97f4a7c15u) & mask;
	x ^= x >> (bits / 2);
	x = (x * 0xbf58476d1ce4e5b9u) & mask;
	x ^= x >> (bits / 2 - 1);
	x = (x * 0x94d049bb133111ebu) & mask;
	return x ^ x >> (bits / 2);
}

/** Make the key of position i; the seed determines `offset`. */
static void
make_key(uint8_t *out, uint64_t key_size, uint64_t offset, uint64_t i)
{
	unsigned bits = key_bits(key_size);
	uint64_t head = permute(permute(offset + i, bits) ^ offset, bits);
	memcpy(out, &head, key_size < 8 ? key_size : 8);
	uint64_t state = head ^ offset;
	for (uint64_t at = 8; at < key_size; at += 8) {
		uint64_t word = splitmix64_next(&state);
		memcpy(out + at, &word, key_size - at < 8 ? key_size - at : 8);
	}
}

/* ---- detection of such files ---- */

/** The inverse of permute(), with the inverses of its factors. */
static uint64_t
permute_back(uint64_t x, unsigned bits)
{
	x = (rng_unshift(x, bits / 2) * 0x319642b2d24d8ec3u) & mask_of(bits);
	x = (rng_unshift(x, bits / 2 - 1) * 0x96de1b173f119089u) & mask_of(bits);
	return (rng_unshift(x, bits / 2) * 0xf1de83e19937733du) & mask_of(bits);
}

/** The position for which make_key() makes a key that begins with `head`. */
static uint64_t
place_of(uint64_t head, uint64_t offset, unsigned bits)
{
	offset &= mask_of(bits);
	return (permute_back(permute_back(head, bits) ^ offset, bits) - offset) & mask_of(bits);
}

static uint64_t
read_head(const uint8_t *key, uint64_t key_size)
{
	uint64_t head = 0;
	memcpy(&head, key, key_size < 8 ? key_size : 8);
	return head;
}

/**
 * Bytes of another origin, or keys of another seed, would have positions up to 2^bits. Each of
 * the first keys with a new position inside the file gives log2(2^bits / count) bits of
 * evidence. Enough keys are checked for an error probability of 2^-64.
 */
static bool
are_short_keys(const uint8_t *begin, size_t size, uint64_t file_size, uint64_t key_size,
	uint64_t offset)
{
	enum { LOOKED_AT = 64, BITS_ENOUGH = 64 };
	uint64_t places[LOOKED_AT], count = file_size / key_size;
	unsigned bits = key_bits(key_size), known = 0, count_bits = 0;
	if (file_size % key_size != 0)
		return false;
	while (count_bits < 63 && (uint64_t)1 << count_bits < count)
		count_bits++;
	for (size_t i = 0; i < LOOKED_AT && (i + 1) * key_size <= size; i++) {
		places[i] = place_of(read_head(begin + i * key_size, key_size), offset, bits);
		bool is_new = places[i] < count;
		for (size_t k = 0; k < i; k++)
			is_new &= places[k] != places[i];
		if (!is_new)
			return false;
		known += bits > count_bits ? bits - count_bits : 0;
	}
	return known >= BITS_ENOUGH;
}

bool
keys_are_made(const void *begin, size_t size, uint64_t file_size, uint64_t seed)
{
	const uint8_t *bytes = begin;
	uint64_t word, offset = splitmix64_next(&seed);
	for (uint64_t key_size = 1; key_size < 16; key_size++) {
		if (are_short_keys(bytes, size, file_size, key_size, offset))
			return true;
	}
	if (size < 16)
		return false;
	/* in a longer key, the word after the head determines the seed */
	uint64_t head = read_head(bytes, 8);
	memcpy(&word, bytes + 8, 8);
	return place_of(head, (splitmix64_unmix(word) - 0x9e3779b97f4a7c15u) ^ head, 64) <
		file_size / 16;
}

static int
write_keys(struct atomic_file *atomic, uint64_t key_size, uint64_t count, uint64_t seed,
	nb_progress_fn progress, void *progress_arg)
{
	uint64_t state = seed;
	uint64_t offset = splitmix64_next(&state);
	uint64_t in_chunk = key_size < WRITE_CHUNK ? WRITE_CHUNK / key_size : 1;
	uint8_t *chunk = malloc(in_chunk * key_size);
	if (chunk == NULL)
		return error_memory();
	struct progress shown = progress_begin(progress, progress_arg, "keys", count);
	int rc = NB_OK;
	for (uint64_t i = 0; i < count && rc == NB_OK; i += in_chunk) {
		uint64_t n = count - i < in_chunk ? count - i : in_chunk;
		for (uint64_t j = 0; j < n; j++)
			make_key(chunk + j * key_size, key_size, offset, i + j);
		rc = atomic_file_write(atomic, chunk, n * key_size, i * key_size);
		if (rc == NB_OK)
			rc = progress_report(&shown, i + n);
	}
	free(chunk);
	return rc;
}

int
nb_keys_make(const char *path, uint64_t key_size, uint64_t count, uint64_t seed,
	nb_progress_fn progress, void *progress_arg)
{
	if (key_size == 0 || key_size > NB_KEY_SIZE_MAX || count == 0)
		return error_set(NB_ERR_USAGE,
			"keys: need a size of 1..%u bytes and a count of at least 1",
			NB_KEY_SIZE_MAX);
	unsigned bits = key_bits(key_size);
	if (bits < 64 && count > (uint64_t)1 << bits)
		return error_set(NB_ERR_USAGE,
			"keys: there are only %llu different keys of %llu bytes, not %llu",
			(unsigned long long)1 << bits, (unsigned long long)key_size,
			(unsigned long long)count);
	if (count > INT64_MAX / key_size)
		return error_set(NB_ERR_USAGE, "keys: no file can be that large");
	struct atomic_file atomic;
	int rc = atomic_file_open(&atomic, path, count * key_size);
	if (rc != NB_OK)
		return rc;
	rc = write_keys(&atomic, key_size, count, seed, progress, progress_arg);
	if (rc == NB_OK) {
		atomic_file_sign(&atomic);
		return atomic_file_commit(&atomic);
	}
	atomic_file_abort(&atomic);
	return rc;
}
