/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages by MPI. This file is compiled for each MPI on the machine; the program links
 * none of them.
 *
 * All calls are nonblocking. A collective call of MPI keeps a CPU busy until the last rank
 * arrives, which would disturb ranks that still measure. A message is matched (MPI_Improbe)
 * before it is received, so a sender that dies while sending cannot block this rank.
 */
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "link.h"

enum { BARRIER_MS = 500, ANSWER_MS = 1000, FILES = 1024 };

/** A message that is being sent or received. */
struct transfer {
	struct transfer *next;
	MPI_Request request;
	int peer;
	size_t size;
	char *bytes;
};

static struct transfer *sends, *receives;
static size_t send_count;
static int launcher_fd = -1; /* the socket to Hydra; -1: another launcher */
static bool was_open[FILES]; /* files open before MPI_Init, including the launcher's */

static const char *
open_link(uint32_t *rank, uint32_t *ranks)
{
	int own, all, given;
	for (int fd = 0; fd < FILES; fd++)
		was_open[fd] = fcntl(fd, F_GETFD) >= 0;
	if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given) != MPI_SUCCESS)
		return "MPI_Init_thread failed";
	if (MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) != MPI_SUCCESS ||
		MPI_Comm_rank(MPI_COMM_WORLD, &own) != MPI_SUCCESS ||
		MPI_Comm_size(MPI_COMM_WORLD, &all) != MPI_SUCCESS)
		return "MPI_COMM_WORLD cannot be used";
	const char *fd = getenv("PMI_FD");
	launcher_fd = fd != NULL ? atoi(fd) : -1;
	*rank = (uint32_t)own;
	*ranks = (uint32_t)all;
	return NULL;
}

static struct transfer *
new_transfer(int peer, size_t size)
{
	struct transfer *transfer = calloc(1, sizeof(*transfer));
	char *bytes = malloc(size + 1);
	if (transfer == NULL || bytes == NULL || size > INT_MAX) {
		free(transfer);
		free(bytes);
		return NULL;
	}
	*transfer = (struct transfer){.peer = peer, .size = size, .bytes = bytes};
	return transfer;
}

static void
delete_transfer(struct transfer *transfer)
{
	free(transfer->bytes);
	free(transfer);
}

/**
 * Remove finished sends and return the number of the others. A failed send is dropped: its
 * receiver is lost.
 */
static size_t
pending_sends(void)
{
	for (struct transfer **at = &sends; *at != NULL;) {
		struct transfer *transfer = *at;
		int is_done = 0;
		int rc = MPI_Test(&transfer->request, &is_done, MPI_STATUS_IGNORE);
		if (rc == MPI_SUCCESS && !is_done) {
			at = &transfer->next;
			continue;
		}
		*at = transfer->next;
		delete_transfer(transfer);
		send_count--;
	}
	return send_count;
}

static int
send_message(uint32_t to, const void *bytes, size_t size)
{
	struct transfer *transfer = new_transfer((int)to, size);
	if (transfer == NULL)
		return -1;
	memcpy(transfer->bytes, bytes, size);
	if (MPI_Isend(transfer->bytes, (int)size, MPI_BYTE, (int)to, 0, MPI_COMM_WORLD,
		    &transfer->request) != MPI_SUCCESS) {
		delete_transfer(transfer);
		return -1;
	}
	transfer->next = sends;
	sends = transfer;
	send_count++;
	return 0;
}

/** Start to receive the next message if one has arrived. Returns -1 on a failure. */
static int
begin_receive(void)
{
	int is_there = 0, size = 0;
	MPI_Message message;
	MPI_Status status;
	if (MPI_Improbe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &is_there, &message, &status) !=
		MPI_SUCCESS)
		return -1;
	if (!is_there)
		return 0;
	if (MPI_Get_count(&status, MPI_BYTE, &size) != MPI_SUCCESS || size < 0)
		return -1;
	struct transfer *transfer = new_transfer(status.MPI_SOURCE, (size_t)size);
	if (transfer == NULL)
		return -1;
	if (MPI_Imrecv(transfer->bytes, size, MPI_BYTE, &message, &transfer->request) !=
		MPI_SUCCESS) {
		delete_transfer(transfer);
		return -1;
	}
	struct transfer **end = &receives;
	while (*end != NULL)
		end = &(*end)->next;
	*end = transfer;
	return 0;
}

static int
receive_message(uint32_t *from, void **bytes, size_t *size)
{
	int rc = begin_receive();
	for (struct transfer **at = &receives; *at != NULL; at = &(*at)->next) {
		struct transfer *transfer = *at;
		int is_done = 0;
		if (MPI_Test(&transfer->request, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
			rc = -1;
		if (!is_done)
			continue;
		*at = transfer->next;
		*from = (uint32_t)transfer->peer;
		*bytes = transfer->bytes;
		*size = transfer->size;
		free(transfer);
		return 1;
	}
	return rc;
}

/**
 * MPI_Finalize of MPICH 4.0 over UCX needs an answer from each other rank. It then waits in
 * a barrier of the launcher, during which a rank does not answer. So a rank that comes
 * later may wait for ever. After MPI_Barrier() all ranks arrive within microseconds, which
 * makes that rare. leave_launcher() handles the remaining cases.
 */
static void
close_link(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
}

/**
 * Read from the launcher until its text contains `word`, or until it sends nothing for `ms`
 * milliseconds.
 */
static void
await_launcher(const char *word, int ms)
{
	char text[256] = "";
	size_t used = 0;
	struct pollfd launcher = {.fd = launcher_fd, .events = POLLIN};
	while (strstr(text, word) == NULL && poll(&launcher, 1, ms) > 0) {
		ssize_t got = read(launcher_fd, text + used, sizeof(text) - 1 - used);
		if (got <= 0)
			return;
		used += (size_t)got;
		text[used] = '\0';
	}
}

/**
 * End the wait in MPI_Finalize, from a signal handler. Hydra, the launcher of MPICH,
 * reports a failure in two cases: a process ends without a message, or it ends before Hydra
 * has sent it the end of a barrier. So this function first closes the connections: then no
 * rank waits for an answer of this one. It waits for the end of the barrier, and then
 * reports its own end to Hydra. If the barrier does not end, all ranks are in this
 * function. The messages are those of PMI version 1.
 */
static void
leave_launcher(void)
{
	static const char bye[] = "cmd=finalize\n";
	if (launcher_fd < 0)
		return;
	for (int fd = 0; fd < FILES; fd++) {
		struct sockaddr_storage peer;
		socklen_t size = sizeof(peer);
		if (!was_open[fd] && getpeername(fd, (struct sockaddr *)&peer, &size) == 0)
			shutdown(fd, SHUT_RDWR);
	}
	await_launcher("barrier_out", BARRIER_MS);
	if (write(launcher_fd, bye, sizeof(bye) - 1) == (ssize_t)sizeof(bye) - 1)
		await_launcher("finalize_ack", ANSWER_MS);
}

static void
abort_link(int status)
{
	MPI_Abort(MPI_COMM_WORLD, status);
}

/** The only exported symbol; see LINK_SYMBOL. */
__attribute__((visibility("default"))) const struct link_calls *
mininb_link(void);

const struct link_calls *
mininb_link(void)
{
	static const struct link_calls calls = {.abi = LINK_ABI,
		.open = open_link,
		.send = send_message,
		.receive = receive_message,
		.pending = pending_sends,
		.close = close_link,
		.leave = leave_launcher,
		.abort = abort_link};
	return &calls;
}
