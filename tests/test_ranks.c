/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ranks that execute one run together: begin and end, the rank that a failure names, and the
 * merged result.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/histogram.h"
#include "ranks/ranks.h"
#include "record_rig.h"
#include "scratch.h"
#include "unit.h"

enum { RANKS = 3 };

/* ---- a link within the process: the ranks are polled in turn ---- */

struct letter {
	struct letter *next;
	uint32_t from, to;
	size_t size;
	void *bytes;
};

static struct nb_ranks *members[RANKS];
static struct letter *letters;
static uint32_t current;    /* the rank that makes the current calls */
static bool are_polled_too; /* other ranks go on while rank 0 waits */
static int aborted_with;

static int
send_letter(uint32_t to, const void *bytes, size_t size)
{
	struct letter *letter = calloc(1, sizeof(*letter)), **end = &letters;
	*letter = (struct letter){
		.from = current, .to = to, .size = size, .bytes = malloc(size)};
	memcpy(letter->bytes, bytes, size);
	while (*end != NULL)
		end = &(*end)->next;
	*end = letter;
	return 0;
}

static void
poll_as(uint32_t rank)
{
	uint32_t before = current;
	current = rank;
	nb_ranks_poll(members[rank]);
	current = before;
}

static int
receive_letter(uint32_t *from, void **bytes, size_t *size)
{
	for (struct letter **at = &letters; *at != NULL; at = &(*at)->next) {
		struct letter *letter = *at;
		if (letter->to != current)
			continue;
		*at = letter->next;
		*from = letter->from;
		*bytes = letter->bytes;
		*size = letter->size;
		free(letter);
		return 1;
	}
	for (uint32_t k = 1; current == 0 && are_polled_too && k < RANKS; k++)
		poll_as(k);
	return 0;
}

static size_t
nothing_pending(void)
{
	return 0;
}

static void
close_nothing(void)
{
}

static void
note_abort(int status)
{
	aborted_with = status;
}

static const struct link_calls link_of_test = {.abi = LINK_ABI,
	.send = send_letter,
	.receive = receive_letter,
	.leave = close_nothing,
	.pending = nothing_pending,
	.close = close_nothing,
	.abort = note_abort};

static void
begin(void)
{
	for (uint32_t k = 0; k < RANKS; k++) {
		struct nb_ranks *ranks = calloc(1, sizeof(*ranks));
		uint32_t known = k == 0 ? RANKS : 1;
		*ranks = (struct nb_ranks){.link = &link_of_test,
			.own = k,
			.count = RANKS,
			.silence_ns = UINT64_C(60000000000),
			.of = calloc(known, sizeof(*ranks->of))};
		for (uint32_t i = 0; i < known; i++) {
			snprintf(ranks->of[i].host, HOST_SIZE, "host%u", i);
			ranks->of[i].heard_ns = clock_monotonic();
		}
		members[k] = ranks;
	}
	current = 0;
	are_polled_too = false;
	aborted_with = 0;
}

static void
end(void)
{
	are_polled_too = false;
	/* rank 0 waits for the others, so it leaves last */
	for (uint32_t k = 0; k < RANKS; k++) {
		current = (k + 1) % RANKS;
		nb_ranks_leave(members[current], 0);
	}
	while (letters != NULL) {
		struct letter *next = letters->next;
		free(letters->bytes);
		free(letters);
		letters = next;
	}
}

static void
ready(uint32_t rank)
{
	current = rank;
	nb_ranks_ready(members[rank]);
	current = 0;
}

static void
ends(uint32_t rank, int status, const char *how)
{
	current = rank;
	ck_assert_int_eq(nb_ranks_tell_end(members[rank], status, how, NULL, 0), 0);
	current = 0;
}

static void
poll_all(void)
{
	for (uint32_t k = 0; k < RANKS; k++)
		poll_as(k);
}

/* ---- begin and end ---- */

