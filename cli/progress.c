/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The progress line: what, how many of how many, rate, time left.
 *
 * The rate is the mean since this `what` began, not that of the last moment:
 * the time left that follows from it jumps less, and is as good a guess. The
 * library calls once for so many operations, which may be a thousand times a
 * second, so most calls only look at the clock. Rewritten by '\r' and spaces,
 * without a sequence of any terminal's but the two that dim the text, and
 * those not under NO_COLOR.
 *
 * A phase that the engine does in one call, open or settle or close, is told once, before
 * it begins. There a thread of our own, the ticker, rewrites the seconds. It is
 * made when the first such phase is told, and is parked, without a wake-up, while
 * anything else goes on: no operation is measured beside it.
 */
#include "progress.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum {
	LINE_SIZE = 128,
	REDRAW_NS = 100 * 1000 * 1000,
	SECOND_NS = 1000 * 1000 * 1000,
};

/*
 * Guards `line` and `ticker`. Taken after stderr's own lock, never before it: who
 * prints a message holds that one while the line is cleared.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
	uint64_t drawn_ns;
	const char *what;
	size_t shown; /* characters that stand on the screen */
	bool has_colour;
} line;

static struct {
	pthread_cond_t woken; /* on CLOCK_MONOTONIC; `begin_ns` has changed */
	pthread_t teller;     /* whose call it is that stands in the engine */
	const char *what;
	uint64_t begin_ns; /* of the phase to tick in; 0: park */
	bool is_made;
} ticker;

static void
lock_line(void)
{
	flockfile(stderr);
	pthread_mutex_lock(&lock);
}

static void
unlock_line(void)
{
	pthread_mutex_unlock(&lock);
	funlockfile(stderr);
}

static uint64_t
now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/** Most characters that the line may have: one that wraps cannot be rewritten. */
static size_t
columns(void)
{
	struct winsize size;
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
		return 79;
	return size.ws_col - 1u;
}

static void
append(char *text, const char *fmt, ...) NB_PRINTF(2, 3);

static void
append(char *text, const char *fmt, ...)
{
	size_t length = strlen(text);
	va_list args;
	va_start(args, fmt);
	vsnprintf(text + length, LINE_SIZE - length, fmt, args);
	va_end(args);
}

/** "9 s", "3:07", "1:02:03". */
static void
append_time(char *text, double seconds)
{
	if (seconds > 1e9)
		seconds = 1e9; /* no promise, but no overflow */
	uint64_t s = (uint64_t)(seconds + 0.5);
	if (s < 60)
		append(text, "%" PRIu64 " s", s);
	else if (s < 3600)
		append(text, "%" PRIu64 ":%02" PRIu64, s / 60, s % 60);
	else
		append(text, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, s / 3600, s / 60 % 60,
			s % 60);
}

static void
describe(char *text, const struct nb_progress *progress)
{
	double seconds = (double)progress->elapsed_ns * 1e-9;
	double done = (double)progress->done;
	append(text, "%s", progress->what);
	if (progress->total > 0) {
		append(text, "  %" PRIu64 "/%" PRIu64 "  %.0f%%", progress->done,
			progress->total, done / (double)progress->total * 100);
	} else if (progress->done > 0) {
		append(text, "  %" PRIu64, progress->done);
	}
	if (progress->done > 0 && seconds > 0)
		append(text, "  %.0f/s", done / seconds);
	if (progress->total == 0 && progress->done == 0 && seconds < 1) {
		/* Done in one piece, and begun just now: no clock that may stand. */
		append(text, " ...");
		return;
	}
	append(text, "  ");
	append_time(text, seconds);
	if (progress->total > progress->done && progress->done > 0) {
		append(text, ", ");
		append_time(text, seconds / done * (double)(progress->total - progress->done));
		append(text, " left");
	}
}

