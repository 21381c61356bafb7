/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RANKS_RANKS_H
#define RANKS_RANKS_H
/** Ranks from inside: what rank 0 knows of each, and the messages between them. */
#include <stdbool.h>
#include <string.h>

#include <mininb/ranks.h>

#include "ranks/link.h"

enum { RANKS_MAX = 1024 /* shards that merge takes */, HOST_SIZE = 64, END_SIZE = 256 };

/** The difference of two machines' clocks. */
struct clock_offset {
	double ns;       /* that rank's clock less that of rank 0 */
	double error_ns; /* half of the shortest round trip; 0: not known */
};

/** What rank 0 knows of a rank. */
struct rank {
	bool is_ready, has_ended, is_lost, has_left;
	int status;
	char host[HOST_SIZE];
	char end[END_SIZE];
	char *json; /* its latest result file; owned; NULL: none has come */
	size_t json_size;
	uint64_t heard_ns;                 /* CLOCK_MONOTONIC */
	bool has_answered;                 /* a request to stop */
	bool is_suspect;                   /* it should have */
	struct clock_offset before, after; /* the operations */
};

struct nb_ranks {
	const struct link_calls *link;
	uint32_t own, count;
	uint64_t silence_ns, beat_ns, polled_ns; /* the moments of the last ones */
	uint64_t start_ns;                       /* by the own clock; 0: not agreed */
	bool is_stopping, is_over, is_broken;    /* broken: the link has failed */
	uint32_t news;
	uint64_t stopped_ns; /* of rank 0: when it was stopped; 0: it was not */
	bool was_roll_called;
	uint64_t pong_ns;   /* the clock in the last answer to a ping; 0: none has come */
	uint64_t attend_ns; /* until then another ping may come, which must not wait */
	struct rank *of;    /* on rank 0: of all ranks; on others: of rank 0 only */
	char failure[END_SIZE + HOST_SIZE + 32];
	int failure_status;
};

enum message_kind {
	MESSAGE_HELLO, /* to rank 0: the host's name */
	MESSAGE_READY,
	MESSAGE_PING,
	MESSAGE_PONG,  /* number: the clock */
	MESSAGE_START, /* number: the moment, by the receiver's clock */
	MESSAGE_BEAT,
	MESSAGE_PARTIAL, /* a result file */
	MESSAGE_END,     /* number: the status; then the text of END_SIZE and a result file */
	MESSAGE_STOP,
	MESSAGE_HERE, /* the answer to it */
	MESSAGE_OVER,
	MESSAGE_BYE, /* the last one of a rank */
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

/** Handles one message, if one has come. Returns whether one had. */
bool
ranks_receive(struct nb_ranks *ranks);

/**
 * On rank 0: compares the clocks of all ranks that live, some ms each. `is_after`: the operations
 * are over (offsets.c).
 */
void
ranks_compare_clocks(struct nb_ranks *ranks, bool is_after);

#endif /* RANKS_RANKS_H */