TEST(all_ranks_begin_together_when_the_last_is_ready)
{
	begin();
	ready(0);
	ready(2);
	poll_all();
	ck_assert_uint_eq(nb_ranks_start_ns(members[0]), 0);
	ready(1);
	are_polled_too = true;
	uint64_t before_ns = clock_real_ns();
	poll_all();
	uint64_t start_ns = nb_ranks_start_ns(members[0]);
	ck_assert_uint_gt(start_ns, before_ns);
	for (uint32_t k = 1; k < RANKS; k++) {
		const struct clock_offset *offset = &members[0]->of[k].before;
		ck_assert(offset->error_ns > 0);
		/* all ranks have the same clock, so the offset is at most the error */
		ck_assert(offset->ns <= offset->error_ns && -offset->ns <= offset->error_ns);
		ck_assert(nb_ranks_start_ns(members[k]) ==
			start_ns + (uint64_t)(int64_t)offset->ns);
	}
	end();
}

TEST(run_ends_when_the_last_rank_has_ended)
{
	begin();
	ends(0, 0, "");
	ends(2, 0, "");
	poll_all();
	ck_assert(!nb_ranks_is_over(members[0]));
	ends(1, 0, "");
	poll_all();
	ck_assert(nb_ranks_is_over(members[0]));
	ck_assert(!nb_ranks_is_over(members[1])); /* rank 0 has not written the result yet */
	ck_assert_ptr_null(nb_ranks_failure(members[0]));
	end();
	ck_assert_int_eq(aborted_with, 0);
}

TEST(the_first_failure_has_its_name_and_ends_the_run_of_all)
{
	begin();
	ends(2, 3, "wrong data");
	poll_all();
	poll_all();
	ck_assert(nb_ranks_is_stopping(members[0]) && nb_ranks_is_stopping(members[1]));
	ends(1, 130, "interrupted");
	ends(0, 130, "interrupted");
	poll_all();
	ck_assert_str_eq(nb_ranks_failure(members[0]), "rank 2 (host2): wrong data");
	ck_assert_int_eq(nb_ranks_status(members[0]), 3);
	ck_assert(nb_ranks_is_over(members[0]));
	end();
	ck_assert_int_eq(aborted_with, 0);
}

TEST(a_rank_that_is_silent_is_lost_and_the_launcher_ends_the_rest)
{
	begin();
	ends(0, 0, "");
	ends(1, 0, "");
	members[0]->of[2].heard_ns -= UINT64_C(61000000000);
	poll_as(0);
	poll_as(0);
	ck_assert(nb_ranks_is_over(members[0]));
	ck_assert(strstr(nb_ranks_failure(members[0]),
			  "rank 2 (host2): has not been heard from for 61.") != NULL);
	end();
	ck_assert_int_eq(aborted_with, 1);
}

static int told[2];

static void
never_close(void)
{
	for (;;)
		pause();
}

static void
tell_bye(void)
{
	ck_assert_int_eq(write(told[1], "bye", 3), 3);
}

TEST(launcher_is_informed_if_the_end_does_not_return)
{
	struct link_calls link = link_of_test;
	char text[4] = "";
	int status;
	link.close = never_close;
	link.leave = tell_bye;
	ck_assert_int_eq(pipe(told), 0);
	begin();
	pid_t child = fork();
	if (child == 0) {
		for (current = 1; current < RANKS; current++)
			nb_ranks_leave(members[current], 0);
		current = 0;
		members[0]->link = &link;
		nb_ranks_leave(members[0], 7);
		_exit(99);
	}
	close(told[1]);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 7);
	ck_assert_int_eq(read(told[0], text, 3), 3);
	ck_assert_str_eq(text, "bye");
	close(told[0]);
	end();
}

TEST(stopped_process_does_not_consider_others_dead)
{
	begin();
	poll_as(0);
	for (uint32_t k = 1; k < RANKS; k++)
		members[0]->of[k].heard_ns -= UINT64_C(100000000000);
	members[0]->polled_ns -= UINT64_C(100000000000);
	poll_as(0);
	ck_assert_ptr_null(nb_ranks_failure(members[0]));
	end();
}

TEST(a_rank_that_does_not_answer_a_stop_is_named)
{
	struct timespec answer = {.tv_nsec = 450 * 1000 * 1000};
	begin();
	poll_all();
	nb_ranks_stop(members[0]);
	poll_as(1);
	poll_as(0);
	ck_assert_ptr_null(nb_ranks_failure(members[0]));
	nanosleep(&answer, NULL);
	poll_as(0);
	ck_assert(strncmp(nb_ranks_failure(members[0]), "rank 2 (host2): did not answer",
			  strlen("rank 2 (host2): did not answer")) == 0);
	poll_as(2); /* the rank is slow, but alive */
	poll_as(0);
	ck_assert_ptr_null(nb_ranks_failure(members[0]));
	end();
}

