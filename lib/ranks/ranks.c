/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ranks that execute one run together. Rank 0 knows the state of all ranks; the others know
 * rank 0 only. So a run costs rank 0 a few messages for each rank. No rank waits for
 * another while it measures: instead of a barrier they agree on a start time.
 *
 * A rank that is silent for too long counts as lost. Launchers usually end all ranks before
 * that.
 */
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "ranks/ranks.h"

#define SILENCE_NS UINT64_C(30000000000)
#define STOPPED_SILENCE_NS \
	UINT64_C(3000000000) /* while stopping: the launcher may kill all ranks soon */
#define BEAT_NS UINT64_C(500000000)
/* a longer gap between polls means that this process was stopped */
#define PAUSE_NS UINT64_C(3000000000)
/* after this time without another ping, the pings are over */
#define QUIET_NS UINT64_C(5000000)
/* shorter than the 1 s that Open MPI leaves between SIGTERM and SIGKILL */
#define ANSWER_NS UINT64_C(400000000)

enum { LEAVE_S = 3 };

/*
 * Time from the agreement to the start: messages must arrive, and processes that sleep for
 * 1 ms at a time must see them.
 */
#define LEAD_NS UINT64_C(200000000)
#define LEAD_RANK_NS UINT64_C(100000)

/* ---- messages ---- */

void
ranks_send(struct nb_ranks *ranks, uint32_t to, enum message_kind kind, uint64_t number,
	const char *bytes, size_t size)
{
	struct message head = {.kind = kind, .number = number};
	char *message = malloc(sizeof(head) + size);
	if (message == NULL) {
		ranks->is_broken = true;
		return;
	}
	memcpy(message, &head, sizeof(head));
	if (size > 0)
		memcpy(message + sizeof(head), bytes, size);
	if (ranks->link->send(to, message, sizeof(head) + size) != 0)
		ranks->is_broken = true;
	free(message);
}

static void
send_all(struct nb_ranks *ranks, enum message_kind kind)
{
	for (uint32_t k = 1; k < ranks->count; k++)
		if (!ranks->of[k].is_lost)
			ranks_send(ranks, k, kind, 0, NULL, 0);
}

static void
describe(struct nb_ranks *ranks, uint32_t k, const char *end)
{
	const char *host = ranks->of[k].host;
	snprintf(ranks->failure, sizeof(ranks->failure), "rank %" PRIu32 " (%s): %s", k,
		host[0] != '\0' ? host : "host unknown", end);
}

/**
 * Store the first failure and stop the run on all ranks. Later ends of ranks do not count
 * as failures.
 */
static void
note_failure(struct nb_ranks *ranks, uint32_t k, int status, const char *end)
{
	if (status == 0 || ranks->is_stopping)
		return;
	ranks->failure_status = status;
	describe(ranks, k, end[0] != '\0' ? end : "failed");
	nb_ranks_stop(ranks);
}

/** If memory runs out, the older text is lost, too; only partial results need it. */
static void
keep_json(struct rank *rank, const char *json, size_t size)
{
	free(rank->json);
	rank->json = malloc(size + 1);
	rank->json_size = rank->json != NULL ? size : 0;
	if (rank->json != NULL && size > 0)
		memcpy(rank->json, json, size);
}

static void
note_end(struct nb_ranks *ranks, uint32_t k, int status, const char *bytes, size_t size)
{
	struct rank *rank = &ranks->of[k];
	if (size < END_SIZE)
		return;
	rank->has_ended = rank->is_ready = true;
	rank->status = status;
	snprintf(rank->end, sizeof(rank->end), "%.*s", END_SIZE - 1, bytes);
	if (size > END_SIZE)
		keep_json(rank, bytes + END_SIZE, size - END_SIZE);
	note_failure(ranks, k, status, rank->end);
}

/** Rank 0: handle a message of rank k. */
static void
handle(struct nb_ranks *ranks, uint32_t k, const struct message *head, const char *bytes,
	size_t size)
{
	struct rank *rank = &ranks->of[k];
	switch (head->kind) {
	case MESSAGE_HELLO:
		snprintf(rank->host, sizeof(rank->host), "%.*s", (int)size, bytes);
		break;
	case MESSAGE_READY:
		rank->is_ready = true;
		break;
	case MESSAGE_PONG:
		ranks->pong_ns = head->number;
		break;
	case MESSAGE_HERE:
		rank->has_answered = true;
		rank->is_suspect = false;
		break;
	case MESSAGE_PARTIAL:
		keep_json(rank, bytes, size);
		ranks->news++;
		break;
	case MESSAGE_BYE:
		rank->has_left = true;
		break;
	case MESSAGE_END:
		note_end(ranks, k, (int)head->number, bytes, size);
		break;
	default: /* MESSAGE_BEAT */
		break;
	}
}

