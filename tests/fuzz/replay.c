/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a fuzz target once on each input, without libFuzzer, so that old crashes do not return.
 * With --mutate=COUNT, runs COUNT mutations of each input instead:
 *
 *     replay_TARGET [--mutate=COUNT] [--seed=SEED] [--dict=FILE]
 *                   [--only=INDEX [--save=FILE]] INPUT|DIRECTORY...
 *
 * A mutation depends only on the seed, the inputs, the dictionary and its index, not on the
 * machine or on other mutations. If a mutation crashes or takes longer than SECONDS_MAX, the
 * program prints its index. --only=INDEX runs that mutation alone, and --save also writes it to
 * a file.
 */
#include <dirent.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "mutate.h"

enum {
	SIZE_MAX_READ = 1 << 20,
	SECONDS_MAX = 60, /* for one input, on a busy machine */
	NO_INDEX = -1
};

struct input {
	char *path;
	struct bytes bytes;
};

static struct input *inputs;
static size_t input_count;
static struct dictionary dictionary;
static unsigned long long seed = 1;
static long mutations, only = NO_INDEX;
static const char *save;
static char now[512]; /* the current input; printed if it crashes */

/* ---- reports of crashes ---- */

/** Print once, because a sanitizer may report first and then raise a signal. */
static void
tell(void)
{
	static volatile sig_atomic_t is_told;
	ssize_t written = is_told ? 0 : write(STDERR_FILENO, now, strlen(now));
	(void)written;
	is_told = 1;
}

static void
on_death(int number)
{
	tell();
	signal(number, SIG_DFL);
	raise(number);
}

/* Sanitizers end the program themselves. */
__attribute__((weak)) void
__sanitizer_set_death_callback(void (*callback)(void));

static void
watch(void)
{
	static const int numbers[] = {SIGABRT, SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
	int is_watched = __sanitizer_set_death_callback != NULL;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		if (!is_watched || numbers[i] == SIGABRT || numbers[i] == SIGALRM)
			signal(numbers[i], on_death);
	}
	if (is_watched)
		__sanitizer_set_death_callback(tell);
}

static void
feed(const struct bytes *bytes)
{
	/* an allocation of the exact size, so that a sanitizer detects reads beyond its end */
	uint8_t *data = malloc(bytes->size > 0 ? bytes->size : 1);
	require(data != NULL, "memory is available");
	if (bytes->size > 0)
		memcpy(data, bytes->data, bytes->size);
	alarm(SECONDS_MAX);
	LLVMFuzzerTestOneInput(data, bytes->size);
	alarm(0);
	free(data);
}

/* ---- inputs ---- */

static int
read_input(const char *path)
{
	FILE *file = fopen(path, "rbe");
	struct bytes bytes = {.data = malloc(SIZE_MAX_READ), .room = SIZE_MAX_READ};
	struct input *grown = realloc(inputs, (input_count + 1) * sizeof(*inputs));
	if (grown != NULL)
		inputs = grown;
	if (file == NULL || bytes.data == NULL || grown == NULL) {
		perror(path);
		return 0;
	}
	bytes.size = fread(bytes.data, 1, SIZE_MAX_READ, file);
	fclose(file);
	uint8_t *fitting = realloc(bytes.data, bytes.size + 1);
	bytes.data = fitting != NULL ? fitting : bytes.data;
	inputs[input_count++] = (struct input){strdup(path), bytes};
	return 1;
}

static int
is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/** Read a file, or all files of a directory by name. Mutations depend on this order. */
static int
read_inputs(const char *path)
{
	struct stat st;
	struct dirent **entries;
	char name[4096];
	int is_good = 1;
	if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
		return read_input(path);
	int count = scandir(path, &entries, is_shown, alphasort);
	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%s/%s", path, entries[i]->d_name);
		is_good &= read_input(name);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	return is_good && count > 0;
}

static void
forget_inputs(void)
{
	for (size_t i = 0; i < input_count; i++) {
		free(inputs[i].path);
		free(inputs[i].bytes.data);
	}
	free(inputs);
	dictionary_destroy(&dictionary);
}

/* ---- runs ---- */

static int
save_input(const struct bytes *bytes)
{
	FILE *file = fopen(save, "wbe");
	if (file == NULL || fwrite(bytes->data, 1, bytes->size, file) != bytes->size ||
		fclose(file) != 0) {
		perror(save);
		return 0;
	}
	return 1;
}

/** Run mutation number `index`. The inputs take turns. */
static int
feed_mutation(long index)
{
	static uint8_t room[2 * SIZE_MAX_READ];
	struct rng rng;
	uint64_t state = seed;
	const struct input *input = &inputs[(size_t)index % input_count];
	struct bytes bytes = {room, input->bytes.size, sizeof(room)};
	rng_create(&rng, splitmix64_next(&state) + (uint64_t)index);
	memcpy(room, input->bytes.data, bytes.size);
	mutate(&bytes, &inputs[rng_below(&rng, input_count)].bytes, &dictionary, &rng);
	snprintf(now, sizeof(now),
		"a mutation of %.300s crashed; repeat with --seed=%llu --only=%ld\n",
		input->path, seed, index);
	if (save != NULL && !save_input(&bytes))
		return 0;
	feed(&bytes);
	return 1;
}

static int
feed_all(void)
{
	long last = mutations * (long)input_count;
	if (only != NO_INDEX)
		return feed_mutation(only);
	for (size_t i = 0; i < input_count && mutations == 0; i++) {
		printf("%s: %zu bytes\n", inputs[i].path, inputs[i].bytes.size);
		snprintf(now, sizeof(now), "%.400s crashed\n", inputs[i].path);
		feed(&inputs[i].bytes);
	}
	for (long i = 0; i < last; i++) {
		if (!feed_mutation(i))
			return 0;
	}
	if (mutations > 0)
		printf("%ld mutations, seed %llu\n", last, seed);
	return 1;
}

/** Parse the arguments. False: invalid. */
static int
read_words(int argc, char **argv)
{
	enum { MUTATE, SEED, DICT, ONLY, SAVE };
	static const struct option names[] = {{"mutate", required_argument, NULL, MUTATE},
		{"seed", required_argument, NULL, SEED},
		{"dict", required_argument, NULL, DICT},
		{"only", required_argument, NULL, ONLY},
		{"save", required_argument, NULL, SAVE}, {NULL, 0, NULL, 0}};
	int is_good = 1;
	for (int option; is_good && (option = getopt_long(argc, argv, "", names, NULL)) >= 0;) {
		if (option == MUTATE)
			mutations = strtol(optarg, NULL, 10);
		else if (option == SEED)
			seed = strtoull(optarg, NULL, 10);
		else if (option == ONLY)
			only = strtol(optarg, NULL, 10);
		else if (option == SAVE)
			save = optarg;
		else
			is_good = option == DICT && dictionary_read(&dictionary, optarg);
	}
	for (int i = optind; i < argc && is_good; i++)
		is_good = read_inputs(argv[i]);
	/* a call without inputs is a mistake */
	return is_good && input_count > 0 && mutations >= 0 && only >= NO_INDEX;
}

int
main(int argc, char **argv)
{
	int is_good = read_words(argc, argv);
	if (is_good) {
		watch();
		is_good = feed_all();
	} else {
		fprintf(stderr,
			"usage: %s [--mutate=COUNT] [--seed=SEED] [--dict=FILE] "
			"[--only=INDEX [--save=FILE]] INPUT|DIRECTORY...\n",
			argv[0]);
	}
	forget_inputs();
	return !is_good;
}
