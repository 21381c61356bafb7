/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starts the command again with the recorder loaded: a library can replace functions of the C
 * library only from the start of a process. It tries once, and marks that in an environment
 * variable, because LD_PRELOAD is ignored silently in a program with more rights than its user.
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

/** The words of this process, owned until exec; NULL: out of memory, or they cannot be read. */
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
	/*
	 * The last library is nearest to the kernel: it records the calls that the others make.
	 */
	if (asprintf(&value, "%s%s%s", has_more ? before : "", has_more ? ":" : "", recorder) <
		0)
		return false;
	bool is_set = setenv("LD_PRELOAD", value, 1) == 0 && setenv(done_once, "1", 1) == 0;
	free(value);
#if defined(__SANITIZE_ADDRESS__)
	/* The sanitizer's runtime asks to be first; the recorder may come before it. */
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
			"--power: cannot find libmininb-recorder.so, which records system calls; mininb has it on 64-bit Linux");
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
		message_error("--power: cannot start the command again with the recorder");
	}
	free(recorder);
	return STATUS_FAILED;
}
