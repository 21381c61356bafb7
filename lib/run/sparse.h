/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_SPARSE_H
#define RUN_SPARSE_H
/**
 * Blocks of operations of which few have stamps of their own, or none. worker.c alone includes
 * this.
 *
 * A stamp's fences keep cache misses of neighbouring operations from overlapping, which costs a
 * fast engine more than the stamp does. So here a block is cut into stretches between two stamps.
 * Operations with stamps of their own run alone, each between its two; their latencies are as
 * good as those of a run in which each operation is stamped, but fewer. All others are counted and
 * verified like any, and told at once to who watches; of their time only the stretch's is known.
 *
 * Stamped operations are chosen by their number (has_stamps()), so every place of a block and each
 * kind has its share of them. Rejected: the first one of each block, which would always follow the
 * making of a block and never another operation.
 *
 * What would make the numbers wrong: taking the time for verification as the engine's, so the
 * clock is stopped for it here, too; series with a gap for each stretch of slow operations, so a
 * stretch that lasted long is followed by one half as long.
 */
#include "run/operate.h"

/** Bits of the block's operations that have stamps of their own. */
static inline uint64_t
stamped_of(const struct job_plan *plan, const struct ops_op *ops, uint32_t count)
{
	uint64_t bits = 0;
	for (uint32_t j = 0; j < count; j++)
		bits |= (uint64_t)has_stamps(ops[j].index, plan->stamp_threshold) << j;
	return bits;
}

/** Where the stretch from operation `j` of the block on ends: it is all of the warm-up, or none. */
static inline uint32_t
stretch_end(
	const struct job_worker *worker, const struct ops_op *ops, uint32_t j, uint32_t count)
{
	uint64_t stamped = worker->taken->stamped >> j, warm = worker->plan->warmup_count;
	uint64_t length = worker->taken->stretch;
	if (stamped != 0 && (uint64_t)__builtin_ctzll(stamped) < length)
		length = (uint64_t)__builtin_ctzll(stamped);
	if (ops[j].index < warm && warm - ops[j].index < length)
		length = warm - ops[j].index;
	return length < count - j ? j + (uint32_t)length : count;
}

/** Operations [from, until) of the block are done; the stretch of them ended now. */
static inline void
close_stretch(struct job_worker *worker, uint32_t from, uint32_t until, struct span stretch)
{
	struct job_taken *taken = worker->taken;
	uint64_t ticks = stretch.end - stretch.begin - stretch.paused;
	taken->ends[until - 1] = stretch.end;
	taken->ticks[until - 1] = ticks;
	if (stretch.end - stretch.begin > worker->plan->tell_ticks)
		taken->stretch = (taken->stretch + 1) / 2;
	else if (taken->stretch < OPS_STRATUM)
		taken->stretch *= 2;
	if (stretch.begin < taken->moments.warm ||
		taken->ops[from].index < worker->plan->warmup_count)
		return;
	worker->unstamped.ops += until - from;
	worker->unstamped.count++;
	worker->unstamped.ticks += ticks;
}

/** As run_one(), without stamps. Of several kinds, the most frequent have code of their own. */
static ALWAYS_INLINE bool
run_unstamped(struct job_worker *worker, const struct block *block, uint32_t j,
	uint32_t clock_kind, uint32_t only, struct span *span)
{
#define RUN(alike) run_one(worker, block, j, clock_kind, only, alike, false, span)
	if (only < NB_OP_KINDS)
		return RUN(only);
	uint32_t kind = ops_exec(block->ops[j].kind);
	if (kind == NB_OP_READ)
		return RUN(NB_OP_READ);
	if (kind == NB_OP_UPDATE)
		return RUN(NB_OP_UPDATE);
	return kind == OPS_ADD ? RUN(OPS_ADD) : RUN(NB_OP_KINDS);
#undef RUN
}

/**
 * Do the operations from `*at` to `until`, the stretch of which begins at `begin`. Returns its end;
 * `*at` is where it was stopped.
 */
static ALWAYS_INLINE uint64_t
run_stretch(struct job_worker *worker, const struct block *block, uint32_t *at, uint32_t until,
	uint64_t begin, uint32_t clock_kind, uint32_t only)
{
	struct job_taken *taken = worker->taken;
	struct span stretch = {.begin = begin, .end = begin};
	uint32_t from = *at, j = from;
	bool is_over = false;
	for (uint32_t k = from; k < until; k++) {
		taken->ticks[k] = 0;
		taken->begins[k] = taken->ends[k] = begin;
	}
	while (j < until && !is_over) {
		struct span span = {.begin = begin};
		if (!run_unstamped(worker, block, j, clock_kind, only, &span))
			break;
		stretch.paused += span.paused;
		j++;
		if (j < until) /* the last one is told when it has the stretch's end */
			__atomic_store_n(&worker->done, block->done + j, __ATOMIC_RELEASE);
		is_over = __atomic_load_n(block->halt, __ATOMIC_RELAXED) != 0;
	}
	if (j > from) {
		stretch.end = clock_stamp(clock_kind);
		close_stretch(worker, from, j, stretch);
		__atomic_store_n(&worker->done, block->done + j, __ATOMIC_RELEASE);
	}
	*at = j;
	return stretch.end;
}

/** As run_block(), of a loop without a rate. */
static ALWAYS_INLINE bool
run_sparse_block(struct job_worker *worker, const struct ops_op *ops, uint32_t count,
	uint32_t clock_kind, uint32_t only)
{
	struct job_taken *taken = worker->taken;
	uint64_t stamped = stamped_of(worker->plan, ops, count), last;
	struct block block = begin_block(worker, ops, only, stamped);
	bool is_over = stop_requested();
	uint32_t j = 0;
	last = clock_stamp(clock_kind);
	while (j < count && !is_over) {
		uint32_t until = (stamped >> j & 1) != 0 ? j + 1
							 : stretch_end(worker, ops, j, count);
		if ((stamped >> j & 1) == 0) {
			last = run_stretch(worker, &block, &j, until, last, clock_kind, only);
		} else {
			struct span span;
			if (!run_one(worker, &block, j, clock_kind, only, only, true, &span))
				break;
			taken->begins[j] = span.begin;
			taken->ticks[j] = span.end - span.begin - span.paused;
			taken->ends[j] = last = span.end;
			__atomic_store_n(&worker->done, block.done + ++j, __ATOMIC_RELEASE);
		}
		is_over = j < until || last >= taken->moments.end ||
			__atomic_load_n(block.halt, __ATOMIC_RELAXED) != 0;
		if (__builtin_expect(last - worker->told_ticks > worker->plan->tell_ticks, 0))
			tell_block(worker, block.done + j, last);
	}
	tell_block(worker, block.done + j, last);
	heartbeat_leave(&worker->heartbeat);
	return !is_over && j == count;
}

#endif /* RUN_SPARSE_H */
