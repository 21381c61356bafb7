/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starts the command again with the recorder loaded. A library can replace functions of the C
 * library only from the start of a process. mininb tries it once, and marks the attempt in
 * an environment variable: a program with more rights than its user silently ignores LD_PRELOAD.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mininb/mininb.h>

#include "kept.h"
#include "message.h"
#include "options.h"
#include "preload.h"

static const char done_once[] = "MININB_RECORDER";

static bool
set_variables(const char *recorder)
{
	const char *before = getenv("LD_PRELOAD");
	bool has_more = before != NULL && before[0] != '\0';
	/* The last library is nearest to the kernel: it records the calls of the others. */
	const char *value = kept_text(
		"%s%s%s", has_more ? before : "", has_more ? ":" : "", recorder);
	bool is_set = setenv("LD_PRELOAD", value, 1) == 0 && setenv(done_once, "1", 1) == 0;
#if defined(__SANITIZE_ADDRESS__)
	/* The sanitizer's runtime requires to be first, but allows the recorder before it. */
	const char *options = getenv("ASAN_OPTIONS");
	setenv("ASAN_OPTIONS",
		kept_text("%s:verify_asan_link_order=0", options != NULL ? options : ""), 1);
#endif
	return is_set;
}

int
preload_recorder(const struct options *options)
{
	char *recorder = nb_crash_recorder_path();
	if (getenv(done_once) != NULL) {
		message_error("%s was not loaded: LD_PRELOAD is ignored here",
			recorder != NULL ? recorder : "the recorder");
	} else if (recorder == NULL) {
		message_error(
			"crash: cannot find libmininb-recorder.so, which records system calls; mininb has it on 64-bit Linux");
	} else if (strpbrk(recorder, ": ") != NULL) {
		message_error(
			"crash: %s cannot be preloaded from a path with a colon or a space",
			recorder);
	} else {
		const char **words = kept_array(options->word_count + 1, sizeof(*words));
		words[0] = "mininb";
		for (size_t i = 0; i < options->word_count; i++)
			words[i + 1] = options->words[i];
		if (set_variables(recorder)) {
			fflush(NULL);
			dup2(fileno(nb_stdout()), STDOUT_FILENO);
			execv("/proc/self/exe", (char **)words);
		}
		message_error("crash: cannot start the command again with the recorder");
	}
	free(recorder);
	return STATUS_FAILED;
}
