/* SPDX-License-Identifier: BSD-2-Clause */
/* The contract suite itself: it finds every known defect and reports no others. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mininb/mininb.h>

#include "broken.h"
#include "fitted.h"
#include "../unit.h"

static struct nb_engine_ref *memory_ref;
static const struct nb_engine *memory;
static char scratch[64];

/* The finding of the suite on the tested promise. */
struct seen {
	int outcome;
	uint32_t step_count;
	char text[512];
	char steps[8192];
};

void
unit_setup(void)
{
	ck_assert_msg(nb_engine_load(&memory_ref, "memory") == NB_OK, "%s", nb_error_text());
	memory = nb_engine_table(memory_ref);
	strcpy(scratch, "/tmp/test_contract_XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(scratch));
}

void
unit_teardown(void)
{
	ck_assert_msg(rmdir(scratch) == 0, "the suite left files in %s", scratch);
	nb_engine_unload(memory_ref);
}

static void
see(void *to, const struct nb_check_finding *finding)
{
	struct seen *seen = to;
	seen->outcome = (int)finding->outcome;
	seen->step_count = finding->step_count;
	snprintf(seen->text, sizeof(seen->text), "%s", finding->text);
	snprintf(seen->steps, sizeof(seen->steps), "%s", finding->steps);
}

static size_t
index_of(const char *promise)
{
	size_t at = 0;
	while (at < nb_check_count() && strcmp(nb_check_name(at), promise) != 0)
		at++;
	ck_assert_msg(at < nb_check_count(), "no promise is named %s", promise);
	return at;
}

static void
check_one(struct seen *seen, const struct nb_engine *engine, const char *promise)
{
	struct nb_check_args args = NB_CHECK_ARGS_INIT;
	args.engine = engine;
	args.scratch = scratch;
	memset(seen, 0, sizeof(*seen));
	int outcome = nb_check_one(&args, index_of(promise), see, seen);
	fitted_reset();
	ck_assert_int_eq(outcome, seen->outcome);
}

/** `memory` with the named defect. */
static const struct nb_engine *
engine_with(const char *defect)
{
	for (size_t i = 0; broken_defect(i) != NULL; i++)
		if (strcmp(broken_defect(i)->name, defect) == 0)
			return broken_engine(memory, broken_defect(i));
	ck_abort_msg("no defect %s", defect);
}

TEST_EACH(each_defect_is_detected, broken_count())
{
	struct seen seen;
	const struct defect *defect = broken_defect((size_t)_i);
	check_one(&seen, broken_engine(memory, defect), defect->promise);
	ck_assert_msg(seen.outcome == NB_CHECK_BROKEN, "%s: %s is not reported as broken (%s)",
		defect->name, defect->promise, seen.text);
	ck_assert_msg(seen.text[0] != '\0', "%s: no text", defect->name);
}

/* Tables of options, a synthetic engine and printing verbs break these promises: see below. */
static const char *const broken_otherwise[] = {"options_have_names_types_and_help",
	"choices_of_options_are_well_formed", "defaults_of_options_are_allowed_values",
	"synthetic_get_lends_value_size_bytes", "prints_nothing_on_standard_output"};

static bool
is_broken_otherwise(const char *promise)
{
	for (size_t i = 0; i < UNIT_COUNT(broken_otherwise); i++)
		if (strcmp(broken_otherwise[i], promise) == 0)
			return true;
	return false;
}

/* A correct engine keeps each promise; no promise is skipped as not applicable. */
TEST_EACH(without_a_defect_each_promise_is_kept, nb_check_count())
{
	struct seen seen;
	const char *promise = nb_check_name((size_t)_i);
	check_one(&seen, fitted_engine(memory), promise);
	ck_assert_msg(is_broken_otherwise(promise) || seen.outcome == NB_CHECK_KEPT, "%s: %s",
		promise, seen.text);
}

TEST(each_promise_has_a_defect_that_breaks_it)
{
	for (size_t p = 0; p < nb_check_count(); p++) {
		const char *promise = nb_check_name(p);
		size_t i = 0;
		while (broken_defect(i) != NULL &&
			strcmp(broken_defect(i)->promise, promise) != 0)
			i++;
		ck_assert_msg(broken_defect(i) != NULL || is_broken_otherwise(promise),
			"no defect breaks %s: it may be a check that cannot fail", promise);
	}
}

GET(get_three_bytes)
{
	*value = (struct nb_slice){"abc", 3};
	return NB_OK;
}

TEST(synthetic_engine_lends_values_of_the_announced_size)
{
	struct seen seen;
	struct nb_engine_ref *ref;
	ck_assert_int_eq(nb_engine_load(&ref, "null"), NB_OK);
	struct nb_engine null = *nb_engine_table(ref);
	check_one(&seen, &null, "synthetic_get_lends_value_size_bytes");
	ck_assert_int_eq(seen.outcome, NB_CHECK_KEPT);
	null.get = get_three_bytes;
	check_one(&seen, &null, "synthetic_get_lends_value_size_bytes");
	ck_assert_int_eq(seen.outcome, NB_CHECK_BROKEN);
	nb_engine_unload(ref);
}

/*
 * Defects that random operations find, with the length of the shortest sequence that shows
 * each.
 */
static const struct {
	const char *defect;
	uint32_t most;    /* maximum number of operations */
	const char *last; /* the last operation of the sequence */
} shrunk[] = {
	{"del_does_nothing", 3, "get"},       /* put, del, get */
	{"put_does_not_overwrite", 3, "get"}, /* put, put, get */
	{"get_finds_what_is_missing", 1, "get"},
	{"keys_are_c_strings", 2, NULL},        /* put, then get of another key */
	{"put_takes_empty_for_none", 2, "get"}, /* put, get */
	/* the longest; a sanitizer finds nothing in it that the others do not show */
	{"put_loses_each_hundredth", 101, "get"},
};

TEST_EACH(sequence_is_shrunk_to_the_necessary_steps, UNIT_COUNT(shrunk) - (UNIT_STEP > 1))
{
	struct seen seen;
	const struct nb_engine *engine = engine_with(shrunk[_i].defect);
	check_one(&seen, engine, "random_puts_gets_deletes_answer_as_the_oracle");
	ck_assert_int_eq(seen.outcome, NB_CHECK_BROKEN);
	ck_assert_uint_ge(seen.step_count, 1);
	ck_assert_msg(seen.step_count <= shrunk[_i].most, "%s took %u operations:\n%s",
		shrunk[_i].defect, (unsigned)seen.step_count, seen.steps);
	size_t lines = 0;
	for (const char *at = seen.steps; (at = strchr(at, '\n')) != NULL; at++)
		lines++;
	ck_assert_uint_eq(lines, seen.step_count);
	if (shrunk[_i].last == NULL)
		return;
	char *end = strrchr(seen.steps, '\n');
	*end = '\0';
	const char *line = strrchr(seen.steps, '\n');
	line = line == NULL ? seen.steps : line + 1;
	ck_assert_msg(strncmp(line, shrunk[_i].last, strlen(shrunk[_i].last)) == 0,
		"it ends with '%s'", line);
}

static const char *const found_by_every_verb[] = {"insert_overwrites", "batch_goes_backward",
	"multi_get_repeats_a_value", "scan_skips_a_key", "scan_begins_too_late",
	"scan_ignores_backward", "nothing_outlives_close", "merge_needs_a_number",
	"execute_inserts_over", "execute_reads_before_it_writes", "execute_skips_nothing",
	"execute_puts_what_is_older", "execute_takes_a_prefix_for_a_key"};

TEST_EACH(random_use_of_every_verb_finds_defects_quickly, UNIT_COUNT(found_by_every_verb))
{
	struct seen seen;
	const struct nb_engine *engine = engine_with(found_by_every_verb[_i]);
	check_one(&seen, engine, "random_use_of_every_verb_answers_as_the_oracle");
	ck_assert_int_eq(seen.outcome, NB_CHECK_BROKEN);
	ck_assert_msg(seen.step_count >= 1 && seen.step_count <= 8,
		"%s took %u operations:\n%s", found_by_every_verb[_i],
		(unsigned)seen.step_count, seen.steps);
}

TEST(equal_seeds_find_equal_sequences)
{
	struct seen one, two;
	const struct nb_engine *engine = engine_with("del_does_nothing");
	check_one(&one, engine, "random_puts_gets_deletes_answer_as_the_oracle");
	check_one(&two, engine, "random_puts_gets_deletes_answer_as_the_oracle");
	ck_assert_str_eq(one.steps, two.steps);
	ck_assert_str_eq(one.text, two.text);
}

/* One store for all databases, as on a server. */
OPEN(open_server)
{
	struct nb_open_args changed = *args;
	changed.path = "server";
	changed.flags |= NB_OPEN_CREATE;
	return broken_right->open(out, &changed);
}

static int
reset_nothing(struct nb_db *db)
{
	return NB_OK;
}

TEST(new_database_of_a_server_is_reset)
{
	static const char *const promises[] = {"put_is_found", "missing_key_is_not_found",
		"databases_are_apart", "scan_of_an_empty_database_is_at_its_end",
		"random_use_of_every_verb_answers_as_the_oracle"};
	struct nb_engine server = *engine_with("del_does_nothing");
	struct nb_check_args args = NB_CHECK_ARGS_INIT;
	args.engine = &server;
	args.scratch = scratch;
	args.servers = "localhost:1";
	server = *broken_right;
	server.open = open_server;
	server.caps = (server.caps | NB_CAP_REMOTE) & ~NB_CAP_PERSISTENT;
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < UNIT_COUNT(promises); i++) {
			struct seen seen;
			int outcome = nb_check_one(&args, index_of(promises[i]), see, &seen);
			ck_assert_msg(
				outcome == NB_CHECK_KEPT, "%s: %s", promises[i], seen.text);
		}
	ck_assert_int_eq(nb_check_one(&args, index_of("put_is_found"), see, &(struct seen){0}),
		NB_CHECK_KEPT);
	server.reset = reset_nothing;
	ck_assert_int_eq(
		nb_check_one(
			&args, index_of("scan_of_an_empty_database_is_at_its_end"), NULL, NULL),
		NB_CHECK_BROKEN);
	fitted_reset();
}

