/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The contract suite on one engine, as TAP:
 *
 *     run_contract ENGINE [NAME=VALUE...]
 *
 * ENGINE is a name or, with a '/', a path, as nb_engine_load() takes it. The
 * oracle is always `memory`. Databases are made under $TMPDIR, or /tmp, and
 * removed again. $MININB_CONTRACT_SEED gives another seed than the fixed one.
 *
 * Each promise is checked in a process of its own, so an engine that crashes or
 * hangs has broken that promise and the next are checked all the same.
 */
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mininb/mininb.h>

#include "contract.h"

enum { DEFAULT_SEED = 1, HANGS_AFTER_S = 240 };

static int
give_up(const char *what)
{
	printf("Bail out! %s: %s\n", what, nb_error_text());
	return EXIT_FAILURE;
}

/* Each line as a diagnostic. */
static void
print_lines(const char *text, const char *indent)
{
	while (*text != '\0') {
		size_t length = strcspn(text, "\n");
		printf("# %s%.*s\n", indent, (int)length, text);
		text += length + (text[length] == '\n');
	}
}

static void
print_finding(void *to, const struct contract_finding *finding)
{
	(void)to;
	printf("%s %zu %s", finding->outcome == CONTRACT_BROKEN ? "not ok" : "ok",
		finding->index + 1, finding->promise);
	if (finding->outcome == CONTRACT_NOT_APPLICABLE)
		printf(" # SKIP %s", finding->text);
	printf("\n");
	if (finding->outcome == CONTRACT_BROKEN) {
		print_lines(finding->text, "");
		if (finding->step_count != 0)
			printf("# the shortest sequence of operations that shows it, of %u:\n",
				(unsigned)finding->step_count);
		print_lines(finding->steps, "  ");
	}
}

static int
remove_below(const char *path, const struct stat *info, int type, struct FTW *at)
{
	(void)info;
	(void)type;
	return at->level == 0 ? 0 : remove(path);
}

/* The suite removes what it makes, but one that crashed could not. */
static void
empty(const char *scratch)
{
	nftw(scratch, remove_below, 16, FTW_DEPTH | FTW_PHYS);
}

/* A promise in a process of its own. Returns whether it is broken. */
static int
check_apart(const struct contract_args *args, size_t index)
{
	fflush(stdout); /* or the child would say it again */
	pid_t pid = fork();
	if (pid == 0) {
		alarm(HANGS_AFTER_S);
		exit(contract_check(args, index, print_finding, NULL) == CONTRACT_BROKEN);
	}
	int status = 0;
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		printf("Bail out! cannot run a process: %s\n", strerror(errno));
		exit(EXIT_FAILURE);
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) <= 1)
		return WEXITSTATUS(status);
	printf("not ok %zu %s\n", index + 1, contract_name(index));
	if (WIFSIGNALED(status))
		printf("# the process was ended by signal %d (%s)\n", WTERMSIG(status),
			WTERMSIG(status) == SIGALRM ? "it hangs" : strsignal(WTERMSIG(status)));
	else
		printf("# the process ended with status %d\n", WEXITSTATUS(status));
	return 1;
}

static int
run(const struct nb_engine *engine, const struct nb_engine *oracle, const char *const *texts,
	size_t text_count, const char *scratch)
{
	const char *seed = getenv("MININB_CONTRACT_SEED");
	struct contract_args args = {.engine = engine,
		.oracle = oracle,
		.host = nb_engine_host(),
		.scratch = scratch,
		.seed = seed == NULL ? DEFAULT_SEED : strtoull(seed, NULL, 0)};
	struct nb_option_value *options = NULL, *oracle_options = NULL;
	if (nb_options_parse(&options, engine, texts, text_count) != NB_OK)
		return give_up("options");
	if (nb_options_parse(&oracle_options, oracle, NULL, 0) != NB_OK) {
		nb_options_delete(options, engine);
		return give_up("options of the oracle");
	}
	args.options = options;
	args.oracle_options = oracle_options;
	printf("1..%zu\n", contract_count());
	printf("# %s %s, seed %llu\n", engine->name, engine->version(),
		(unsigned long long)args.seed);
	size_t broken = 0;
	for (size_t i = 0; i < contract_count(); i++) {
		broken += (size_t)check_apart(&args, i);
		empty(scratch);
	}
	nb_options_delete(oracle_options, oracle);
	nb_options_delete(options, engine);
	return broken == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int
run_in_scratch(const struct nb_engine *engine, const struct nb_engine *oracle,
	const char *const *texts, size_t text_count)
{
	char scratch[512];
	const char *tmp = getenv("TMPDIR");
	snprintf(scratch, sizeof(scratch), "%s/mininb-contract-XXXXXX",
		tmp == NULL ? "/tmp" : tmp);
	if (mkdtemp(scratch) == NULL) {
		printf("Bail out! cannot make %s\n", scratch);
		return EXIT_FAILURE;
	}
	int status = run(engine, oracle, texts, text_count, scratch);
	if (rmdir(scratch) != 0) {
		printf("# %s could not be removed: something is left in it\n", scratch);
		status = EXIT_FAILURE;
	}
	return status;
}

int
main(int argc, char **argv)
{
	struct nb_engine_ref *engine = NULL, *oracle = NULL;
	if (argc < 2) {
		fprintf(stderr, "usage: %s ENGINE [NAME=VALUE...]\n", argv[0]);
		return 2;
	}
	if (nb_engine_load(&engine, argv[1]) != NB_OK)
		return give_up(argv[1]);
	int status = EXIT_FAILURE;
	if (nb_engine_load(&oracle, "memory") != NB_OK)
		give_up("memory");
	else
		status = run_in_scratch(nb_engine_table(engine), nb_engine_table(oracle),
			(const char *const *)(argv + 2), (size_t)argc - 2);
	nb_engine_unload(oracle);
	nb_engine_unload(engine);
	return status;
}
