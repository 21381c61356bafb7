/* SPDX-License-Identifier: BSD-2-Clause */
#include "run/doubt.h"

#include "run/isolation.h"

/** The uncertainty about a record, for verify.c. NULL: none, as with one call at a time. */
static const struct job_doubt *
doubt_of(const struct job_worker *worker, const struct track *track, uint64_t number)
{
	bool is_doubtful = worker->async->doubts &&
		(track->is_doubtful || doubt_place(worker, number)->taken != track->taken);
	return is_doubtful ? &track->doubt : NULL;
}

void
doubt_verify(struct job_worker *worker, struct flight *flight, int rc, struct nb_slice value)
{
	struct async *async = worker->async;
	struct ops_op op = flight_op(async, flight);
	worker->doubt = doubt_of(worker, flight_tracks(async, flight), flight->number);
	if (rc == NB_NOT_FOUND)
		job_verify_miss(worker, &op, 0);
	else
		job_verify_value(worker, &op, 0, value);
	worker->doubt = NULL;
}

/** Whether a step can make a write that is remembered. */
static bool
is_write(const struct nb_step *step)
{
	return ((KIND_PUTS | 1 << NB_STEP_DEL) >> step->verb & 1) != 0;
}

void
doubt_take_steps(struct job_worker *worker, struct flight *flight)
{
	if (flight->kind == KIND_ADD)
		return; /* it reads nothing, and additions are not remembered */
	struct ops_op op = flight_op(worker->async, flight);
	struct track *tracks = flight_tracks(worker->async, flight);
	for (uint32_t k = 0; k < op.items; k++)
		doubt_take(worker, &tracks[k], op.numbers[k], is_write(&op.steps[k]),
			flight->begin == 0);
}

void
doubt_end_steps(struct job_worker *worker, struct flight *flight)
{
	struct async *async = worker->async;
	struct ops_op op = flight_op(async, flight);
	struct track *tracks = flight_tracks(async, flight);
	bool is_sample = is_sampled(flight->index, worker->plan->verify_threshold);
	if (flight->kind == KIND_ADD) {
		worker->added += op.steps[0].answer == NB_OK ? op.steps[0].operand : 0;
		worker->is_adding = false;
		return;
	}
	worker->is_watched = isolation_watches(worker, &op);
	for (uint32_t k = 0; k < op.items; k++) {
		worker->doubt = doubt_of(worker, &tracks[k], op.numbers[k]);
		steps_look(worker, &op, k, is_sample);
	}
	worker->doubt = NULL;
	for (uint32_t k = 0; k < op.items; k++) {
		const struct nb_step *step = &op.steps[k];
		if (is_write(step))
			doubt_settle(worker, &tracks[k], op.numbers[k], op.index,
				step->verb == NB_STEP_DEL ? NB_OP_DELETE : NB_OP_UPDATE,
				step->answer == NB_OK);
	}
	steps_judge(worker, &op, is_sample, flight->begin);
}

void
doubt_conflict(struct job_worker *worker, struct flight *flight)
{
	struct ops_op op = flight_op(worker->async, flight);
	for (uint32_t k = 0; k < op.items && worker->async->doubts; k++) {
		bool is_own = op.steps != NULL ? is_write(&op.steps[k])
					       : flight->kind != NB_OP_READ;
		if (is_own)
			doubt_place(worker, op.numbers[k])->is_reordered = 1;
	}
}

void
doubt_forget(struct job_worker *worker)
{
	struct async *async = worker->async;
	for (uint32_t slot = 0; slot < async->slots; slot++) {
		const struct flight *flight = &async->flights[slot];
		if (flight->at == FLIGHT_NONE || flight->begin == 0 ||
			flight->kind == NB_OP_READ)
			continue;
		struct ops_op op = flight_op(async, flight);
		for (uint32_t k = 0; k < op.items; k++)
			job_own_of(worker, op.numbers[k])->number = 0;
	}
}
