/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shuffles the first keys of a file.
 *
 * It uses the Fisher-Yates shuffle (Knuth, TAOCP 2, 3.4.2 P) with unbiased bounded draws. In
 * place, it would access random pages of the mapped file, and a kill between the two halves of
 * a swap would lose a key. So the result is written to a temporary file. If the file exceeds
 * KEYS_BUCKET_BYTES (keys.h), each key is first dealt into a random bucket that fits into
 * memory, and each bucket is then shuffled. The result is as uniform (Rao 1961; Sandelius
 * 1962), and I/O is sequential. The bucket of key i is drawn twice from the same generator:
 * once to compute the sizes of the buckets, once to fill them.
 */
#include <stdbool.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/progress.h"
#include "base/rng.h"
#include "workload/keys.h"

enum {
	BUFFER_BYTES = 64 << 10, /* maximum buffer of a bucket during dealing */
	COPY_BYTES = 1 << 20,
	BEGIN_BYTES = 4096, /* enough to recognise keys that nb_keys_make() made */
	/* maximum work between two checks of the stop flag: some milliseconds */
	LOOK_KEYS = 1 << 16,
	LOOK_BYTES = 4 << 20
};

struct bucket {
	uint64_t begin; /* its first key in the new file */
	uint64_t size;  /* keys */
	uint64_t dealt; /* keys written or buffered */
	uint64_t buffered;
	uint8_t *buffer; /* shuffle->room keys */
};

struct shuffle {
	struct keys keys;
	struct atomic_file atomic;
	uint64_t seed;
	uint64_t bucket_bytes; /* expected; a bucket varies by the root of its keys */
	struct bucket *buckets;
	uint64_t bucket_count;
	uint8_t *buffers; /* of all buckets: together at most one bucket */
	uint64_t room;    /* keys in a buffer; 0: too many buckets or too large keys for any */
	uint64_t look_keys;
	struct progress progress;
};

/** Each key counts twice: dealt and shuffled. */
static int
report(const struct shuffle *shuffle, uint64_t done)
{
	return progress_report(&shuffle->progress, done / 2);
}

static struct rng
dealing_rng(const struct shuffle *shuffle)
{
	struct rng rng;
	rng_create(&rng, shuffle->seed);
	return rng;
}

static void
size_buckets(struct shuffle *shuffle)
{
	struct rng rng = dealing_rng(shuffle);
	for (uint64_t i = 0; i < shuffle->keys.count; i++)
		shuffle->buckets[rng_below(&rng, shuffle->bucket_count)].size++;
	for (uint64_t b = 1; b < shuffle->bucket_count; b++)
		shuffle->buckets[b].begin = shuffle->buckets[b - 1].begin +
			shuffle->buckets[b - 1].size;
}

static int
empty_buffer(struct shuffle *shuffle, struct bucket *bucket)
{
	uint64_t key_size = shuffle->keys.key_size;
	uint64_t at = bucket->begin + bucket->dealt - bucket->buffered;
	int rc = atomic_file_write(
		&shuffle->atomic, bucket->buffer, bucket->buffered * key_size, at * key_size);
	bucket->buffered = 0;
	return rc;
}

static int
deal_key(struct shuffle *shuffle, struct bucket *bucket, struct nb_slice key)
{
	uint64_t at = bucket->begin + bucket->dealt++;
	if (shuffle->room == 0)
		return atomic_file_write(&shuffle->atomic, key.data, key.size, at * key.size);
	memcpy(bucket->buffer + bucket->buffered * key.size, key.data, key.size);
	return ++bucket->buffered == shuffle->room ? empty_buffer(shuffle, bucket) : NB_OK;
}

static int
deal(struct shuffle *shuffle)
{
	struct keys *keys = &shuffle->keys;
	struct rng rng = dealing_rng(shuffle);
	uint64_t end;
	int rc = NB_OK;
	for (uint64_t begin = 0; begin < keys->count && rc == NB_OK; begin = end) {
		uint64_t left = keys->count - begin;
		end = begin + (left < shuffle->look_keys ? left : shuffle->look_keys);
		for (uint64_t i = begin; i < end && rc == NB_OK; i++) {
			uint64_t b = rng_below(&rng, shuffle->bucket_count);
			rc = deal_key(shuffle, &shuffle->buckets[b], keys_get(keys, i));
		}
		keys_forget(keys, begin, end);
		if (rc == NB_OK)
			rc = report(shuffle, end);
	}
	for (uint64_t b = 0; b < shuffle->bucket_count && rc == NB_OK; b++)
		rc = empty_buffer(shuffle, &shuffle->buckets[b]);
	return rc;
}