/** Other ranks: handle a message of rank 0. */
static void
obey(struct nb_ranks *ranks, const struct message *head)
{
	switch (head->kind) {
	case MESSAGE_PING:
		ranks_send(ranks, 0, MESSAGE_PONG, clock_real_ns(), NULL, 0);
		ranks->attend_ns = clock_monotonic() + QUIET_NS;
		break;
	case MESSAGE_START:
		ranks->start_ns = head->number;
		break;
	case MESSAGE_STOP:
		ranks->is_stopping = true;
		ranks_send(ranks, 0, MESSAGE_HERE, 0, NULL, 0);
		break;
	case MESSAGE_OVER:
		ranks->is_over = true;
		break;
	default:
		break;
	}
}

bool
ranks_receive(struct nb_ranks *ranks)
{
	uint32_t from = 0;
	void *bytes = NULL;
	size_t size = 0;
	struct message head;
	int rc = ranks->link->receive(&from, &bytes, &size);
	ranks->is_broken |= rc < 0;
	if (rc <= 0)
		return false;
	if (size >= sizeof(head) && from < ranks->count) {
		memcpy(&head, bytes, sizeof(head));
		const char *rest = (const char *)bytes + sizeof(head);
		ranks->of[ranks->own == 0 ? from : 0].heard_ns = clock_monotonic();
		if (ranks->own == 0)
			handle(ranks, from, &head, rest, size - sizeof(head));
		else
			obey(ranks, &head);
	}
	free(bytes);
	return true;
}

/* ---- joining and leaving ---- */

static uint32_t
known_ranks(const struct nb_ranks *ranks)
{
	return ranks->own == 0 ? ranks->count : 1;
}

static void
delete_ranks(struct nb_ranks *ranks)
{
	for (uint32_t k = 0; ranks->of != NULL && k < known_ranks(ranks); k++)
		free(ranks->of[k].json);
	free(ranks->of);
	free(ranks);
}

static void
say_hello(struct nb_ranks *ranks)
{
	char host[HOST_SIZE] = "";
	if (gethostname(host, sizeof(host) - 1) != 0)
		host[0] = '\0';
	if (ranks->own == 0)
		memcpy(ranks->of[0].host, host, sizeof(host));
	else
		ranks_send(ranks, 0, MESSAGE_HELLO, 0, host, strlen(host));
}

int
nb_ranks_join(struct nb_ranks **out, const struct nb_launch *launch, uint64_t silence_ns)
{
	struct nb_ranks *ranks = calloc(1, sizeof(*ranks));
	if (ranks == NULL)
		return error_memory();
	ranks->own = launch->rank;
	ranks->count = launch->ranks;
	ranks->silence_ns = silence_ns > 0 ? silence_ns : SILENCE_NS;
	ranks->of = calloc(known_ranks(ranks), sizeof(*ranks->of));
	int rc = ranks->of != NULL ? ranks_open_link(ranks, launch) : error_memory();
	if (rc != NB_OK) {
		delete_ranks(ranks);
		return rc;
	}
	for (uint32_t k = 0; k < known_ranks(ranks); k++)
		ranks->of[k].heard_ns = clock_monotonic();
	say_hello(ranks);
	*out = ranks;
	return NB_OK;
}

static bool
has_lost(const struct nb_ranks *ranks)
{
	for (uint32_t k = 0; k < known_ranks(ranks); k++)
		if (ranks->of[k].is_lost)
			return true;
	return ranks->is_broken;
}

/** On rank 0: whether all others have sent their last message. True on others. */
static bool
have_left(const struct nb_ranks *ranks)
{
	for (uint32_t k = 1; ranks->own == 0 && k < ranks->count; k++)
		if (!ranks->of[k].has_left)
			return false;
	return true;
}

/**
 * Wait until all messages have arrived, because MPI complains about messages never
 * received.
 */
static void
exchange_last(struct nb_ranks *ranks)
{
	struct timespec pause = {.tv_nsec = 1000 * 1000};
	uint64_t begin = clock_monotonic();
	if (ranks->own != 0)
		ranks_send(ranks, 0, MESSAGE_BYE, 0, NULL, 0);
	while ((ranks->link->pending() > 0 || !have_left(ranks)) &&
		clock_monotonic() - begin < LEAVE_S * UINT64_C(1000000000)) {
		while (ranks_receive(ranks))
			;
		nanosleep(&pause, NULL);
	}
}

