/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The operations of a job as a trace: all of them, as one thread would execute them, or those
 * that the threads of a run executed.
 *
 * Operation i is a pure function, so no operation is stored during the run. They are made again
 * afterwards, with the same due times, as many per thread as it has done. With a rate they are
 * written in the order of their due times, otherwise in that of their numbers.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "run/run.h"

enum { TELL_EVERY = 1 << 16 };

/** The progress of one thread through its strata. */
struct track {
	struct ops_maker maker;
	struct arrivals arrivals;
	uint64_t stratum, left; /* operations still to be written */
	uint32_t made, at;      /* of the block */
	uint64_t due[OPS_STRATUM];
};

struct recording {
	const struct ops_spec *spec;
	const struct schedule *schedule; /* NULL: no due times */
	struct trace_writer *writer;
	struct nb_trace_counts *counts;
	uint64_t count;                   /* operations of the group; UINT64_MAX: no limit */
	uint32_t threads, before, of_all; /* as in job_plan */
	struct track *tracks;
	nb_progress_fn progress;
	void *progress_arg;
	uint64_t total, begin_ns;
};

/** Make the next block, if the current one is used up. False at the end. */
static bool
advance(struct recording *recording, struct track *track)
{
	if (track->left == 0)
		return false;
	while (track->at == track->made) {
		track->made = ops_make(&track->maker);
		track->at = 0;
		if (track->made > 0 && recording->schedule != NULL)
			arrivals_next(&track->arrivals, track->due, track->made);
		if (track->made > 0)
			break;
		track->stratum += recording->of_all;
		ops_begin(&track->maker, track->stratum);
	}
	return true;
}

/** The thread with the next operation; NULL at the end. */
static struct track *
next_track(struct recording *recording)
{
	struct track *next = NULL;
	for (uint32_t t = 0; t < recording->threads; t++) {
		struct track *track = &recording->tracks[t];
		if (!advance(recording, track))
			continue;
		bool is_before = next == NULL ||
			(recording->schedule != NULL
					? track->due[track->at] < next->due[next->at]
					: track->stratum < next->stratum);
		if (is_before)
			next = track;
	}
	return next;
}

static int
write_next(struct recording *recording, struct track *track)
{
	const struct ops_op *op = &track->maker.ops[track->at];
	if (ops_is_many(op->kind))
		return error_set(
			NB_ERR_USAGE, "a trace cannot hold a %s", nb_op_name(op->kind));
	struct trace_op out = {.kind = op->kind,
		.key = op->keys[0],
		.has_value_size = ops_is_write(op->kind),
		.value_size = ops_is_write(op->kind) ? op->values[0].size : 0,
		.scan_length = op->length,
		.has_due = recording->schedule != NULL,
		.due_ns = recording->schedule != NULL ? track->due[track->at] : 0};
	track->at++;
	track->left--;
	op_count_traced(recording->counts, op->kind);
	return trace_writer_add(recording->writer, &out);
}

static int
tell(struct recording *recording)
{
	uint64_t done = recording->counts->ops;
	if (done % TELL_EVERY != 0)
		return NB_OK;
	if (recording->progress != NULL) {
		struct nb_progress progress = {.size = sizeof(progress),
			.what = "record",
			.done = done,
			.total = recording->total,
			.elapsed_ns = clock_monotonic() - recording->begin_ns};
		recording->progress(recording->progress_arg, &progress);
	}
	return stop_requested() ? error_interrupted() : NB_OK;
}

/** `done[t]`: operations of thread t. */
static int
create_tracks(struct recording *recording, const uint64_t *done)
{
	recording->tracks = calloc(recording->threads, sizeof(*recording->tracks));
	if (recording->tracks == NULL)
		return error_memory();
	for (uint32_t t = 0; t < recording->threads; t++) {
		struct track *track = &recording->tracks[t];
		int rc = ops_maker_create(&track->maker, recording->spec);
		if (rc != NB_OK)
			return rc;
		track->stratum = recording->before + t;
		track->left = done[t];
		recording->total += done[t];
		ops_begin(&track->maker, track->stratum);
		if (recording->schedule != NULL)
			arrivals_create(&track->arrivals, recording->schedule,
				recording->before + t, recording->of_all,
				recording->spec->seed);
		if (recording->schedule != NULL && recording->count != UINT64_MAX)
			arrivals_take_turns(&track->arrivals, recording->count, OPS_STRATUM);
	}
	return NB_OK;
}

