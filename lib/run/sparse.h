/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_SPARSE_H
#define RUN_SPARSE_H
/**
 * Blocks of operations of which few or none have stamps of their own. Only worker.c includes
 * this.
 *
 * The fences of a stamp keep cache misses of neighbouring operations from overlapping. For a
 * fast engine, that costs more than the stamp itself. So a block is cut into stretches, each
 * between two stamps. An operation with stamps of its own runs alone between its two stamps.
 * Such latencies are as good as those of a run that stamps each operation, but fewer. All other
 * operations are counted and verified as usual, and reported to the watcher at once. Only the
 * time of their whole stretch is known.
 *
 * The number of an operation decides whether it is stamped (has_stamps()). So every position in
 * a block and each kind has its share. Rejected: to stamp the first operation of each block. It
 * would always follow the making of a block and never another operation.
 *
 * Two things would make the numbers wrong. One is to count verification as the engine's time;
 * so the clock stops for it here, too. The other is a gap in the series for each stretch of
 * slow operations; so after a long stretch the next one is half as long.
 */
#include "run/operate.h"

/** Bits of the operations of the block that have stamps of their own. */
static inline uint64_t
stamped_of(const struct job_plan *plan, const struct ops_op *ops, uint32_t count)
{
	uint64_t bits = 0;
	for (uint32_t j = 0; j < count; j++)
		bits |= (uint64_t)has_stamps(ops[j].index, plan->stamp_threshold) << j;
	return bits;
}

/**
 * End of the stretch that begins at operation `j`. Either all of the stretch belongs to the
 * warm-up, or none of it.
 */
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

/** Record the stretch of the operations [from, until) of the block, which has just ended. */
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

/**
 * Like run_one(), without stamps. With several kinds, the most frequent ones have their own
 * code.
 */
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
 * Execute the operations from `*at` to `until` as a stretch that begins at `begin`. Returns its
 * end; sets `*at` to where it stopped.
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
		if (j < until) /* the last one is reported once it has the end of the stretch */
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

/** Like run_block(), without a rate. */
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