static volatile sig_atomic_t leave_status;
static const struct link_calls *left_link; /* NULL: the link was aborted */

static void
end_anyway(int number)
{
	(void)number;
	if (left_link != NULL)
		left_link->leave();
	syscall(SYS_exit_group, (int)leave_status);
}

/**
 * Limit the time that MPI takes at the end, when all messages have arrived and files are
 * written. MPI_Finalize may not return (mpi.c). A launcher that has begun to kill all ranks
 * may never answer MPI_Abort.
 */
static void
bound_end(int status)
{
	leave_status = status;
	signal(SIGALRM, end_anyway);
	alarm(LEAVE_S);
}

void
nb_ranks_leave(struct nb_ranks *ranks, int status)
{
	bool has_lost_one = has_lost(ranks);
	if (ranks->own == 0)
		send_all(ranks, MESSAGE_OVER);
	if (!has_lost_one)
		exchange_last(ranks);
	left_link = has_lost_one ? NULL : ranks->link;
	bound_end(has_lost_one && status == 0 ? 1 : status);
	if (has_lost_one) /* MPI would wait for the lost rank for ever */
		ranks->link->abort(leave_status);
	ranks->link->close();
	alarm(0);
	delete_ranks(ranks);
}

/*
 * The launcher of Open MPI ends all ranks if one exits with a failure. That of MPICH ignores a
 * rank that has not called MPI_Init, where the others then wait for ever.
 */
void
nb_ranks_give_up(const struct nb_launch *launch, int status)
{
	struct nb_ranks ranks = {.own = launch->rank, .count = launch->ranks};
	if (strcmp(launch->mpi, "mpich") != 0 || ranks_open_link(&ranks, launch) != NB_OK)
		return;
	bound_end(status);
	ranks.link->abort(status);
}

/* ---- during the run ---- */

/** If this process was stopped (SIGSTOP), extend the time before a rank counts as silent. */
static void
note_poll(struct nb_ranks *ranks, uint64_t now_ns)
{
	uint64_t gap_ns = now_ns - ranks->polled_ns;
	for (uint32_t k = 0;
		ranks->polled_ns > 0 && gap_ns > PAUSE_NS && k < known_ranks(ranks); k++)
		ranks->of[k].heard_ns += gap_ns;
	ranks->polled_ns = now_ns;
}

static void
beat(struct nb_ranks *ranks, uint64_t now_ns)
{
	if (now_ns - ranks->beat_ns < BEAT_NS)
		return;
	ranks->beat_ns = now_ns;
	if (ranks->own == 0)
		send_all(ranks, MESSAGE_BEAT);
	else
		ranks_send(ranks, 0, MESSAGE_BEAT, 0, NULL, 0);
}

static void
lose(struct nb_ranks *ranks, uint32_t k, uint64_t silent_ns)
{
	struct rank *rank = &ranks->of[k];
	rank->is_lost = true;
	rank->status = 1;
	snprintf(rank->end, sizeof(rank->end),
		"has not been heard from for %.1f s, and counts as dead",
		(double)silent_ns / 1e9);
	if (ranks->own == 0)
		note_failure(ranks, k, rank->status, rank->end);
	else
		ranks->is_stopping = ranks->is_over = true;
}

static void
look_for_silent(struct nb_ranks *ranks, uint64_t now_ns)
{
	uint64_t most_ns = ranks->silence_ns;
	if (ranks->is_stopping && most_ns > STOPPED_SILENCE_NS)
		most_ns = STOPPED_SILENCE_NS;
	for (uint32_t k = 0; k < known_ranks(ranks); k++) {
		const struct rank *rank = &ranks->of[k];
		if (k == ranks->own || rank->is_lost || now_ns < rank->heard_ns)
			continue;
		if (ranks->is_broken || now_ns - rank->heard_ns > most_ns)
			lose(ranks, k, now_ns - rank->heard_ns);
	}
}

/**
 * When a rank has died, a launcher stops all ranks without naming the dead one. Live ranks
 * answer a request to stop at once, so mark those that did not.
 */
static void
call_roll(struct nb_ranks *ranks, uint64_t now_ns)
{
	if (ranks->stopped_ns == 0 || ranks->was_roll_called ||
		now_ns - ranks->stopped_ns < ANSWER_NS)
		return;
	ranks->was_roll_called = true;
	for (uint32_t k = 1; k < ranks->count; k++) {
		struct rank *rank = &ranks->of[k];
		rank->is_suspect = !rank->has_ended && !rank->has_answered;
	}
}

