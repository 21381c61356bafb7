/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Begin again with the recorder in the process: a library can take the place of the C
 * library's calls only if it is there from the start. Done at most once, which a variable of
 * the environment tells, since LD_PRELOAD is ignored in silence where the program has rights
 * that its user has not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "message.h"
#include "preload.h"

static const char done_once[] = "MININB_RECORDER";

/** The words of this process, as they were typed, until exec; NULL: out of memory, or they
 * cannot be read. */
static char **
own_words(void)
{
	char *word = NULL, **words = NULL;
	size_t room = 0, count = 0;
	FILE *file = fopen("/proc/self/cmdline", "re");
	while (file != NULL && getdelim(&word, &room, '\0', file) > 0) {
		char **more = realloc(words, (count + 2) * sizeof(*words));
		if (more == NULL)
			break;
		words = more;
		words[count++] = word;
		words[count] = word = NULL;
		room = 0;
	}
	bool is_whole = file != NULL && feof(file);
	if (file != NULL)
		fclose(file);
	return is_whole ? words : NULL;
}

static bool
set_variables(const char *recorder)
{
	const char *before = getenv("LD_PRELOAD");
	bool has_more = before != NULL && before[0] != '\0';
	char *value = NULL;
	/* The last one, nearest to the kernel: what others make of a call is what is recorded. */
	if (asprintf(&value, "%s%s%s", has_more ? before : "", has_more ? ":" : "", recorder) <
		0)
		return false;
	bool is_set = setenv("LD_PRELOAD", value, 1) == 0 && setenv(done_once, "1", 1) == 0;
	free(value);
#if defined(__SANITIZE_ADDRESS__)
	/* The sanitizer's runtime wants to be first, which for the recorder does not matter. */
	const char *options = getenv("ASAN_OPTIONS");
	if (asprintf(&value, "%s:verify_asan_link_order=0", options != NULL ? options : "") < 0)
		return false;
	setenv("ASAN_OPTIONS", value, 1);
	free(value);
#endif
	return is_set;
}

int
preload_recorder(void)
{
	char *recorder = nb_crash_recorder_path();
	if (getenv(done_once) != NULL) {
		message_error("%s was not loaded: LD_PRELOAD is ignored here",
			recorder != NULL ? recorder : "the recorder");
	} else if (recorder == NULL) {
		message_error(
			"--power: the library that records calls, libmininb-recorder.so, is "
			"not found; it is there on 64-bit Linux");
	} else if (strpbrk(recorder, ": ") != NULL) {
		message_error(
			"--power: %s cannot be preloaded from a path with a colon or a space",
			recorder);
	} else {
		char **words = own_words();
		if (words != NULL && set_variables(recorder)) {
			fflush(NULL);
			dup2(fileno(nb_stdout()), STDOUT_FILENO);
			execv("/proc/self/exe", words);
		}
		message_error("--power: the command cannot be started again with the recorder");
	}
	free(recorder);
	return STATUS_FAILED;
}
