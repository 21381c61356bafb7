/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * io_uring. The kernel shares two queues with the process. The process adds requests at the tail
 * of one, and takes completions from the head of the other. Each side publishes its own end with
 * a release store and reads the other end with an acquire load. That is the whole protocol.
 */
#include "ring.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <linux/time_types.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "reads.h"

static void *
map(int fd, unsigned long size, unsigned long offset)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
		(off_t)offset);
}

static unsigned *
word_at(const struct ring *ring, unsigned offset)
{
	return (unsigned *)(void *)((char *)ring->rings + offset);
}

int
ring_open(struct ring *ring, unsigned room)
{
	/* Both queues in one mapping (Linux 5.4), and a timeout for the wait (Linux 5.11). */
	const unsigned needed = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_EXT_ARG;
	struct io_uring_params params = {.flags = IORING_SETUP_CLAMP};
	int error = ENOSYS;

	*ring = (struct ring){.fd = (int)syscall(SYS_io_uring_setup, room, &params)};
	if (ring->fd < 0)
		return errno;
	if ((params.features & needed) != needed || params.sq_entries < room)
		goto close_ring;
	unsigned long sq_size = params.sq_off.array + params.sq_entries * sizeof(unsigned);
	unsigned long cq_size = params.cq_off.cqes +
		params.cq_entries * sizeof(struct io_uring_cqe);
	ring->rings_size = sq_size > cq_size ? sq_size : cq_size;
	ring->sqes_size = params.sq_entries * sizeof(struct io_uring_sqe);
	ring->rings = map(ring->fd, ring->rings_size, IORING_OFF_SQ_RING);
	if (ring->rings == MAP_FAILED)
		goto keep_errno;
	ring->sqes = map(ring->fd, ring->sqes_size, IORING_OFF_SQES);
	if (ring->sqes == MAP_FAILED)
		goto unmap_rings;
	ring->sq_tail = word_at(ring, params.sq_off.tail);
	ring->sq_mask = word_at(ring, params.sq_off.ring_mask);
	ring->sq_array = word_at(ring, params.sq_off.array);
	ring->cq_head = word_at(ring, params.cq_off.head);
	ring->cq_tail = word_at(ring, params.cq_off.tail);
	ring->cq_mask = word_at(ring, params.cq_off.ring_mask);
	ring->cqes = word_at(ring, params.cq_off.cqes);
	ring->room = room;
	return 0;

unmap_rings:
	error = errno;
	munmap(ring->rings, ring->rings_size);
	goto close_ring;
keep_errno:
	error = errno;
close_ring:
	close(ring->fd);
	ring->fd = -1;
	return error;
}

void
ring_close(struct ring *ring)
{
	if (ring->fd < 0)
		return;
	munmap(ring->sqes, ring->sqes_size);
	munmap(ring->rings, ring->rings_size);
	close(ring->fd);
	ring->fd = -1;
}

void
ring_add(struct ring *ring, int fd, struct read *read)
{
	unsigned tail = *ring->sq_tail, at = tail & *ring->sq_mask;
	struct io_uring_sqe *sqe = (struct io_uring_sqe *)ring->sqes + at;

	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_READ;
	sqe->fd = fd;
	sqe->off = read->offset + read->got;
	sqe->addr = (uint64_t)(uintptr_t)((char *)read->data + read->got);
	sqe->len = (uint32_t)(read->size - read->got);
	sqe->user_data = (uint64_t)(uintptr_t)read;
	ring->sq_array[at] = at;
	__atomic_store_n(ring->sq_tail, tail + 1, __ATOMIC_RELEASE);
	ring->unsent++;
}

int
ring_enter(struct ring *ring, uint64_t timeout_ns)
{
	struct __kernel_timespec time = {.tv_sec = (long long)(timeout_ns / 1000000000),
		.tv_nsec = (long long)(timeout_ns % 1000000000)};
	struct io_uring_getevents_arg arg = {.ts = (uint64_t)(uintptr_t)&time};
	unsigned flags = timeout_ns == 0 ? 0 : IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG;

	while (ring->unsent != 0 || timeout_ns != 0) {
		long sent = syscall(SYS_io_uring_enter, ring->fd, ring->unsent,
			timeout_ns == 0 ? 0 : 1, flags, timeout_ns == 0 ? NULL : &arg,
			timeout_ns == 0 ? 0 : sizeof(arg));

		if (sent >= 0) {
			ring->unsent -= (unsigned)sent;
			if (ring->unsent == 0)
				return 0;
		} else if (errno == ETIME) {
			return 0;
		} else if (errno != EINTR && errno != EAGAIN && errno != EBUSY) {
			return errno;
		} else if (errno != EINTR) {
			return 0; /* try later: the caller must take completions first */
		}
	}
	return 0;
}

struct read *
ring_next(struct ring *ring)
{
	unsigned head = *ring->cq_head;

	if (head == __atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE))
		return NULL;
	const struct io_uring_cqe *cqe = (const struct io_uring_cqe *)ring->cqes +
		(head & *ring->cq_mask);
	struct read *read = (struct read *)(uintptr_t)cqe->user_data;
	if (cqe->res < 0)
		read->error = -cqe->res;
	else
		read->got += (unsigned)cqe->res;
	read->size = cqe->res == 0 ? read->got : read->size; /* the file ends here */
	__atomic_store_n(ring->cq_head, head + 1, __ATOMIC_RELEASE);
	return read;
}