static void
agree_start(struct nb_ranks *ranks)
{
	for (uint32_t k = 0; k < ranks->count; k++)
		if (!ranks->of[k].is_ready || ranks->of[k].has_ended)
			return;
	ranks_compare_clocks(ranks, false);
	ranks->start_ns = clock_real_ns() + LEAD_NS + ranks->count * LEAD_RANK_NS;
	for (uint32_t k = 1; k < ranks->count; k++)
		ranks_send(ranks, k, MESSAGE_START,
			ranks->start_ns + (uint64_t)(int64_t)ranks->of[k].before.ns, NULL, 0);
}

/** When all ranks have ended, compare the clocks again, because they may have drifted. */
static void
look_for_end(struct nb_ranks *ranks)
{
	for (uint32_t k = 0; k < ranks->count; k++)
		if (!ranks->of[k].has_ended && !ranks->of[k].is_lost)
			return;
	if (ranks->start_ns > 0 && ranks->failure_status == 0)
		ranks_compare_clocks(ranks, true);
	ranks->is_over = true;
}

void
nb_ranks_poll(struct nb_ranks *ranks)
{
	note_poll(ranks, clock_monotonic());
	while (ranks_receive(ranks))
		;
	while (clock_monotonic() < ranks->attend_ns && !ranks->is_broken)
		if (!ranks_receive(ranks))
			sched_yield();
	uint64_t now_ns = clock_monotonic();
	ranks->link->pending();
	beat(ranks, now_ns);
	look_for_silent(ranks, now_ns);
	if (ranks->own != 0)
		return;
	call_roll(ranks, now_ns);
	if (ranks->start_ns == 0 && !ranks->is_stopping)
		agree_start(ranks);
	if (!ranks->is_over)
		look_for_end(ranks);
}

void
nb_ranks_ready(struct nb_ranks *ranks)
{
	if (ranks->own == 0)
		ranks->of[0].is_ready = true;
	else
		ranks_send(ranks, 0, MESSAGE_READY, 0, NULL, 0);
}

uint64_t
nb_ranks_start_ns(const struct nb_ranks *ranks)
{
	return ranks->start_ns;
}

int
nb_ranks_is_stopping(const struct nb_ranks *ranks)
{
	return ranks->is_stopping;
}

void
nb_ranks_stop(struct nb_ranks *ranks)
{
	if (ranks->own == 0 && !ranks->is_stopping) {
		ranks->stopped_ns = clock_monotonic();
		send_all(ranks, MESSAGE_STOP);
	}
	ranks->is_stopping = true;
}

int
nb_ranks_tell_partial(struct nb_ranks *ranks, const char *json, size_t size)
{
	if (ranks->own == 0) {
		keep_json(&ranks->of[0], json, size);
		ranks->news++;
	} else {
		ranks_send(ranks, 0, MESSAGE_PARTIAL, 0, json, size);
	}
	return ranks->is_broken ? error_set(NB_FAIL, "MPI cannot send a message") : NB_OK;
}

int
nb_ranks_tell_end(
	struct nb_ranks *ranks, int status, const char *end, const char *json, size_t size)
{
	char *bytes = calloc(1, END_SIZE + size);
	if (bytes == NULL)
		return error_memory();
	snprintf(bytes, END_SIZE, "%s", end);
	if (size > 0)
		memcpy(bytes + END_SIZE, json, size);
	if (ranks->own == 0)
		note_end(ranks, 0, status, bytes, END_SIZE + size);
	else
		ranks_send(ranks, 0, MESSAGE_END, (uint64_t)status, bytes, END_SIZE + size);
	free(bytes);
	return ranks->is_broken ? error_set(NB_FAIL, "MPI cannot send a message") : NB_OK;
}

int
nb_ranks_is_over(const struct nb_ranks *ranks)
{
	return ranks->is_over;
}

uint32_t
nb_ranks_news(const struct nb_ranks *ranks)
{
	return ranks->news;
}

const char *
nb_ranks_failure(struct nb_ranks *ranks)
{
	if (ranks->failure_status != 0)
		return ranks->failure;
	for (uint32_t k = 1; k < ranks->count; k++) {
		if (!ranks->of[k].is_suspect)
			continue;
		describe(ranks, k,
			"did not answer when the launcher stopped all ranks, and may have died");
		return ranks->failure;
	}
	return NULL;
}

int
nb_ranks_status(const struct nb_ranks *ranks)
{
	return ranks->failure_status;
}