TEST(missing_parts_are_named)
{
	struct seen seen;
	struct nb_engine poor = *memory;
	poor.batch = NULL;
	poor.caps &= ~(NB_CAP_CONCURRENT | NB_CAP_ATOMIC_BATCH);
	check_one(&seen, &poor, "batch_is_applied_in_order");
	ck_assert_int_eq(seen.outcome, NB_CHECK_NOT_APPLICABLE);
	ck_assert_ptr_nonnull(strstr(seen.text, "batch"));
	check_one(&seen, &poor, "ranges_written_in_parallel_read_back");
	ck_assert_int_eq(seen.outcome, NB_CHECK_NOT_APPLICABLE);
	ck_assert_ptr_nonnull(strstr(seen.text, "concurrent"));
}

TEST(missing_mandatory_verb_breaks_without_a_crash)
{
	struct seen seen;
	struct nb_engine poor = *memory;
	poor.get = NULL;
	check_one(&seen, &poor, "put_is_found");
	ck_assert_int_eq(seen.outcome, NB_CHECK_BROKEN);
	ck_assert_ptr_nonnull(strstr(seen.text, "get"));
}

static const struct nb_option bad_options[][3] = {
	{{.name = "Map Size", .help = "x", .type = NB_OPT_BYTES}},
	{{.name = "a", .help = "x"}, {.name = "a", .help = "x"}},
	{{.name = "a", .type = NB_OPT_U64}},
	{{.name = "a", .help = "x", .type = 77}},
	{{.name = "a", .help = "x", .type = NB_OPT_CHOICE}},
	{{.name = "a", .help = "x", .type = NB_OPT_CHOICE, .choices = "none||snappy"}},
	{{.name = "a", .help = "x", .type = NB_OPT_CHOICE, .choices = "x|y", .def = "z"}},
	{{.name = "a", .help = "x", .type = NB_OPT_BYTES, .def = "4KiX"}},
	{{.name = "a",
		.help = "x",
		.type = NB_OPT_BYTES,
		.def = "4KiB",
		.min = 1,
		.max = 4095}},
	{{.name = "a", .help = "x", .type = NB_OPT_BOOL, .def = "perhaps"}},
	{{.name = "a", .help = "x", .type = NB_OPT_U64, .min = 2, .max = 1}},
};