/* ---- results ---- */

/** A shard's result file, as the child process of a rank writes it. */
static struct record *
give_result(struct nb_results **own, uint32_t rank, double scale)
{
	*own = record_rig_new();
	struct record *record = record_rig_add_job(*own, "leveldb", scale);
	snprintf(record->run->shard, sizeof(record->run->shard), "%u/%u", rank, RANKS);
	record->run->measured.begun_at_ns = UINT64_C(1000000000000);
	char *json = record_rig_written(*own, "json", 0);
	current = rank;
	ck_assert_int_eq(nb_ranks_tell_end(members[rank], 0, "", json, strlen(json)), 0);
	current = 0;
	free(json);
	return record;
}

TEST(merged_histograms_are_exact_sums_of_all_ranks)
{
	struct nb_results *owns[RANKS], *merged;
	struct nb_histogram *sum;
	begin();
	ck_assert_int_eq(nb_histogram_new(&sum), 0);
	for (uint32_t k = 0; k < RANKS; k++)
		nb_histogram_merge(sum, give_result(&owns[k], k, k + 1)->run->service);
	members[0]->of[2].before = (struct clock_offset){5e6, 2e3};
	poll_all();
	ck_assert_msg(nb_ranks_merge(&merged, members[0]) == 0, "%s", nb_error_text());
	const struct nb_result *run = merged->records[0].run;
	ck_assert_mem_eq(run->service->counts, sum->counts, sizeof(sum->counts));
	ck_assert_uint_eq(nb_histogram_max(run->service), nb_histogram_max(sum));
	ck_assert(!run->measured.is_partial);
	ck_assert_str_eq(run->shard, "");
	ck_assert_uint_eq(run->generator_count, RANKS);
	ck_assert_str_eq(run->generators[1].shard, "1/3");
	/* the clock of rank 2 is 5 ms ahead */
	ck_assert_uint_eq(run->generators[2].begun_at_ns, UINT64_C(999995000000));
	ck_assert(run->generators[2].clock_error_ns == 2e3);
	char *text = record_rig_written(merged, "text", 0);
	ck_assert_ptr_nonnull(strstr(text,
		"began within 5.000 ms, by clocks that were compared to within 0.002 ms"));
	ck_assert_ptr_nonnull(strstr(text, "clock +5000.0 us (error at most 2.0 us)"));
	free(text);
	nb_results_delete(merged);
	for (uint32_t k = 0; k < RANKS; k++)
		nb_results_delete(owns[k]);
	nb_histogram_delete(sum);
	end();
}

TEST(clocks_that_have_moved_during_the_run_make_the_error_larger)
{
	struct nb_results *owns[RANKS], *merged;
	begin();
	for (uint32_t k = 0; k < RANKS; k++)
		give_result(&owns[k], k, 1);
	members[0]->of[1].before = (struct clock_offset){1000, 100};
	members[0]->of[1].after = (struct clock_offset){5000, 100};
	members[0]->of[2].before = (struct clock_offset){1000, 100};
	members[0]->of[2].after = (struct clock_offset){1150, 100};
	poll_all();
	ck_assert_int_eq(nb_ranks_merge(&merged, members[0]), 0);
	ck_assert(merged->records[0].run->generators[1].clock_error_ns == 4100);
	ck_assert(merged->records[0].run->generators[2].clock_error_ns == 100);
	nb_results_delete(merged);
	for (uint32_t k = 0; k < RANKS; k++)
		nb_results_delete(owns[k]);
	end();
}

/** Send the partial result of a rank to rank 0. */
static void
give_partial(uint32_t rank)
{
	struct nb_results *own = record_rig_new();
	struct record *record = record_rig_add_job(own, "leveldb", 1);
	snprintf(record->run->shard, sizeof(record->run->shard), "%u/%u", rank, RANKS);
	char *json = record_rig_written(own, "json", 0);
	current = rank;
	ck_assert_int_eq(nb_ranks_tell_partial(members[rank], json, strlen(json)), 0);
	current = 0;
	free(json);
	nb_results_delete(own);
}

static void
give_partials(void)
{
	for (uint32_t k = 0; k < RANKS; k++)
		give_partial(k);
	poll_as(0);
}

