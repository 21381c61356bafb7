/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The progress line: phase, operations done, rate, latencies, recent rates as bars, time left.
 * On a narrow terminal the least important parts are omitted.
 *
 * The rate is the recent one if the library reports it. The time left is estimated from the
 * mean rate of the phase, which varies less and is as accurate. The library calls up to a
 * thousand times a second, so most calls only read the clock. The line is rewritten with '\r'
 * and spaces. The only terminal sequences are the two that dim the text, and not with NO_COLOR.
 *
 * The library reports a phase that is one call of the engine (open, settle, close) once, before
 * it begins. A separate thread, the ticker, then updates the seconds. It is created for the
 * first such phase and waits without wake-ups in other phases: no operation is measured while
 * it runs.
 */
#include "progress.h"

#include <errno.h>
#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "clock.h"
#include "options.h"

enum {
	PART_SIZE = 96,
	TIME_SIZE = 32,
	GAP = 2, /* columns between two parts */
	REDRAW_NS = 100 * 1000 * 1000,
	SPARK_NS = 250 * 1000 * 1000, /* time covered by a bar */
	SPARKS_LEAST = 3,
	SPARKS_MAX = 20,
	SECOND_NS = 1000 * 1000 * 1000,
};

/*
 * Guards `line` and `ticker`. Taken after stderr's own lock, never before it: a thread that
 * prints a message holds stderr's lock while it clears the line.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
	uint64_t drawn_ns;
	const char *what;
	size_t shown; /* columns on the screen */
	bool has_colour;
	bool has_bars;            /* the terminal can show them */
	double rates[SPARKS_MAX]; /* the last rates of this phase, operations a second */
	size_t rate_count;
	uint64_t rated_ns;
} line;

