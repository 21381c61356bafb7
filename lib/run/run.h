/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_RUN_H
#define RUN_RUN_H
/** A run from inside: what was asked for, and what was measured. */
#include <stdbool.h>

#include <mininb/mininb.h>

#include "base/clock.h"
#include "base/histogram.h"
#include "run/crew.h"
#include "run/engine.h"
#include "run/sysinfo.h"
#include "run/worker.h"
#include "workload/keys.h"

/** What came of a run. Plain data, complete when nb_run_execute() returns. */
struct measurement {
	bool has_begun;     /* a first operation was begun */
	bool is_partial;    /* and the last one was not reached */
	bool is_loaded;     /* the data was put, untimed, since the engine keeps none */
	bool had_data;      /* the database was there before */
	uint64_t had_bytes; /* and took so much of the file system */
	int settled;        /* NB_RUN_SETTLE_* that was reached */
	/* An end by failure or nb_stop() may come after the last operation too. */
	bool has_settled;   /* and closed, as far as was asked and the engine can */
	bool has_read_back; /* what of the writes was to be looked at again */
	uint64_t ops;
	uint64_t wall_ns; /* first operation's start to last one's end */
	uint64_t open_ns, load_ns, settle_ns, close_ns;
	uint64_t answers[WORKER_ANSWERS];
	uint64_t value_bytes;
	struct worker_findings findings;
	struct sysinfo_usage usage; /* during the operations */
	uint64_t data_bytes;        /* on the file system, after close */
	uint64_t max_resident_bytes;
	double floor_op_ns;     /* what the harness takes for an operation on the null engine */
	uint64_t floor_call_ns; /* median latency that it then reports */
	struct nb_histogram *service;
};

struct nb_run {
	struct nb_run_options options;
	struct nb_workload workload;
	struct nb_engine_ref *engine;
	struct nb_option_value *values;
	uint32_t durability; /* given: a level, never NB_DUR_AUTO */
	char *path;          /* of the database */
	struct keys keys;
	struct keys_facts keys_facts;
	uint64_t digest;
	struct clock clock;
	struct sysinfo sysinfo;
	struct measurement measured;

	/* while it is executed */
	struct nb_db *db;
	struct worker_plan plan;
	struct worker **workers;
	int halt;                                         /* see worker_plan */
	uint64_t (*reached)(const struct worker *worker); /* how far it is in this phase */
	uint64_t forgotten; /* keys of each worker's share whose memory was let go */
	uint64_t told_ops;  /* at the last call of progress */
	uint64_t phase_begin_ns;
	const char *phase_name;
};

/** Measure the harness itself, on the null engine with this run's workload and plan: a few ms. */
NB_MUST_CHECK int
floor_measure(struct nb_run *run);

/** Make <path>/<driver> if it will be written, else see that it is there. */
NB_MUST_CHECK int
run_prepare_path(struct nb_run *run);

#endif /* RUN_RUN_H */