static void
draw(const struct nb_progress *progress)
{
	char text[LINE_SIZE] = "";
	describe(text, progress);
	size_t width = columns(), length = strlen(text);
	if (length > width)
		length = width;
	int padding = line.shown > length ? (int)(line.shown - length) : 0;
	/* One call, so one write: no half of a line is ever seen. */
	fprintf(stderr, "\r%s%.*s%s%*s", line.has_colour ? "\033[2m" : "", (int)length, text,
		line.has_colour ? "\033[0m" : "", padding, "");
	line.shown = length + (size_t)padding;
}

/** Wait for the next whole second of the phase, or for a phase. True: it has come. */
static bool
wait_for_second(void)
{
	if (ticker.begin_ns == 0) {
		pthread_cond_wait(&ticker.woken, &lock);
		return false;
	}
	uint64_t passed = now_ns() - ticker.begin_ns;
	uint64_t next = ticker.begin_ns + passed - passed % SECOND_NS + SECOND_NS;
	struct timespec until = {
		.tv_sec = (time_t)(next / SECOND_NS), .tv_nsec = (long)(next % SECOND_NS)};
	return pthread_cond_timedwait(&ticker.woken, &lock, &until) == ETIMEDOUT;
}

/** The phase may have ended while no lock was held. */
static void
draw_second(void)
{
	lock_line();
	if (ticker.begin_ns != 0)
		draw(&(struct nb_progress){.size = sizeof(struct nb_progress),
			.what = ticker.what,
			.elapsed_ns = now_ns() - ticker.begin_ns});
	unlock_line();
}

static void *
tick(void *arg)
{
	for (;;) {
		pthread_mutex_lock(&lock);
		while (!wait_for_second())
			;
		pthread_mutex_unlock(&lock);
		draw_second();
	}
	return arg;
}

/** Signals are the other threads' business. If it cannot be had, the line stands. */
static void
make_ticker(void)
{
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&ticker.woken, &monotonic);
	pthread_condattr_destroy(&monotonic);

	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_t thread;
	if (pthread_create(&thread, NULL, tick, NULL) == 0)
		pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	ticker.is_made = true;
}

static void
park_ticker(void)
{
	if (ticker.begin_ns == 0)
		return;
	ticker.begin_ns = 0;
	pthread_cond_signal(&ticker.woken); /* at once, not when its second is over */
}

static void
start_ticker(const struct nb_progress *progress, uint64_t now)
{
	if (!ticker.is_made)
		make_ticker();
	ticker.teller = pthread_self();
	ticker.what = progress->what;
	ticker.begin_ns = now - progress->elapsed_ns;
	pthread_cond_signal(&ticker.woken);
}

static void
show(void *arg, const struct nb_progress *progress)
{
	(void)arg;
	uint64_t now = now_ns();
	lock_line();
	park_ticker();
	if (line.what != progress->what || now - line.drawn_ns >= REDRAW_NS) {
		line.what = progress->what;
		line.drawn_ns = now;
		draw(progress);
	}
	if (progress->total == 0 && progress->done == 0)
		start_ticker(progress, now);
	unlock_line();
}

nb_progress_fn
progress_function(bool is_wanted)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
	if (!is_wanted || !isatty(STDERR_FILENO))
		return NULL;
	if (term == NULL || strcmp(term, "dumb") == 0)
		return NULL;
	line.has_colour = no_color == NULL || no_color[0] == '\0';
	return show;
}

void
progress_clear(void)
{
	lock_line();
	/* Another thread's message is printed within the phase; the line comes back. */
	if (ticker.begin_ns != 0 && pthread_equal(ticker.teller, pthread_self()))
		park_ticker();
	if (line.shown > 0) {
		/* Behind the line may stand the ^C with which the terminal shows a Ctrl-C. */
		size_t width = columns(), length = line.shown + 2;
		fprintf(stderr, "\r%*s\r", (int)(length < width ? length : width), "");
	}
	line.shown = 0;
	unlock_line();
}