static struct {
	pthread_cond_t woken; /* uses CLOCK_MONOTONIC; signals a change of `begin_ns` */
	pthread_t teller;     /* the thread inside the engine's call */
	const char *what;
	uint64_t begin_ns; /* start of the phase to tick in; 0: wait */
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

/** The maximum width of the line: a line that wraps cannot be rewritten. */
static size_t
columns(void)
{
	struct winsize size;
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
		return 79;
	return size.ws_col - 1u;
}

/* ---- parts of the line ---- */

/**
 * A part of the line. If the line is too long, parts with the lowest rank are omitted first.
 */
struct part {
	char text[PART_SIZE];
	size_t columns;
	int rank;
};

/** In the order of the line. */
enum {
	PART_WHAT,
	PART_WARMUP,
	PART_DONE,
	PART_PERCENT,
	PART_RATE,
	PART_P50,
	PART_P99,
	PART_ERRORS,
	PART_SPARKS,
	PART_ELAPSED,
	PART_LEFT,
	PARTS
};

static const int ranks[PARTS] = {
	[PART_WHAT] = 100,
	[PART_PERCENT] = 90,
	[PART_LEFT] = 80,
	[PART_ERRORS] = 70,
	[PART_RATE] = 60,
	[PART_DONE] = 50,
	[PART_WARMUP] = 45,
	[PART_P99] = 40,
	[PART_P50] = 30,
	[PART_ELAPSED] = 20,
	[PART_SPARKS] = 10,
};

static void
set(struct part *parts, int which, const char *fmt, ...) NB_PRINTF(3, 4);

static void
set(struct part *parts, int which, const char *fmt, ...)
{
	struct part *part = &parts[which];
	va_list args;
	va_start(args, fmt);
	vsnprintf(part->text, sizeof(part->text), fmt, args);
	va_end(args);
	part->columns = strlen(part->text);
	part->rank = ranks[which];
}

/** "9 s", "3:07", "1:02:03". */
static void
format_time(char text[TIME_SIZE], double seconds)
{
	if (seconds > 1e9)
		seconds = 1e9; /* prevents an overflow */
	uint64_t s = (uint64_t)(seconds + 0.5);
	if (s < 60)
		snprintf(text, TIME_SIZE, "%" PRIu64 " s", s);
	else
		clock_format_s(text, TIME_SIZE, s);
}

/** The last rates as bars; the highest rate is a full bar. */
static void
set_sparks(struct part *parts)
{
	static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	enum { HEIGHTS = sizeof(bars) / sizeof(*bars) };
	double most = 0;
	char text[PART_SIZE] = "";
	if (!line.has_bars || line.rate_count < SPARKS_LEAST)
		return;
	for (size_t i = 0; i < line.rate_count; i++)
		most = line.rates[i] > most ? line.rates[i] : most;
	for (size_t i = 0; i < line.rate_count; i++) {
		double share = most > 0 ? line.rates[i] / most : 0;
		strcat(text, bars[(size_t)(share * (HEIGHTS - 1) + 0.5)]);
	}
	set(parts, PART_SPARKS, "%s", text);
	parts[PART_SPARKS].columns = line.rate_count;
}

/** With three digits, so the width hardly changes. */
static void
set_latencies(struct part *parts, const struct nb_progress *progress)
{
	char text[TIME_SIZE];
	if (progress->p50_ns > 0) {
		clock_format_ns(text, sizeof(text), progress->p50_ns, 3);
		set(parts, PART_P50, "p50 %s", text);
	}
	if (progress->p99_ns > 0) {
		clock_format_ns(text, sizeof(text), progress->p99_ns, 3);
		set(parts, PART_P99, "p99 %s", text);
	}
}

static double
rate_of(const struct nb_progress *progress)
{
	double seconds = (double)progress->elapsed_ns * 1e-9;
	if (progress->rate_ops_s > 0)
		return progress->rate_ops_s;
	return seconds > 0 ? (double)progress->done / seconds : 0;
}

static void
set_time(struct part *parts, const struct nb_progress *progress)
{
	double seconds = (double)progress->elapsed_ns * 1e-9, done = (double)progress->done;
	char text[TIME_SIZE];
	format_time(text, seconds);
	set(parts, PART_ELAPSED, "%s", text);
	double left = 0;
	if (progress->left_ns > 0)
		left = (double)progress->left_ns * 1e-9;
	else if (progress->total > progress->done && progress->done > 0)
		left = seconds / done * (double)(progress->total - progress->done);
	if (left <= 0) {
		parts[PART_ELAPSED].rank = ranks[PART_LEFT]; /* no better information */
		return;
	}
	format_time(text, left);
	set(parts, PART_LEFT, "%s left", text);
}

static void
describe(struct part *parts, const struct nb_progress *progress)
{
	bool is_in_one_piece = progress->total == 0 && progress->done == 0;
	set(parts, PART_WHAT, "%s", progress->what);
	if (is_in_one_piece && progress->elapsed_ns < SECOND_NS) {
		/* The phase begins now. A time of 0 s could stay on the screen. */
		set(parts, PART_WHAT, "%s ...", progress->what);
		return;
	}
	if (progress->is_warmup)
		set(parts, PART_WARMUP, "warm-up");
	if (progress->total > 0) {
		set(parts, PART_DONE, "%" PRIu64 "/%" PRIu64, progress->done, progress->total);
		set(parts, PART_PERCENT, "%.0f%%",
			(double)progress->done / (double)progress->total * 100);
	} else if (progress->done > 0) {
		set(parts, PART_DONE, "%" PRIu64, progress->done);
	}
	if (progress->done > 0 && rate_of(progress) > 0)
		set(parts, PART_RATE, "%.0f/s", rate_of(progress));
	if (progress->errors > 0)
		set(parts, PART_ERRORS, "%" PRIu64 " misses",
			progress->errors); /* or conflicts */
	set_latencies(parts, progress);
	set_sparks(parts);
	set_time(parts, progress);
}

static size_t
width_of(const struct part *parts)
{
	size_t width = 0;
	for (int i = 0; i < PARTS; i++) {
		if (parts[i].columns > 0)
			width += parts[i].columns + (width > 0 ? GAP : 0);
	}
	return width;
}

/** Removes the oldest bars. False: too few would be left. */
static bool
cut_sparks(struct part *sparks, size_t over)
{
	const char *from = sparks->text;
	if (sparks->columns < over + SPARKS_LEAST)
		return false;
	for (size_t i = 0; i < over; i++)
		from += strlen("▁");
	memmove(sparks->text, from, strlen(from) + 1);
	sparks->columns -= over;
	return true;
}

/** Omits the least important parts until the rest fits. The first part stays, shortened. */
static void
fit(struct part *parts, size_t width)
{
	while (width_of(parts) > width) {
		int least = PART_WHAT;
		for (int i = PART_WHAT + 1; i < PARTS; i++) {
			if (parts[i].columns > 0 &&
				(least == PART_WHAT || parts[i].rank < parts[least].rank))
				least = i;
		}
		if (least == PART_WHAT) {
			parts[least].columns = width;
			parts[least].text[width < PART_SIZE ? width : PART_SIZE - 1] = '\0';
			return;
		}
		if (least != PART_SPARKS || !cut_sparks(&parts[least], width_of(parts) - width))
			parts[least].columns = 0;
	}
}

/** `width` of the text in columns. */
static void
draw_text(const char *text, size_t width)
{
	int padding = line.shown > width ? (int)(line.shown - width) : 0;
	/* One write, so half a line is never visible. */
	fprintf(stderr, "\r%s%s%s%*s", line.has_colour ? "\033[2m" : "", text,
		line.has_colour ? "\033[0m" : "", padding, "");
	line.shown = width + (size_t)padding;
}

/** Only phases with measured operations have a rate. */
static void
note_rate(const struct nb_progress *progress, uint64_t now)
{
	if (progress->rate_ops_s <= 0 || now - line.rated_ns < SPARK_NS)
		return;
	line.rated_ns = now;
	if (line.rate_count == SPARKS_MAX)
		memmove(line.rates, line.rates + 1, (--line.rate_count) * sizeof(*line.rates));
	line.rates[line.rate_count++] = progress->rate_ops_s;
}

static void
draw(const struct nb_progress *progress)
{
	struct part parts[PARTS] = {0};
	char text[PARTS * (PART_SIZE + GAP)] = "";
	describe(parts, progress);
	fit(parts, columns());
	for (int i = 0; i < PARTS; i++) {
		if (parts[i].columns == 0)
			continue;
		strcat(text, text[0] != '\0' ? "  " : "");
		strcat(text, parts[i].text);
	}
	draw_text(text, width_of(parts));
}

/** Waits for the next full second of the phase, or for a phase. True: a second has passed. */
static bool
wait_for_second(void)
{
	if (ticker.begin_ns == 0) {
		pthread_cond_wait(&ticker.woken, &lock);
		return false;
	}
	uint64_t passed = clock_now_ns() - ticker.begin_ns;
	uint64_t next = ticker.begin_ns + passed - passed % SECOND_NS + SECOND_NS;
	struct timespec until = {
		.tv_sec = (time_t)(next / SECOND_NS), .tv_nsec = (long)(next % SECOND_NS)};
	return pthread_cond_timedwait(&ticker.woken, &lock, &until) == ETIMEDOUT;
}

/** The phase may have ended while the lock was not held. */
static void
draw_second(void)
{
	lock_line();
	if (ticker.begin_ns != 0)
		draw(&(struct nb_progress){.size = sizeof(struct nb_progress),
			.what = ticker.what,
			.elapsed_ns = clock_now_ns() - ticker.begin_ns});
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

/** The ticker gets no signals. If it cannot be created, the line does not change. */
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
	pthread_cond_signal(&ticker.woken); /* now, not at the next second */
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
	uint64_t now = clock_now_ns();
	lock_line();
	park_ticker();
	if (line.what != progress->what)
		line.rate_count = 0;
	if (line.what != progress->what || now - line.drawn_ns >= REDRAW_NS) {
		note_rate(progress, now);
		line.what = progress->what;
		line.drawn_ns = now;
		draw(progress);
	}
	if (progress->total == 0 && progress->done == 0)
		start_ticker(progress, now);
	unlock_line();
}

/** In the user's locale, which the rest of the program does not use. */
static bool
is_utf8(void)
{
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	if (locale == (locale_t)0)
		return false;
	bool is = strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
	freelocale(locale);
	return is;
}

nb_progress_fn
progress_function(bool is_wanted)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
	if (!is_wanted || !isatty(STDERR_FILENO))
		return NULL;
	if (term == NULL || strcmp(term, "dumb") == 0)
		return NULL;
	line.has_bars = is_utf8();
	line.has_colour = no_color == NULL || no_color[0] == '\0';
	return show;
}

nb_progress_fn
progress_of(const struct options *options)
{
	return progress_function(!options->is_quiet && options->report_interval > 0);
}

void
progress_show_text(const char *text)
{
	enum { LINE_SIZE = 256 };
	if (progress_function(true) == NULL)
		return;
	char cut[LINE_SIZE];
	size_t width = columns() < sizeof(cut) ? columns() + 1 : sizeof(cut);
	snprintf(cut, width, "%s", text);
	lock_line();
	park_ticker();
	draw_text(cut, strlen(cut));
	unlock_line();
}

void
progress_clear(void)
{
	lock_line();
	/* Another thread printed a message during the phase; the line comes back. */
	if (ticker.begin_ns != 0 && pthread_equal(ticker.teller, pthread_self()))
		park_ticker();
	if (line.shown > 0) {
		/* After the line the terminal may show ^C. */
		size_t width = columns(), length = line.shown + 2;
		fprintf(stderr, "\r%*s\r", (int)(length < width ? length : width), "");
	}
	line.shown = 0;
	unlock_line();
}
