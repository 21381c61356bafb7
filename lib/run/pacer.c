/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waiting: sleep as long as is safe, then spin until the exact time.
 *
 * A sleep ends late, by a few microseconds on an idle machine and by far more on a busy or
 * virtual one. So it should end `slack` before the due time, and the rest is spun. The slack is
 * learnt: it shrinks a little after each sleep in time, and grows a lot after a late one. So it
 * settles where one sleep in some 900 is late. It starts at the minimum, because only a tried
 * value teaches anything. If operations are due so closely that no time for a sleep is left,
 * the slack still shrinks a little. So one bad minute does not cost a CPU until the end of the
 * run. Rejected: a fixed slack, which is too short on one machine and wastes CPU time on
 * another. Also rejected: a histogram of oversleeps, which remembers a bad minute for the rest
 * of the run.
 *
 * Sleeps are absolute, on CLOCK_MONOTONIC, and cut into pieces, so that a halt is noticed soon.
 * Both clocks are read together before each sleep, so their difference in speed never adds up.
 * CLOCK_MONOTONIC is read first. If the thread loses its CPU between the two, it sleeps too
 * short and not too long. The next round corrects that.
 *
 * Some delays remain: another task on the CPU, a deep sleep state of the CPU, a hypervisor,
 * `idle`. All of them are in `lateness`. It shows whether long response times come from the
 * machine or the engine.
 */
#include "run/pacer.h"

#include <sys/prctl.h>

/* Sharing a cache line with the halting thread is fine: it writes it only once. */
static inline bool
is_halted(const int *halt)
{
	return __atomic_load_n(halt, __ATOMIC_RELAXED) != 0;
}

/** Give the other hardware thread of this core priority, and save power. */
static inline void
pause_cpu(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb"); /* yield is often only a nop there */
#endif
}

void
pacer_create(struct pacer *pacer, const struct clock *clock, uint32_t how, bool may_spin)
{
	pacer->clock = clock;
	pacer->is_sleeping = how != PACER_SPIN;
	pacer->is_spinning = how == PACER_SPIN || (how == PACER_AUTO && may_spin);
	pacer->piece_ticks = clock_ticks(clock, PACER_PIECE_NS);
	pacer->slack_ns = PACER_SLACK_MIN_NS;
	pacer->idle = NULL;
	pacer->idle_arg = NULL;
	pacer->waits = pacer->sleeps = pacer->spins = pacer->spin_ticks = 0;
	histogram_create(&pacer->lateness);
}

void
pacer_enter_thread(void)
{
	/*
	 * The default is 50 us, within which the kernel groups wake-ups. 0 would mean the
	 * default.
	 */
	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

static void
set_slack(struct pacer *pacer, uint64_t slack_ns)
{
	if (slack_ns < PACER_SLACK_MIN_NS)
		slack_ns = PACER_SLACK_MIN_NS;
	pacer->slack_ns = slack_ns < PACER_SLACK_MAX_NS ? slack_ns : PACER_SLACK_MAX_NS;
}

/**
 * A quarter more, or a 4000th less. These steps balance when one in some 890 sleeps takes
 * longer than the slack (ln 1.25 / -ln (1 - 1/4000) = 892).
 */
void
pacer_learn(struct pacer *pacer, uint64_t oversleep_ns)
{
	uint64_t slack = pacer->slack_ns;
	set_slack(pacer, oversleep_ns > slack ? slack + slack / 4 : slack - slack / 4000);
}

/** Shrink the slack after a wait that was too short for a sleep. */
static void
forget(struct pacer *pacer)
{
	set_slack(pacer, pacer->slack_ns - pacer->slack_ns / 40000);
}

/** Nanoseconds from `now` to `then`, at least 1, at most a piece. */
static uint64_t
piece_left(const struct pacer *pacer, uint64_t now, uint64_t then)
{
	uint64_t ticks = then - now;
	if (ticks >= pacer->piece_ticks)
		return PACER_PIECE_NS;
	return clock_ns(pacer->clock, ticks) + 1;
}

/** Sleep through the current piece, except the last spare_ns. Returns a stamp. */
static uint64_t
sleep_piece(struct pacer *pacer, uint64_t due, uint64_t spare_ns)
{
	uint32_t kind = pacer->clock->kind;
	uint64_t until_ns = clock_monotonic();
	uint64_t now = clock_stamp(kind);
	uint64_t left_ns = now < due ? piece_left(pacer, now, due) : 0;
	if (left_ns <= spare_ns)
		return now;
	until_ns += left_ns - spare_ns;
	struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000),
		.tv_nsec = (long)(until_ns % 1000000000)};
	int error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	uint64_t woke_ns = clock_monotonic();
	pacer->sleeps++;
	if (error == 0 && woke_ns >= until_ns) /* otherwise a signal interrupted it */
		pacer_learn(pacer, woke_ns - until_ns);
	return clock_stamp(kind);
}

/** Spin through the current piece. Returns a stamp. */
static uint64_t
spin_piece(struct pacer *pacer, uint64_t now, uint64_t due, const int *halt)
{
	uint32_t kind = pacer->clock->kind;
	uint64_t begin = now;
	uint64_t length = due - now < pacer->piece_ticks ? due - now : pacer->piece_ticks;
	pacer->spins++;
	while (now - begin < length && !is_halted(halt)) {
		pause_cpu();
		now = clock_stamp(kind);
	}
	pacer->spin_ticks += now - begin;
	return now;
}

/** Wait for a piece. Returns a stamp. */
static uint64_t
wait_piece(struct pacer *pacer, uint64_t now, uint64_t due, const int *halt)
{
	uint64_t left_ns = piece_left(pacer, now, due);
	uint64_t spare_ns = pacer->is_spinning ? pacer->slack_ns : 0;
	if (left_ns > PACER_IDLE_NS && pacer->idle != NULL) {
		pacer->idle(pacer->idle_arg);
		now = clock_stamp(pacer->clock->kind);
		if (now >= due)
			return now;
		left_ns = piece_left(pacer, now, due);
	}
	if (pacer->is_sleeping && left_ns > spare_ns)
		return sleep_piece(pacer, due, spare_ns);
	return spin_piece(pacer, now, due, halt);
}

uint64_t
pacer_wait_until(struct pacer *pacer, uint64_t due_ticks, uint64_t now, const int *halt)
{
	uint64_t sleeps = pacer->sleeps;
	pacer->waits++;
	while (now < due_ticks && !is_halted(halt))
		now = wait_piece(pacer, now, due_ticks, halt);
	if (pacer->sleeps == sleeps)
		forget(pacer);
	if (now >= due_ticks)
		histogram_add(&pacer->lateness, clock_ns(pacer->clock, now - due_ticks));
	return now;
}