static const char *const option_promises[] = {"options_have_names_types_and_help",
	"choices_of_options_are_well_formed", "defaults_of_options_are_allowed_values"};

TEST_EACH(bad_option_table_is_detected, UNIT_COUNT(bad_options))
{
	struct seen seen;
	struct nb_engine engine = *memory;
	int broken = 0;
	engine.options = bad_options[_i];
	for (size_t i = 0; i < 3; i++) {
		check_one(&seen, &engine, option_promises[i]);
		broken += seen.outcome == NB_CHECK_BROKEN;
	}
	ck_assert_int_ge(broken, 1);
}

TEST(good_option_table_is_not_broken)
{
	static const struct nb_option good[] = {
		{.name = "a", .help = "x", .type = NB_OPT_BYTES, .def = "4KiB", .max = 4096},
		{.name = "b",
			.help = "x",
			.type = NB_OPT_CHOICE,
			.choices = "none|lz4",
			.def = "lz4"},
		{.name = "c", .help = "x", .type = NB_OPT_BOOL, .def = "1", .max = 1},
		{.name = "d_e", .help = "x", .type = NB_OPT_TIME, .def = "10ms"},
		{.name = "f", .help = "x", .type = NB_OPT_REAL, .def = "0.5"},
		{.name = "g", .help = "x", .type = NB_OPT_TEXT},
		{.name = NULL},
	};
	struct seen seen;
	struct nb_engine engine = *memory;
	engine.options = good;
	for (size_t i = 0; i < 3; i++) {
		check_one(&seen, &engine, option_promises[i]);
		ck_assert_msg(seen.outcome == NB_CHECK_KEPT, "%s", seen.text);
	}
}

