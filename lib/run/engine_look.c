/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inspection of a plugin in a child process.
 *
 * A list of engines loads code that nobody asked to run. A constructor may crash, wait or call
 * exit(), and a table may contain bad pointers. Either would end the list. So a child loads
 * each plugin and leaves the data in memory that it shares with the parent. The parent reports
 * the step in which the child ended.
 *
 * Rejected: inspect first and then load here as well. A crash need not happen each time.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process.h"
#include "run/engine.h"
#include "run/fault.h"

#define LOOK_LIMIT_NS UINT64_C(10000000000)

struct look {
	const char *step; /* a literal, at the same address in both processes */
	int rc;
	bool is_done;
	char text[1024];
	char shown[];
};

static _Noreturn void
be_child(struct look *look, const char *driver, engine_show_fn show)
{
	struct nb_engine_ref *ref;
	struct rlimit none = {0};
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fault_release();
	process_take_signals_back();
	(void)setrlimit(RLIMIT_CORE, &none);
	dup2(STDERR_FILENO, STDOUT_FILENO); /* a plugin may print */
	nb_set_log(NULL, NULL);             /* the parent prints the same warnings */
	engine_set_step(&look->step);
	look->rc = nb_engine_load(&ref, driver);
	look->step = "while its table was shown";
	if (look->rc == NB_OK)
		look->rc = show(look->shown, ref);
	snprintf(look->text, sizeof(look->text), "%s", nb_error_text());
	look->is_done = true;
	kill(getpid(), SIGKILL); /* exit handlers are not inspected */
	for (;;)
		pause();
}

static int
tell_end(const struct look *look, const char *path, int how, int status)
{
	const char *step = look->step != NULL ? look->step : "before it was loaded";
	char name[PROCESS_SIGNAL_SIZE];
	if (how == PROCESS_STOPPED)
		return error_interrupted();
	if (how == PROCESS_LATE)
		return error_set(NB_FAIL, "%s: refused: nothing happened for %d s %s", path,
			(int)(LOOK_LIMIT_NS / 1000000000), step);
	if (look->is_done)
		return look->rc == NB_OK ? NB_OK : error_set(look->rc, "%s", look->text);
	if (WIFSIGNALED(status))
		return error_set(NB_FAIL, "%s: refused: %s %s", path,
			process_signal_name(WTERMSIG(status), name), step);
	return error_set(NB_FAIL, "%s: refused: it ended the process with status %d %s", path,
		WEXITSTATUS(status), step);
}

int
engine_look(const char *driver, const char *path, engine_show_fn show, void *shown, size_t size)
{
	size_t bytes = sizeof(struct look) + size;
	struct look *look = mmap(
		NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (look == MAP_FAILED)
		return error_system("%s: out of memory", driver);
	fflush(NULL); /* otherwise the child would write it again */
	pid_t pid = fork();
	if (pid == 0)
		be_child(look, driver, show);
	int status = 0, rc;
	if (pid < 0) {
		rc = error_system("%s: a process cannot be made", driver);
	} else {
		int how = process_await(pid, &status, LOOK_LIMIT_NS);
		if (how != PROCESS_ENDED)
			process_kill(pid, &status);
		rc = tell_end(look, path, how, status);
	}
	if (rc == NB_OK && size > 0)
		memcpy(shown, look->shown, size);
	munmap(look, bytes);
	return rc;
}
