/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RANKS_LINK_H
#define RANKS_LINK_H
/**
 * Messages between ranks. The implementation is a shared object for each MPI (mpi.c),
 * because their interfaces agree in source only. It exports one function. All calls come
 * from one thread.
 */
#include <stddef.h>
#include <stdint.h>

#define LINK_ABI 2u
#define LINK_SYMBOL "mininb_link"

struct link_calls {
	uint32_t abi;
	/** Join the other ranks. Returns NULL, or the text of a failure. */
	const char *(*open)(uint32_t *rank, uint32_t *ranks);
	/** Start to send a copy. Returns 0, or -1 if memory is exhausted or MPI rejects it. */
	int (*send)(uint32_t to, const void *bytes, size_t size);
	/**
	 * Returns 1 and a message that is yours to free(), 0 if none has arrived, -1 on a
	 * failure.
	 */
	int (*receive)(uint32_t *from, void **bytes, size_t *size);
	/** The number of unfinished sends. */
	size_t (*pending)(void);
	/** Returns when all ranks have called it. */
	void (*close)(void);
	/**
	 * If close() does not return: report the end of this process to the launcher. For
	 * signal handlers.
	 */
	void (*leave)(void);
	/** Make the launcher end all ranks. Does not return. */
	void (*abort)(int status);
};

typedef const struct link_calls *
link_fn(void);

#endif /* RANKS_LINK_H */