/* --- one process for each promise --- */

PUT(put_crashing)
{
	raise(SIGKILL);
	return NB_OK;
}

PUT(put_exiting)
{
	exit(0);
}

PUT(put_hanging)
{
	while (pause() != 0)
		continue;
	return NB_OK;
}

static void
exit_badly(void)
{
	_exit(77);
}

static int
close_leaving_a_trap(struct nb_db *db)
{
	atexit(exit_badly);
	return memory->close(db);
}

static int
close_aborting(struct nb_db *db)
{
	abort();
}

static struct nb_check_args
args_of(const struct nb_engine *engine)
{
	struct nb_check_args args = NB_CHECK_ARGS_INIT;
	args.engine = engine;
	args.scratch = scratch;
	return args;
}

static struct seen
seen_apart(const struct nb_engine *engine, const char *promise, int outcome)
{
	struct seen seen;
	struct nb_check_args args = args_of(engine);
	ck_assert_int_eq(nb_check_apart(&args, index_of(promise), see, &seen), NB_OK);
	ck_assert_msg(seen.outcome == outcome, "%s: %s", promise, seen.text);
	return seen;
}

TEST(check_in_a_separate_process_finds_the_same)
{
	for (int i = 0; i < 2; i++) {
		struct seen here, apart;
		const struct nb_engine *engine = i == 0 ? memory
							: engine_with("del_does_nothing");
		const char *promise = "random_puts_gets_deletes_answer_as_the_oracle";
		check_one(&here, engine, promise);
		struct nb_check_args args = args_of(engine);
		memset(&apart, 0, sizeof(apart));
		ck_assert_int_eq(nb_check_apart(&args, index_of(promise), see, &apart), NB_OK);
		ck_assert_int_eq(apart.outcome, i == 0 ? NB_CHECK_KEPT : NB_CHECK_BROKEN);
		ck_assert_int_eq(apart.outcome, here.outcome);
		ck_assert_str_eq(apart.text, here.text);
		ck_assert_str_eq(apart.steps, here.steps);
	}
}

