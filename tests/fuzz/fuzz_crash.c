/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For libFuzzer: any bytes as the crash.json of a kept crash. The target reads it as --again
 * does: first the driver, then everything that a repetition needs. It repeats nothing, because
 * the engine does not exist. A file that is accepted must have a driver and known levels.
 *
 *     tests/fuzz/fuzz_crash -max_len=4096 -dict=.../crash.dict NEW_CORPUS .../corpus/crash
 */
#include <sys/stat.h>

#include <mininb/crash.h>

#include "crash/crash.h"
#include "fuzz.h"

static char directory[FUZZ_PATH];

static void
remove_directory(void)
{
	rmdir(directory);
}

static void
read_head(void)
{
	struct nb_crash_kept kept;
	if (nb_crash_kept_read(&kept, directory) != NB_OK) {
		require(strncmp(nb_error_text(), directory, strlen(directory)) == 0,
			"the error names the file");
		return;
	}
	require(kept.driver != NULL, "the driver is set");
	require(nb_durability_name(kept.durability) != NULL, "the level exists");
	require(kept.how <= NB_CRASH_POWER && kept.file_system <= NB_CRASH_POSIX,
		"the kind of crash exists");
	for (size_t i = 0; i < kept.engine_option_count; i++)
		require(kept.engine_options[i] != NULL, "each option is set");
	nb_crash_kept_clear(&kept);
}

static void
read_evidence(void)
{
	/*
	 * longer than 63 bytes, so that no driver name in the file, which is cut to 63, is
	 * equal to it
	 */
	static const char name[] =
		"0123456789012345678901234567890123456789012345678901234567890123";
	const struct nb_engine engine = {.name = name};
	const struct nb_crash_args args = {.size = sizeof(args), .engine = &engine};
	struct crash_run run = {.args = &args, .again = directory};
	require(crash_run_again(&run) == NB_ERR_USAGE, "the unknown engine is rejected");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[FUZZ_PATH + 16];
	if (directory[0] == '\0') {
		mkdir(place_of("crash", directory), 0700);
		atexit(remove_directory);
	}
	snprintf(path, sizeof(path), "%s/crash.json", directory);
	put_file(path, data, size);
	read_head();
	read_evidence();
	unlink(path);
	return 0;
}
