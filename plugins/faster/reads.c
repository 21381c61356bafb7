/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads in flight. A ring serves one session and needs no lock. The threads are for systems
 * without io_uring, which containers often forbid. They cost two thread switches for each read.
 */
#include "reads.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "ring.h"

enum { READERS = 4 };

/* The threads, and the queue of reads that wait for a thread. */
struct readers {
	struct file *file;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct read *first, **last;
	unsigned count;
	bool is_stopping;
	pthread_t threads[READERS];
};

struct reads {
	struct file *file;
	struct readers *readers;
	struct ring ring;
	unsigned room, in_flight;
	int how;              /* READS_*; READS_AUTO: not decided yet, or a ring */
	pthread_mutex_t lock; /* protects `done`; used with threads only */
	pthread_cond_t wake;
	struct read *done;
	int error;
};

/* ---- threads ---- */

struct readers *
readers_new(struct file *file)
{
	struct readers *readers = calloc(1, sizeof(*readers));

	if (readers == NULL)
		return NULL;
	readers->file = file;
	readers->last = &readers->first;
	pthread_mutex_init(&readers->lock, NULL);
	pthread_cond_init(&readers->wake, NULL);
	return readers;
}

void
readers_delete(struct readers *readers)
{
	pthread_mutex_lock(&readers->lock);
	readers->is_stopping = true;
	pthread_cond_broadcast(&readers->wake);
	pthread_mutex_unlock(&readers->lock);
	for (unsigned i = 0; i < readers->count; i++)
		pthread_join(readers->threads[i], NULL);
	pthread_cond_destroy(&readers->wake);
	pthread_mutex_destroy(&readers->lock);
	free(readers);
}

static void
tell_done(struct read *read)
{
	struct reads *reads = read->reads;

	pthread_mutex_lock(&reads->lock);
	read->next = reads->done;
	reads->done = read;
	pthread_cond_signal(&reads->wake);
	pthread_mutex_unlock(&reads->lock);
}

static void *
reader_main(void *readers_of_thread)
{
	struct readers *readers = readers_of_thread;

	pthread_mutex_lock(&readers->lock);
	for (;;) {
		struct read *read = readers->first;

		if (read == NULL) {
			if (readers->is_stopping)
				break;
			pthread_cond_wait(&readers->wake, &readers->lock);
			continue;
		}
		readers->first = read->next;
		if (readers->first == NULL)
			readers->last = &readers->first;
		pthread_mutex_unlock(&readers->lock);
		read->error = file_read(
			readers->file, read->data, read->size, read->offset, &read->got);
		tell_done(read);
		pthread_mutex_lock(&readers->lock);
	}
	pthread_mutex_unlock(&readers->lock);
	return NULL;
}

/* Start the threads if necessary, and queue the read. False: no thread could be started. */
static bool
hand_to_readers(struct readers *readers, struct read *read)
{
	pthread_mutex_lock(&readers->lock);
	while (readers->count < READERS) {
		int error = pthread_create(
			&readers->threads[readers->count], NULL, reader_main, readers);
		if (error != 0) {
			errno = error;
			break;
		}
		readers->count++;
	}
	bool is_taken = readers->count > 0;
	if (is_taken) {
		read->next = NULL;
		*readers->last = read;
		readers->last = &read->next;
		pthread_cond_signal(&readers->wake);
	}
	pthread_mutex_unlock(&readers->lock);
	return is_taken;
}

/* ---- the reads of a session ---- */

struct reads *
reads_new(struct file *file, struct readers *readers, unsigned room, int how)
{
	struct reads *reads = calloc(1, sizeof(*reads));
	pthread_condattr_t clock;

	if (reads == NULL)
		return NULL;
	reads->file = file;
	reads->readers = readers;
	reads->room = room;
	reads->how = how;
	reads->ring.fd = -1;
	pthread_mutex_init(&reads->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&reads->wake, &clock);
	pthread_condattr_destroy(&clock);
	return reads;
}

void
reads_delete(struct reads *reads)
{
	while (reads->in_flight > 0 && reads->error == 0)
		reads_take(reads, 1000000000);
	ring_close(&reads->ring);
	pthread_cond_destroy(&reads->wake);
	pthread_mutex_destroy(&reads->lock);
	free(reads);
}

/* Open the ring at the first read: most sessions never read from storage. */
static bool
has_ring(struct reads *reads)
{
	if (reads->how == READS_THREADS || reads->ring.fd >= 0)
		return reads->ring.fd >= 0;
	int error = ring_open(&reads->ring, reads->room);
	if (error == 0)
		return true;
	if (reads->how == READS_AUTO)
		reads->how = READS_THREADS;
	errno = error;
	return false;
}

int
reads_error(const struct reads *reads)
{
	return reads->error;
}

unsigned
reads_in_flight(const struct reads *reads)
{
	return reads->in_flight;
}

bool
reads_start(struct reads *reads, struct read *read)
{
	if (reads->in_flight == reads->room) {
		errno = EAGAIN;
		return false;
	}
	read->got = 0;
	read->error = 0;
	read->reads = reads;
	if (has_ring(reads))
		ring_add(&reads->ring, reads->file->fd, read);
	else if (reads->how != READS_THREADS || !hand_to_readers(reads->readers, read))
		return false;
	reads->in_flight++;
	return true;
}

/* Take finished reads. Queues the rest of a short read again, like a loop over pread(2). */
static struct read *
take_from_ring(struct reads *reads, uint64_t timeout_ns)
{
	struct read *taken = NULL, *read;

	while (taken == NULL) {
		bool is_last = timeout_ns == 0;
		int error = ring_enter(&reads->ring, 0);

		if (error == 0 && (read = ring_next(&reads->ring)) == NULL && !is_last) {
			error = ring_enter(&reads->ring, timeout_ns);
			read = ring_next(&reads->ring);
			is_last = true;
		}
		reads->error = error;
		if (error != 0)
			return NULL;
		for (; read != NULL; read = ring_next(&reads->ring)) {
			bool is_short = read->error == 0 && read->got < read->size &&
				read->got % reads->file->block == 0; /* else end of file */
			if (is_short || read->error == EINTR || read->error == EAGAIN) {
				read->error = 0;
				ring_add(&reads->ring, reads->file->fd, read);
				is_last = timeout_ns == 0;
				continue;
			}
			read->next = taken;
			taken = read;
			reads->in_flight--;
		}
		if (is_last)
			break;
	}
	return taken;
}

static struct read *
take_from_threads(struct reads *reads, uint64_t timeout_ns)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(timeout_ns / 1000000000);
	until.tv_nsec += (long)(timeout_ns % 1000000000);
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&reads->lock);
	while (reads->done == NULL && timeout_ns != 0)
		if (pthread_cond_timedwait(&reads->wake, &reads->lock, &until) != 0)
			break;
	struct read *taken = reads->done;
	reads->done = NULL;
	pthread_mutex_unlock(&reads->lock);
	for (const struct read *read = taken; read != NULL; read = read->next)
		reads->in_flight--;
	return taken;
}

struct read *
reads_take(struct reads *reads, uint64_t timeout_ns)
{
	if (reads->in_flight == 0)
		return NULL;
	return reads->ring.fd >= 0 ? take_from_ring(reads, timeout_ns)
				   : take_from_threads(reads, timeout_ns);
}
