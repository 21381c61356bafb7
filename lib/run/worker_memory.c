/* SPDX-License-Identifier: BSD-2-Clause */
/** The memory of a worker. All of it is allocated and touched before the first operation. */
#include "run/worker.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/error.h"
#include "run/fault.h"
#include "run/flight.h"
#include "run/isolation.h"
#include "run/steps.h"
#include "run/tally.h"
#include "run/worker_taken.h"

static size_t
histograms_of(const struct job_plan *plan)
{
	size_t count = (size_t)__builtin_popcount(plan->kinds);
	return (plan->is_paced ? 2 * count : count) + (plan->depth > 1);
}

static size_t
own_at(const struct job_plan *plan)
{
	return sizeof(struct job_worker) + histograms_of(plan) * sizeof(struct nb_histogram);
}

static size_t
own_bytes(const struct job_plan *plan)
{
	size_t each = sizeof(struct job_own);
	each += plan->feed != NULL ? sizeof(struct job_own_key) : 0;
	return plan->own_places * each;
}

static size_t
bytes_of(const struct job_plan *plan)
{
	return own_at(plan) + own_bytes(plan);
}

/** Touch each page, so that no page fault occurs during the operations. The content stays. */
static void
touch(volatile uint8_t *bytes, size_t size)
{
	enum { PAGE = 4096 };
	for (size_t at = 0; at < size; at += PAGE)
		bytes[at] = bytes[at];
}

int
job_worker_new(
	struct job_worker **out, const struct job_plan *plan, uint32_t thread, bool is_shared)
{
	int sharing = is_shared ? MAP_SHARED : MAP_PRIVATE;
	struct job_worker *worker = mmap(
		NULL, bytes_of(plan), PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
	if (worker == MAP_FAILED)
		return error_system("out of memory for a worker");
	worker->plan = plan;
	worker->thread = thread;
	worker->heartbeat.worker = thread;
	worker->heartbeat.done = &worker->done;
	worker->heartbeat.describe = worker_describe;
	worker->own = (void *)((char *)worker + own_at(plan));
	if (plan->feed != NULL)
		worker->own_key = (void *)(worker->own + plan->own_places);
	*out = worker;
	return NB_OK;
}

void
job_worker_delete(struct job_worker *worker)
{
	if (worker != NULL)
		munmap(worker, bytes_of(worker->plan));
}

int
job_worker_enter(struct job_worker *worker)
{
	const struct job_plan *plan = worker->plan;
	struct nb_histogram *next = (struct nb_histogram *)(worker + 1);
	for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++) {
		if ((plan->kinds >> kind & 1) == 0)
			continue;
		worker->counts[kind].service = next++;
		histogram_create(worker->counts[kind].service);
		if (!plan->is_paced)
			continue;
		worker->counts[kind].response = next++;
		histogram_create(worker->counts[kind].response);
	}
	if (plan->depth > 1) {
		worker->batch = next;
		histogram_create(worker->batch);
	}
	pacer_create(&worker->pacer, plan->clock, PACER_AUTO, plan->may_spin);
	__atomic_store_n(&worker->strata_done, job_nth(worker), __ATOMIC_RELEASE);
	fault_set_heartbeat(&worker->heartbeat);
	touch((void *)worker->own, own_bytes(plan));
	uint32_t items = plan->spec->items_max;
	worker->taken = calloc(1, sizeof(*worker->taken));
	worker->writes = calloc(items, sizeof(*worker->writes));
	worker->found = calloc(items, sizeof(*worker->found));
	worker->found_answers = calloc(items, sizeof(*worker->found_answers));
	if (worker->taken == NULL || worker->writes == NULL || worker->found == NULL ||
		worker->found_answers == NULL)
		return error_set(NB_FAIL, "out of memory for %u records at once", items);
	if (plan->feed != NULL)
		return NB_OK; /* the operations come from the feed */
	if (plan->spec->has_steps) {
		worker->seen = calloc(items, sizeof(*worker->seen));
		worker->seen_sizes = calloc(items, sizeof(*worker->seen_sizes));
		if (worker->seen == NULL || worker->seen_sizes == NULL)
			return error_memory();
		steps_begin(worker);
	}
	int rc = isolation_enter(worker);
	if (rc != NB_OK)
		return rc;
	rc = plan->depth > 1 ? flight_new(&worker->async, plan) : NB_OK;
	return rc != NB_OK ? rc : ops_maker_create(&worker->maker, plan->spec);
}

void
job_worker_leave(struct job_worker *worker)
{
	free(worker->taken);
	worker->taken = NULL;
	free(worker->writes);
	free(worker->found);
	free(worker->found_answers);
	flight_delete(worker->async);
	worker->async = NULL;
	free(worker->seen);
	free(worker->seen_sizes);
	tally_destroy(worker);
	isolation_leave(worker);
	ops_maker_destroy(&worker->maker);
}