TEST(end_of_the_process_breaks_the_promise)
{
	static const struct {
		int (*put)(struct nb_session *, struct nb_slice, struct nb_slice);
		int (*close)(struct nb_db *);
		const char *told;
	} ends[] = {
		{put_crashing, NULL, "SIGKILL in put (key key, 8 bytes), worker 0"},
		{NULL, close_aborting, "SIGABRT in close"},
		{put_exiting, NULL, "a call of exit() in put (key key, 8 bytes), worker 0: "},
		{put_hanging, NULL,
			"it hangs: put (key key, 8 bytes), worker 0: has not returned for "},
		{NULL, close_leaving_a_trap, "ended with status 77, after the check"},
	};
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		struct seen seen;
		struct nb_engine engine = *memory;
		if (ends[i].put != NULL)
			engine.put = ends[i].put;
		if (ends[i].close != NULL)
			engine.close = ends[i].close;
		struct nb_check_args args = args_of(&engine);
		if (ends[i].put == put_hanging)
			args.timeout_ns = 2000000000; /* the process may start late */
		ck_assert_int_eq(
			nb_check_apart(&args, index_of("put_is_found"), see, &seen), NB_OK);
		ck_assert_int_eq(seen.outcome, NB_CHECK_BROKEN);
		ck_assert_msg(strstr(seen.text, ends[i].told) != NULL, "'%s' is not in: %s",
			ends[i].told, seen.text);
	}
} /* and teardown checks that the scratch directory is empty */

/* put drops every 40th record of the process; del crashes at its second call. */
static uint64_t puts_of_the_process, dels_of_the_process;

PUT(put_counted)
{
	return ++puts_of_the_process % 40 == 0 ? NB_OK : memory->put(session, key, value);
}

DEL(del_crashing)
{
	if (++dels_of_the_process == 2)
		raise(SIGKILL);
	return memory->del(session, key);
}

TEST(defect_with_state_in_the_process_is_reproduced_and_shrunk)
{
	struct seen seen;
	struct nb_engine engine = *memory;
	engine.put = put_counted;
	seen = seen_apart(
		&engine, "random_puts_gets_deletes_answer_as_the_oracle", NB_CHECK_BROKEN);
	ck_assert_ptr_null(strstr(seen.text, "did not show again"));
	ck_assert_msg(seen.step_count <= 41, "%u operations", (unsigned)seen.step_count);
}

TEST(sequence_that_crashes_is_shrunk)
{
	struct seen seen;
	struct nb_engine engine = *memory;
	engine.del = del_crashing;
	seen = seen_apart(
		&engine, "random_puts_gets_deletes_answer_as_the_oracle", NB_CHECK_BROKEN);
	ck_assert_msg(strstr(seen.text, "SIGKILL in del (key ") != NULL, "%s", seen.text);
	ck_assert_str_eq(seen.steps, "del \"a\"\ndel \"b\"\n");
}

/* --- printing --- */

OPEN(open_printing)
{
	printf("hello\n\x1b[31m");
	return memory->open(out, args);
}

PUT(put_printing_of_long_keys)
{
	if (key.size > 10000 && write(STDOUT_FILENO, "a long key", 10) != 10)
		return NB_FAIL;
	return memory->put(session, key, value);
}

TEST(engine_that_prints_breaks_one_promise)
{
	struct seen seen;
	struct nb_engine engine = *memory;
	engine.open = open_printing;
	seen = seen_apart(&engine, "prints_nothing_on_standard_output", NB_CHECK_BROKEN);
	ck_assert_str_eq(seen.text, "it printed on standard output: \"hello\\n\\x1b[31m\"");
	seen_apart(&engine, "put_is_found", NB_CHECK_KEPT);
	seen_apart(memory, "prints_nothing_on_standard_output", NB_CHECK_KEPT);
}

