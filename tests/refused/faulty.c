/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An engine that stores nothing and fails as its options demand: at the number-th call of a
 * verb it hangs, fails, crashes or ends the process. One plugin covers all ways in which an
 * engine can end a run.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "plain.h"

enum { OPEN, SESSION_OPEN, PUT, GET, FLUSH, STATS, SESSION_CLOSE, CLOSE };
enum {
	NOTHING,
	HANG,
	FAIL,
	SEGV,
	FPE,
	ILL,
	ABORT,
	BUS,
	EXIT,
	QUICK_EXIT,
	EXIT_POSIX,
	EXIT_C,
	OVERFLOW,
	STACK,
	SLOW,
	PRINT,
	ANSWER,
	LOG,
	SIZE,
	CHDIR
};

static const struct nb_option options[] = {
	NB_OPTION_CHOICE("verb", "put",
		"open|session_open|put|get|flush|stats|session_close|close",
		"verb with the defect"),
	NB_OPTION_U64("number", "0", NULL, 0, 0, "number of the call with the defect, from 0"),
	NB_OPTION_CHOICE("how", "nothing",
		"nothing|hang|fail|segv|fpe|ill|abort|bus|exit|quick_exit|_exit|_Exit|overflow|stack|slow|print|answer|log|size|chdir",
		"effect of the call"),
	NB_OPTION_END,
};

struct nb_db {
	uint64_t verb, number, how;
	uint64_t calls; /* calls of that verb; atomic */
	const struct nb_host *host;
	char *room, *behind; /* two adjacent chunks of the heap */
};

static struct nb_db the_db;

/* A volatile pointer, because a compiler may remove a visible endless recursion. */
static int (*volatile again)(volatile char *);

static int
use_stack(volatile char *above)
{
	volatile char room[4096];
	room[0] = above[0];
	return again(room) + room[0];
}

static int
do_it(uint64_t how)
{
	static const int signals[CHDIR + 1] = {
		[SEGV] = SIGSEGV, [FPE] = SIGFPE, [ILL] = SIGILL, [BUS] = SIGBUS};
	static void (*const ends[CHDIR + 1])(int status) = {[EXIT] = exit,
		[QUICK_EXIT] = quick_exit,
		[EXIT_POSIX] = _exit,
		[EXIT_C] = _Exit};
	volatile char bottom[1] = {0};
	if (signals[how] != 0)
		raise(signals[how]);
	if (ends[how] != NULL)
		ends[how](0);
	switch (how) {
	case HANG:
		close(creat("hangs", 0600)); /* a test may wait for this file */
		for (;;)
			pause();
	case FAIL:
		return the_db.host->fail(NB_FAIL, "out of luck");
	case ABORT:
		abort();
	case OVERFLOW:
		/* the size of the next chunk; glibc detects it when that chunk is freed */
		memset(the_db.room, 0x5a, 32);
		free(the_db.behind);
		break;
	case STACK:
		again = use_stack;
		return use_stack(bottom);
	case SLOW:
		nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
		break;
	case PRINT: /* through stdio and directly */
		printf("line of the engine\n");
		return write(STDOUT_FILENO, "bytes of it\n", 12) == 12 ? NB_OK : NB_FAIL;
	case CHDIR:
		return chdir("/");
	case ANSWER: /* a value that no verb returns */
		return 7;
	case LOG:
		for (int i = 0; i < 1000; i++)
			the_db.host->log(NB_LOG_WARNING, "the same text");
		for (int i = 0; i < 100; i++)
			the_db.host->log(NB_LOG_INFO, "text %d", i);
		break;
	default:
		break;
	}
	return NB_OK;
}

/* Acts at the number-th call; SLOW also at all later ones. */
static int
come_by(uint64_t verb)
{
	if (verb != the_db.verb)
		return NB_OK;
	uint64_t nth = __atomic_fetch_add(&the_db.calls, 1, __ATOMIC_RELAXED);
	bool is_there = nth == the_db.number || (the_db.how == SLOW && nth > the_db.number);
	return is_there ? do_it(the_db.how) : NB_OK;
}

static int
db_open(struct nb_db **out, const struct nb_open_args *args)
{
	the_db = (struct nb_db){.verb = args->options[0].u64,
		.number = args->options[1].u64,
		.how = args->options[2].u64,
		.host = args->host,
		.room = malloc(24),
		.behind = malloc(24)};
	*out = &the_db;
	return come_by(OPEN);
}

static int
db_close(struct nb_db *db)
{
	int rc = come_by(CLOSE);
	free(db->room);
	free(db->behind);
	return rc;
}

static int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	*out = (void *)db;
	return come_by(SESSION_OPEN);
}

static int
session_close(struct nb_session *session)
{
	return come_by(SESSION_CLOSE);
}

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	*value = (struct nb_slice){0};
	if (the_db.verb == GET && the_db.how == SIZE)
		value->size = (size_t)-1;
	return come_by(GET);
}

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return come_by(PUT);
}

static int
del(struct nb_session *session, struct nb_slice key)
{
	return NB_OK;
}

static int
flush(struct nb_db *db, uint32_t upto)
{
	return come_by(FLUSH);
}

static void
stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	emit(to, "calls", "", NB_STAT_COUNTER, db->calls);
	(void)come_by(STATS);
}

static const struct nb_engine engine = {
	PLAIN_ENGINE,
	.name = "faulty",
	.summary = "test engine with defects of verbs",
	.caps = NB_CAP_SYNTHETIC | NB_CAP_CONCURRENT | NB_CAP_MULTI_PROCESS,
	.durabilities = NB_DUR_BIT(NB_DUR_NONE),
	.auto_durability = NB_DUR_NONE,
	.options = options,
	.flush = flush,
	.stats = stats,
};

NB_ENGINE_PLUGIN(engine)
