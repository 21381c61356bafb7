/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recording has notes between the events of the pool: calls and returns of operations. A
 * reader of the recording knows from them which operations are acknowledged.
 */
#include "segment.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOTE_CALL, NOTE_RETURN, NOTE_DECIDED };

/* The note for operation i of a thread. With one thread, i counts all operations. */
static uint64_t
note(unsigned kind, unsigned thread, uint64_t i)
{
	return i << 3 | thread << 2 | kind;
}

static struct op
op_of(const struct workload *workload, unsigned threads, unsigned thread, uint64_t i)
{
	return threads > 1 ? workload_op_of(workload, thread, i) : workload_op(workload, i);
}

bool
note_is_return(const struct event *event)
{
	return event->kind == EVENT_NOTE && (event->what & 3) == NOTE_RETURN;
}

struct follower
follower_of(const struct segment *segment)
{
	return (struct follower){
		segment->workload, segment->threads, segment->first, &segment->decided};
}

void
follow(struct follower *follower, const struct event *event)
{
	struct model *model = &follower->model;

	if (event->kind != EVENT_NOTE)
		return;
	unsigned thread = event->what >> 2 & 1;
	struct op op = op_of(follower->workload, follower->threads, thread, event->what >> 3);
	switch (event->what & 3) {
	case NOTE_CALL:
		model->in_flight[thread].is_there = true;
		model->in_flight[thread].op = op;
		break;
	case NOTE_RETURN:
		model->in_flight[thread].is_there = false;
		model_apply(model, &op);
		break;
	default:
		*model = *follower->decided;
	}
}

/*
 * The recorder must have seen all stores, or the images prove nothing. With two threads, one
 * may flush a line between the record of the other's store and the store itself.
 */
static bool
record_is_whole(const struct record *record, unsigned threads)
{
	if (record->strays == 0 && (record->unseen == 0 || threads > 1))
		return true;
	fprintf(stderr,
		"crash: %llu stores beside the pool, %llu lines flushed that were "
		"stored to by other ways than pm.h\n",
		(unsigned long long)record->strays, (unsigned long long)record->unseen);
	return false;
}

/* A thread that executes operations. */
struct worker {
	const struct workload *workload;
	struct subject *subject;
	struct model model;
	unsigned threads, thread;
	uint64_t first, count;
	pthread_barrier_t *start; /* NULL: the only thread */
	bool is_right;
};

static void *
work(void *of)
{
	struct worker *worker = of;
	worker->is_right = true;
	if (worker->start != NULL)
		pthread_barrier_wait(worker->start);
	for (uint64_t i = worker->first; worker->is_right && i < worker->first + worker->count;
		i++) {
		struct op op = op_of(worker->workload, worker->threads, worker->thread, i);
		record_note(note(NOTE_CALL, worker->thread, i));
		worker->is_right = subject_do(worker->subject, &worker->model, &op);
		record_note(note(NOTE_RETURN, worker->thread, i));
	}
	if (!worker->is_right && worker->thread > 0)
		fprintf(stderr, "second thread: %s\n", subject_fault());
	return NULL;
}

/* Run two workers. Afterwards the first worker's model contains the results of both. */
static bool
work_both(struct worker *first)
{
	struct subject subject;
	pthread_barrier_t start;
	pthread_t thread;

	pthread_barrier_init(&start, NULL, 2);
	first->start = &start;
	struct worker second = *first;
	second.subject = &subject;
	second.thread = 1;
	if (!subject_join(&subject, first->subject))
		return false;
	if (pthread_create(&thread, NULL, work, &second) != 0)
		abort();
	work(first);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&start);
	model_join(&first->model, &second.model, 1);
	return subject_leave(&subject) && first->is_right && second.is_right;
}

/*
 * Record the final names of a new tree's parts. The recording of a new tree begins with the
 * new pool. Until the last step the pool has a temporary name, and no open would accept it.
 * So crashes count from the moment when it has its final name. An image then lacks all stores
 * that are not durable.
 */
static bool
name_parts(struct segment *segment)
{
	struct record_part parts[RECORD_PARTS];
	int count = record_parts(segment->path, parts);

	if (count != (int)segment->record.parts_count)
		return false;
	for (int i = 0; i < count; i++)
		strcpy(segment->record.parts[i].name, parts[i].name);
	segment->made_at = segment->record.count;
	return true;
}

bool
segment_live(struct segment *segment, bool is_new, uint64_t first, uint64_t count)
{
	const struct workload *workload = segment->workload;
	struct record *record = &segment->record;
	struct subject subject = {0};
	struct worker worker = {.workload = workload,
		.subject = &subject,
		.model = segment->first,
		.threads = segment->threads,
		.first = first,
		.count = count / segment->threads};

	alarm(HANG_S);
	bool is_right = is_new || record_begin(record, segment->path);
	is_right = is_right && subject_open_pool(&subject, workload, segment->path, is_new);
	is_right = is_right && (!is_new || record_begin(record, segment->path));
	is_right = is_right && subject_open_tree(&subject);
	is_right = is_right && (!is_new || name_parts(segment));
	is_right = is_right && subject_check(&subject, &worker.model);
	segment->decided = worker.model;
	record_note(note(NOTE_DECIDED, 0, 0));
	if (is_right && segment->threads > 1)
		is_right = work_both(&worker);
	else if (is_right)
		work(&worker);
	is_right = is_right && worker.is_right && subject_check(&subject, &worker.model);
	is_right = subject_close(&subject) && is_right;
	alarm(0);
	record_end();
	return is_right && record_is_whole(record, segment->threads);
}
