/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Between the events of the pool a recording has notes: which operation is called, which has
 * returned. Whoever goes through it knows from them what has been acknowledged.
 */
#include "segment.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOTE_CALL, NOTE_RETURN, NOTE_DECIDED };

/* Of operation i of a thread; with one thread alone they are counted without it. */
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

/* What is recorded is seen whole, or images tell nothing. With two threads one may
 * flush a line between the other's store and the note of that. */
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

/* Operations of one thread. */
struct worker {
	const struct workload *workload;
	struct subject *subject;
	struct model model;
	unsigned threads, thread;
	uint64_t first, count;
	pthread_barrier_t *start; /* NULL: alone */
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

/* The first worker's model has both then. */
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
 * The making of a tree is recorded from the new pool on. Up to its last step the pool has
 * another name, by which no open would take it: crashes begin to count when it has
 * its own, and what is not durable then is missing.
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