TEST(engine_that_prints_rarely_breaks_the_promise_during_which_it_prints)
{
	struct seen seen;
	struct nb_engine engine = *memory;
	engine.put = put_printing_of_long_keys;
	seen = seen_apart(&engine, "key_of_the_greatest_size_is_kept", NB_CHECK_BROKEN);
	ck_assert_ptr_nonnull(strstr(seen.text, "a long key"));
}

/* --- sequences that random operations find, reduced to the shortest --- */

/* The expected steps of the reduced sequence. */
static const struct {
	const char *defect, *steps;
} plain[] = {
	{"values_of_10000_are_cut", "put \"a\" = 10000 bytes\nget \"a\"\n"},
	{"keys_of_100_are_cut", NULL},
	{"del_does_nothing", "put \"a\" = 8 bytes\ndel \"a\"\nget \"a\"\n"},
};

TEST_EACH(sequence_has_plain_keys_and_the_shortest_value, UNIT_COUNT(plain))
{
	struct seen seen;
	const struct nb_engine *engine = engine_with(plain[_i].defect);
	check_one(&seen, engine, "random_puts_gets_deletes_answer_as_the_oracle");
	ck_assert_int_eq(seen.outcome, NB_CHECK_BROKEN);
	if (plain[_i].steps != NULL)
		ck_assert_str_eq(seen.steps, plain[_i].steps);
	else
		ck_assert_ptr_nonnull(strstr(seen.steps, "... (100 bytes)\n") != NULL
				? seen.steps
				: strstr(seen.steps, "(100 bytes)"));
}

TEST_EACH(first_broken_promise_names_a_bad_delete, 2)
{
	static const char *const defects[] = {"del_does_nothing", "del_leaves_short_keys"};
	struct seen seen = {.outcome = NB_CHECK_KEPT};
	size_t at = 0;
	const struct nb_engine *engine = engine_with(defects[_i]);
	while (seen.outcome != NB_CHECK_BROKEN && at < nb_check_count())
		check_one(&seen, engine, nb_check_name(at++));
	ck_assert_int_eq(seen.outcome, NB_CHECK_BROKEN);
	ck_assert_msg(strstr(nb_check_name(at - 1), "delete") != NULL, "%s: %s",
		nb_check_name(at - 1), seen.text);
	/* A promise that breaks as a consequence names the cause. */
	check_one(&seen, engine, "scan_of_an_empty_database_is_at_its_end");
	ck_assert_int_eq(seen.outcome, _i == 0 ? NB_CHECK_BROKEN : seen.outcome);
	if (seen.outcome == NB_CHECK_BROKEN)
		ck_assert_msg(strstr(seen.text, "after del") != NULL, "%s", seen.text);
}

TEST(stop_ends_a_check_that_hangs)
{
	struct nb_engine engine = *memory;
	engine.put = put_hanging;
	struct nb_check_args args = args_of(&engine);
	nb_stop();
	int rc = nb_check_apart(&args, index_of("put_is_found"), NULL, NULL);
	nb_stop_clear();
	ck_assert_int_eq(rc, NB_ERR_INTERRUPTED);
}

TEST(missing_scratch_directory_is_a_failure)
{
	struct nb_check_args args = args_of(memory);
	args.scratch = "/nowhere";
	ck_assert_int_eq(nb_check_apart(&args, 0, NULL, NULL), NB_FAIL);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "/nowhere"));
}

TEST(names_of_promises_are_sentences_and_differ)
{
	for (size_t i = 0; i < nb_check_count(); i++) {
		const char *name = nb_check_name(i);
		ck_assert_uint_eq(
			strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_"), strlen(name));
		for (size_t j = 0; j < i; j++)
			ck_assert_str_ne(name, nb_check_name(j));
	}
}