TEST(partial_results_are_merged_in_a_thousandth_of_the_time_and_after_news_of_all)
{
	const uint64_t ms = 1000000, hour = 3600000 * ms;
	begin();
	give_partial(0);
	give_partial(1);
	poll_as(0);
	ck_assert(!ranks_merge_is_due(members[0], hour));
	give_partial(2);
	poll_as(0);
	members[0]->merged_ns = hour;
	members[0]->merge_cost_ns = 3 * ms;
	ck_assert(!ranks_merge_is_due(members[0], hour + 3000 * ms - 1));
	ck_assert(ranks_merge_is_due(members[0], hour + 3000 * ms));
	end();
}

TEST(a_partial_result_is_written_when_it_is_due_and_at_the_first_failure)
{
	const char *path = "all.json";
	struct nb_results *read;
	scratch_enter();
	scratch_fresh("partial");
	begin();
	ck_assert_int_eq(nb_ranks_write_partial(members[0], path), 0);
	give_partials();
	ck_assert_int_eq(nb_ranks_write_partial(members[0], path), 1);
	ck_assert_uint_gt(members[0]->merge_cost_ns, 0);
	ck_assert_int_eq(nb_results_read(&read, path), 0);
	ck_assert_uint_eq(read->records[0].run->generator_count, RANKS);
	nb_results_delete(read);
	/* the next one is not due for an hour */
	members[0]->merge_cost_ns = UINT64_C(3600000000);
	give_partials();
	ck_assert_int_eq(nb_ranks_write_partial(members[0], path), 0);
	ends(2, 1, "killed by SIGSEGV during run");
	poll_all();
	ck_assert_int_eq(nb_ranks_write_partial(members[0], path), 1);
	ck_assert_int_eq(nb_results_read(&read, path), 0);
	ck_assert_str_eq(read->records[0].end, "rank 2 (host2): killed by SIGSEGV during run");
	nb_results_delete(read);
	give_partials();
	members[0]->merge_cost_ns = UINT64_C(3600000000);
	ck_assert_int_eq(nb_ranks_write_partial(members[0], path), 0);
	end();
	scratch_leave();
}

TEST(ranks_without_a_result_are_listed_and_the_result_is_partial)
{
	struct nb_results *own, *merged;
	begin();
	ck_assert_int_eq(nb_ranks_merge(&merged, members[0]), NB_ERR_USAGE); /* no results */
	give_result(&own, 1, 1);
	ends(2, 1, "killed by SIGSEGV during load");
	poll_all();
	ck_assert_int_eq(nb_ranks_merge(&merged, members[0]), 0);
	const struct nb_result *run = merged->records[0].run;
	ck_assert(run->measured.is_partial);
	ck_assert_uint_eq(run->generator_count, RANKS);
	ck_assert_str_eq(run->generators[2].shard, "2/3");
	ck_assert_str_eq(run->generators[2].host, "host2");
	ck_assert_str_eq(run->generators[2].end, "killed by SIGSEGV during load");
	ck_assert_str_eq(
		merged->records[0].end, "rank 2 (host2): killed by SIGSEGV during load");
	nb_results_delete(merged);
	nb_results_delete(own);
	end();
}

TEST(launcher_is_recognised_by_its_variables)
{
	struct nb_launch launch;
	nb_launch_forget();
	ck_assert_int_eq(nb_launch_read(&launch), 0);
	ck_assert_ptr_null(launch.mpi);
	setenv("PMI_RANK", "3", 1);
	setenv("PMI_SIZE", "8", 1);
	ck_assert_int_eq(nb_launch_read(&launch), 0);
	ck_assert_str_eq(launch.mpi, "mpich");
	ck_assert_uint_eq(launch.rank, 3);
	ck_assert_uint_eq(launch.ranks, 8);
	setenv("OMPI_COMM_WORLD_RANK", "1", 1);
	setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
	ck_assert_int_eq(nb_launch_read(&launch), 0);
	ck_assert_str_eq(launch.mpi, "openmpi");
	static const char *const wrong[] = {"2", "-1", "x", "", "4294967297"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		setenv("OMPI_COMM_WORLD_RANK", wrong[i], 1);
		ck_assert_int_eq(nb_launch_read(&launch), NB_ERR_USAGE);
	}
	nb_launch_forget();
	ck_assert_int_eq(nb_launch_read(&launch), 0);
	ck_assert_ptr_null(launch.mpi);
}