static int
record(struct recording *recording, const struct nb_trace_options *to, const uint64_t *done)
{
	recording->begin_ns = clock_monotonic();
	int rc = trace_writer_open(&recording->writer, to);
	if (rc != NB_OK)
		return rc;
	rc = create_tracks(recording, done);
	struct track *track;
	while (rc == NB_OK && (track = next_track(recording)) != NULL) {
		rc = write_next(recording, track);
		if (rc == NB_OK)
			rc = tell(recording);
	}
	for (uint32_t t = 0; recording->tracks != NULL && t < recording->threads; t++)
		ops_maker_destroy(&recording->tracks[t].maker);
	free(recording->tracks);
	if (rc == NB_OK)
		return trace_writer_finish(recording->writer);
	trace_writer_abandon(recording->writer);
	return rc;
}

static struct nb_trace_options
options_of(const struct nb_run *run)
{
	struct nb_trace_options to = NB_TRACE_OPTIONS_INIT;
	to.path = run->options.record_path;
	to.format = NB_TRACE_MININB;
	return to;
}

int
job_try_record(const struct nb_run *run)
{
	struct nb_trace_options to = options_of(run);
	struct trace_writer *writer;
	int rc = trace_writer_open(&writer, &to);
	if (rc == NB_OK)
		trace_writer_abandon(writer); /* an old file does not change */
	return rc;
}

int
job_record(struct nb_run *run)
{
	struct job_part *part = run->options.what == NB_JOB_LOAD ? &run->loading
								 : &run->parts[0];
	struct nb_trace_counts counts = {.size = sizeof(counts)};
	struct nb_trace_options to = options_of(run);
	struct recording recording = {.spec = &part->spec,
		.schedule = part->plan.schedule,
		.counts = &counts,
		.count = part->plan.count,
		.threads = part->plan.threads,
		.before = part->plan.before,
		.of_all = part->plan.of_all,
		.progress = run->options.progress,
		.progress_arg = run->options.progress_arg};
	uint64_t *done = calloc(recording.threads, sizeof(*done));
	if (done == NULL)
		return error_memory();
	for (uint32_t t = 0; t < recording.threads; t++)
		done[t] = part->measured.threads[t].done;
	int rc = record(&recording, &to, done);
	free(done);
	return rc;
}

/* ---- without a run ---- */

struct generation {
	struct keyspace keys;
	struct sizes sizes;
	struct ops_spec spec;
	struct schedule schedule;
};

static int
generate(struct generation *made, struct recording *recording, const struct nb_job *job,
	const struct nb_group *group, const struct nb_trace_options *to)
{
	uint64_t count = group == job->load ? job->records
		: group->count > 0          ? group->count
					    : job->records;
	ops_spec_create(&made->spec, job, group, &made->keys, &made->sizes, 0, 1);
	made->spec.end = count;
	recording->spec = &made->spec;
	recording->threads = recording->of_all = 1;
	recording->count = count;
	if (group->arrivals == NB_ARRIVAL_CLOSED)
		return record(recording, to, &count);
	int rc = schedule_create(&made->schedule, group);
	if (rc != NB_OK)
		return rc;
	recording->schedule = &made->schedule;
	rc = record(recording, to, &count);
	schedule_destroy(&made->schedule);
	return rc;
}

int
nb_trace_generate(const struct nb_job *job, uint32_t what, const struct nb_trace_options *to,
	struct nb_trace_counts *counts, nb_progress_fn progress, void *progress_arg)
{
	struct nb_trace_counts own = {.size = sizeof(own)};
	struct generation made;
	struct recording recording = {.counts = counts != NULL ? counts : &own,
		.progress = progress,
		.progress_arg = progress_arg};
	int rc = nb_job_check(job);
	if (rc == NB_OK && what == NB_JOB_RUN && job->group_count != 1)
		rc = error_set(NB_ERR_USAGE,
			"%s: has %zu groups to run; a trace holds only one", job->name,
			job->group_count);
	if (rc == NB_OK && job->shards > 1)
		rc = error_set(
			NB_ERR_USAGE, "shard: a trace is made of all operations; omit shard");
	const struct nb_group *group = what == NB_JOB_LOAD ? job->load : job->groups;
	if (rc == NB_OK && group != job->load && group->count == 0 && job->records == 0)
		rc = error_set(NB_ERR_USAGE, "%s: has no count of operations", job->name);
	uint64_t numbers = 0;
	if (rc == NB_OK)
		rc = job_count_numbers(job, &numbers);
	if (rc == NB_OK)
		rc = keyspace_create(&made.keys, job, numbers);
	if (rc != NB_OK)
		return rc;
	rc = sizes_create(&made.sizes, &job->values);
	if (rc == NB_OK) {
		rc = generate(&made, &recording, job, group, to);
		sizes_destroy(&made.sizes);
	}
	keyspace_destroy(&made.keys);
	return rc;
}