static void
swap_keys(uint8_t *a, uint8_t *b, uint64_t size)
{
	uint8_t passing[256];
	for (; a != b && size > 0;) {
		size_t n = size < sizeof(passing) ? size : sizeof(passing);
		memcpy(passing, a, n);
		memcpy(a, b, n);
		memcpy(b, passing, n);
		a += n;
		b += n;
		size -= n;
	}
}

/** Fisher-Yates shuffle of `size` keys; `done` is for the progress. */
static int
mix(struct shuffle *shuffle, struct rng *rng, uint8_t *data, uint64_t size, uint64_t done)
{
	uint64_t key_size = shuffle->keys.key_size;
	int rc = NB_OK;
	for (uint64_t i = size; i > 0 && rc == NB_OK;) {
		uint64_t until = i > shuffle->look_keys ? i - shuffle->look_keys : 0;
		for (; i > until; i--) {
			uint64_t j = rng_below(rng, i);
			swap_keys(data + (i - 1) * key_size, data + j * key_size, key_size);
		}
		rc = report(shuffle, done + size - i);
	}
	return rc;
}

static int
read_back(struct shuffle *shuffle, uint8_t *data, uint64_t size, uint64_t offset)
{
	while (size > 0) {
		ssize_t n = pread(shuffle->atomic.fd, data, size, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return error_system("%s: read", shuffle->atomic.path);
		data += n;
		size -= (uint64_t)n;
		offset += (uint64_t)n;
	}
	return NB_OK;
}

static int
mix_buckets(struct shuffle *shuffle)
{
	uint64_t key_size = shuffle->keys.key_size, largest = 0;
	for (uint64_t b = 0; b < shuffle->bucket_count; b++)
		if (shuffle->buckets[b].size > largest)
			largest = shuffle->buckets[b].size;
	uint8_t *data = malloc(largest * key_size);
	if (data == NULL)
		return error_set(NB_FAIL, "%s: out of memory for %llu bytes",
			shuffle->keys.path, (unsigned long long)(largest * key_size));
	struct rng rng;
	rng_create(&rng, ~shuffle->seed); /* another stream than for dealing */
	int rc = NB_OK;
	for (uint64_t b = 0; b < shuffle->bucket_count && rc == NB_OK; b++) {
		const struct bucket *bucket = &shuffle->buckets[b];
		uint64_t offset = bucket->begin * key_size, size = bucket->size * key_size;
		rc = read_back(shuffle, data, size, offset);
		if (rc == NB_OK)
			rc = mix(shuffle, &rng, data, bucket->size,
				shuffle->keys.count + bucket->begin);
		if (rc == NB_OK)
			rc = atomic_file_write(&shuffle->atomic, data, size, offset);
	}
	free(data);
	return rc;
}

static int
make_buckets(struct shuffle *shuffle)
{
	uint64_t bytes = shuffle->keys.count * shuffle->keys.key_size;
	shuffle->bucket_count = (bytes + shuffle->bucket_bytes - 1) / shuffle->bucket_bytes;
	uint64_t share = shuffle->bucket_bytes / shuffle->bucket_count;
	shuffle->room = (share < BUFFER_BYTES ? share : BUFFER_BYTES) / shuffle->keys.key_size;
	uint64_t buffer_bytes = shuffle->room * shuffle->keys.key_size;
	shuffle->buckets = calloc(shuffle->bucket_count, sizeof(*shuffle->buckets));
	shuffle->buffers = malloc(shuffle->bucket_count * buffer_bytes + 1);
	if (shuffle->buckets == NULL || shuffle->buffers == NULL)
		return error_memory();
	for (uint64_t b = 0; b < shuffle->bucket_count; b++)
		shuffle->buckets[b].buffer = shuffle->buffers + b * buffer_bytes;
	return NB_OK;
}

/** Copy the bytes after the shuffled keys. */
static int
copy_rest(struct shuffle *shuffle, int fd, uint64_t begin, uint64_t end)
{
	uint8_t *chunk = malloc(COPY_BYTES);
	if (chunk == NULL)
		return error_memory();
	int rc = NB_OK;
	while (begin < end && rc == NB_OK) {
		size_t want = end - begin < COPY_BYTES ? end - begin : COPY_BYTES;
		ssize_t n = pread(fd, chunk, want, (off_t)begin);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			rc = error_system("%s: read", shuffle->keys.path);
			break;
		}
		rc = atomic_file_write(&shuffle->atomic, chunk, (size_t)n, begin);
		begin += (uint64_t)n;
		if (rc == NB_OK && stop_requested())
			rc = error_interrupted();
	}
	free(chunk);
	return rc;
}

