/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RANKS_RANKS_H
#define RANKS_RANKS_H
/** Internals of ranks: the data of rank 0 about each rank, and the messages between them. */
#include <stdbool.h>
#include <string.h>

#include <mininb/ranks.h>

#include "ranks/link.h"

enum { RANKS_MAX = 1024 /* the limit of shards in a merge */, HOST_SIZE = 64, END_SIZE = 256 };

/** The difference of two machines' clocks. */
struct clock_offset {
	double ns;       /* the rank's clock minus the clock of rank 0 */
	double error_ns; /* half of the shortest round trip; 0: unknown */
};

/** The data of rank 0 about a rank. */
struct rank {
	bool is_ready, has_ended, is_lost, has_left;
	int status;
	char host[HOST_SIZE];
	char end[END_SIZE];
	char *json; /* its latest result file; owned; NULL: none received */
	size_t json_size;
	uint64_t heard_ns;                 /* time of its last message, CLOCK_MONOTONIC */
	bool has_answered;                 /* it has answered a request to stop */
	bool is_suspect;                   /* it has not answered in time */
	struct clock_offset before, after; /* the operations */
};

struct nb_ranks {
	const struct link_calls *link;
	uint32_t own, count;
	uint64_t silence_ns, beat_ns, polled_ns; /* the times of the last beat and poll */
	uint64_t start_ns;                       /* by this rank's clock; 0: not agreed */
	bool is_stopping, is_over, is_broken;    /* broken: the link has failed */
	uint32_t news;                           /* partial results since the last merge */
	uint64_t merged_ns, merge_cost_ns;       /* time and CPU time of that merge */
	bool was_failure_written;
	uint64_t stopped_ns; /* on rank 0: the time of the request to stop; 0: none */
	bool was_roll_called;
	uint64_t pong_ns;   /* the clock in the last answer to a ping; 0: none received */
	uint64_t attend_ns; /* until then a ping may arrive, which must be answered at once */
	struct rank *of;    /* on rank 0: all ranks; on other ranks: rank 0 only */
	char failure[END_SIZE + HOST_SIZE + 32];
	int failure_status;
};

enum message_kind {
	MESSAGE_HELLO, /* to rank 0: the host name */
	MESSAGE_READY,
	MESSAGE_PING,
	MESSAGE_PONG,  /* number: the clock */
	MESSAGE_START, /* number: the start time, by the receiver's clock */
	MESSAGE_BEAT,
	MESSAGE_PARTIAL, /* a result file */
	/* number: the exit status; then a text of END_SIZE and a result file */
	MESSAGE_END,
	MESSAGE_STOP,
	MESSAGE_HERE, /* the answer to MESSAGE_STOP */
	MESSAGE_OVER,
	MESSAGE_BYE, /* the last message of a rank */
};

struct message {
	uint32_t kind, spare;
	uint64_t number;
};

/** launch.c */
NB_MUST_CHECK int
ranks_open_link(struct nb_ranks *ranks, const struct nb_launch *launch);

void
ranks_send(struct nb_ranks *ranks, uint32_t to, enum message_kind kind, uint64_t number,
	const char *bytes, size_t size);

/** Handle one message if one has arrived. Returns whether one had. */
bool
ranks_receive(struct nb_ranks *ranks);

/** On rank 0: whether to merge the partial results at this time (gather.c). */
bool
ranks_merge_is_due(const struct nb_ranks *ranks, uint64_t now_ns);

/**
 * On rank 0: compare the clocks of all live ranks; takes a few ms for each. `is_after`: the
 * operations are finished (offsets.c).
 */
void
ranks_compare_clocks(struct nb_ranks *ranks, bool is_after);

#endif /* RANKS_RANKS_H */