static int
shuffle_aside(struct shuffle *shuffle, int fd, uint64_t file_size)
{
	int rc = make_buckets(shuffle);
	if (rc == NB_OK) {
		size_buckets(shuffle);
		rc = deal(shuffle);
	}
	free(shuffle->buffers); /* the shuffle needs the memory */
	if (rc == NB_OK)
		rc = mix_buckets(shuffle);
	if (rc == NB_OK)
		rc = copy_rest(shuffle, fd, shuffle->keys.mapped_size, file_size);
	free(shuffle->buckets);
	return rc;
}

/** A shuffled file keeps its origin, because `keys` must not replace a user's file. */
static bool
is_made_by_us(const struct shuffle *shuffle, int fd, uint64_t file_size)
{
	uint64_t size = shuffle->keys.mapped_size;
	return atomic_file_is_signed(fd) ||
		keys_are_made(shuffle->keys.data, size < BEGIN_BYTES ? size : BEGIN_BYTES,
			file_size, shuffle->seed);
}

static void
warn_of_part(const struct shuffle *shuffle, uint64_t file_size)
{
	uint64_t part = file_size % shuffle->keys.key_size;
	if (part != 0)
		log_message(NB_LOG_WARNING,
			"%s: the last %llu bytes are less than a key of %llu bytes and stay where they are; check --klen",
			shuffle->keys.path, (unsigned long long)part,
			(unsigned long long)shuffle->keys.key_size);
}

int
keys_shuffle(const char *path, uint64_t key_size, uint64_t count, uint64_t seed,
	uint64_t bucket_bytes, nb_progress_fn progress, void *progress_arg)
{
	if (key_size == 0 || key_size > NB_KEY_SIZE_MAX || count == 0)
		return error_set(NB_ERR_USAGE,
			"shuffle: needs a key size of 1..%u bytes and a count of at least 1",
			NB_KEY_SIZE_MAX);
	uint64_t look_keys = LOOK_BYTES / key_size;
	struct shuffle shuffle = {.seed = seed,
		.bucket_bytes = bucket_bytes,
		.look_keys = look_keys < LOOK_KEYS ? look_keys : LOOK_KEYS,
		.progress = progress_begin(progress, progress_arg, "shuffle", count)};
	int rc = keys_open(&shuffle.keys, path, key_size, count);
	if (rc != NB_OK)
		return rc;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) != 0) {
		rc = error_system("%s", path);
		goto close_fd;
	}
	bool is_ours = is_made_by_us(&shuffle, fd, (uint64_t)st.st_size);
	warn_of_part(&shuffle, (uint64_t)st.st_size);
	rc = atomic_file_open(&shuffle.atomic, path, (uint64_t)st.st_size);
	if (rc != NB_OK)
		goto close_fd;
	rc = shuffle_aside(&shuffle, fd, (uint64_t)st.st_size);
	if (rc == NB_OK) {
		if (is_ours)
			atomic_file_sign(&shuffle.atomic);
		rc = atomic_file_commit(&shuffle.atomic);
	} else {
		atomic_file_abort(&shuffle.atomic);
	}
close_fd:
	if (fd >= 0)
		close(fd);
	keys_close(&shuffle.keys);
	return rc;
}

int
nb_keys_shuffle(const char *path, uint64_t key_size, uint64_t count, uint64_t seed,
	nb_progress_fn progress, void *progress_arg)
{
	return keys_shuffle(
		path, key_size, count, seed, KEYS_BUCKET_BYTES, progress, progress_arg);
}
