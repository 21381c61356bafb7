/* SPDX-License-Identifier: BSD-2-Clause */
#include <mininb/job.h>

#include <math.h>
#include <stdio.h>

#include "job_text.h"

bool unit_in_scratch = true;

static void
assert_good(const char *text)
{
	struct nb_job *job = job_of_text(text);
	ck_assert_msg(nb_job_check(job) == NB_OK, "%s\n%s", text, nb_error_text());
	nb_job_delete(job);
}

TEST(consistent_jobs_pass)
{
	static const char *const good[] = {
		"[run]\nread = 1\n",
		"[run]\nread = 0.0001\n",
		"[workload]\nrecords = 0\n[run]\ninsert = 1\ncount = 1\n",
		"[workload]\nrecords = 0\nspace = 5\n[run]\nupsert = 1\ndelete = 1\ncount = 1\n",
		"[workload]\nlag = 0\n[run]\nread = 1\ninsert = 1\n",
		"[workload]\nlag = 0\nthreads = 8\n[run]\nread = 1\n",
		"[workload]\ndistribution = latest\n[run]\nread = 1\n",
		"[workload]\ndistribution = zipfian-ycsb\n[run]\nread = 1\n",
		"[a]\nread = 1\n[b]\nupdate = 1\nbackground = yes\n",
		"[a]\nread = 1\nthreads = 1024\n[b]\nread = 1\nthreads = 1024\nstart = after\n",
		"[a]\nread = 1\n[b]\nstart = after\nread = 1\n[c]\nstart = after\nread = 1\n",
		"[a]\nread = 1\nrate = 1k\n[b]\nread = 1\narrivals = poisson\n",
		"[run]\nread = 1\nrate = 10..0/30s\nduration = 1m\n",
		"[run]\nread = 1\ncount = 10\nwarmup = 9\n",
		"[run]\nread = 1\nduration = 10s\nwarmup = 9s\n",
		"[run]\nread = 1\nduration = 10s\nwarmup = 1M\n",
		"[run]\nread = 1\ncount = 10\nwarmup = 10s\n",
		"[workload]\nkey-format = text\nkey-digits = 1048000\n[run]\nread = 1\n",
		"[workload]\nvalue-size = 1GiB\n[run]\nread = 1\n",
		"[run]\nread = 1\nhot-share = 0\nexp-share = 0\npareto-h = 0\nexp-percent = 0\n",
		"[workload]\nrecords = 8\nspace = 9\nthreads = 8\nkey-range = private\n[run]\nread = 1\n",
		"[workload]\nrecords = 0\n[p]\ninsert = 1\ncount = 9\n[g]\nstart = after\nagain = p\nread = 1\n",
	};
	for (size_t i = 0; i < COUNT_OF(good); i++)
		assert_good(good[i]);
}

#define AGAIN(puts, gets) "[puts]\n" puts "\n[get]\nstart = after\n" gets "\n"
#define PUTS \
	" shared keys by a single kind of operation: insert, update, upsert or read-modify-write"

TEST(contradictory_keys_are_refused)
{
	static const struct {
		const char *text, *why;
	} wrong[] = {
		{"[run]\nthreads = 2\n",
			"[run]: the mix is empty; set shares, such as read = 95 and update = 5"},
		{"[a]\nread = 1\n[b]\nread = 0\n",
			"[b]: the mix is empty; set shares, such as read = 95 and update = 5"},
		{"[workload]\nrecords = 0\n[run]\nread-modify-write = 1\ncount = 1\n",
			"[run]: read-modify-write: needs existing records, and records is 0"},
		{"[workload]\nrecords = 0\n[run]\nupsert = 1\ncount = 1\n",
			"[run]: upsert: needs records, and both space and records are 0"},
		{"[workload]\nrecords = 0\n[run]\ninsert = 1\n",
			"[run]: count: is required if records is 0 and duration is not set"},
		{"[run]\nread = 1\nbackground = yes\n",
			"[run]: background: the phase has no other group to wait for"},
		{"[a]\nread = 1\n[b]\nread = 1\nbackground = yes\nstart = after\n",
			"[b]: background: the phase has no other group to wait for"},
		{"[a]\nread = 1\nthreads = 1000\n[b]\nread = 1\nthreads = 25\n",
			"[a]: threads: 1025 in one phase are too many; allowed: 1024"},
		{"[workload]\nlag = 0\n[a]\nread = 1\n[b]\ninsert = 1\n",
			"lag: 0 needs a single thread; others would look for records that are not inserted yet"},
		{"[run]\nread = 1\ndistribution = zipfian-ycsb\ntheta = 0.9\n",
			"[run]: theta: must be 0.99 for zipfian-ycsb; zipfian allows others"},
		{"[run]\nread = 1\ndistribution = exponential\nexp-percent = 100\n",
			"[run]: exp-percent: must be more than 0 and less than 100"},
		{"[run]\nread = 1\ndistribution = exponential\nexp-share = 0\n",
			"[run]: exp-share: must be more than 0"},
		{"[run]\nread = 1\ndistribution = pareto\npareto-h = 1\n",
			"[run]: pareto-h: must be more than 0 and less than 1"},
		{"[run]\nread = 1\ncount = 10\nwarmup = 10\n",
			"[run]: warmup: 10 of 10 operations leave nothing to measure"},
		{"[workload]\nrecords = 5\n[run]\nread = 1\nwarmup = 6\n",
			"[run]: warmup: 6 of 5 operations leave nothing to measure"},
		{"[run]\nread = 1\nduration = 10s\nwarmup = 10s\n",
			"[run]: warmup: 10s leaves nothing of the duration of 10s to measure, which includes the warm-up; set a longer duration or a shorter warmup"},
		{"[workload]\nrecords = 7\nthreads = 8\nkey-range = private\n[run]\nread = 1\n",
			"[run]: key-range: 8 threads need a record each, and there are 7; raise records and space, or use key-range=shared"},
		{"[run]\ninsert = 1\nkey-range = private\n",
			"[run]: key-range: insert adds records to no slice; use upsert and space, or key-range=shared"},
		{AGAIN("update = 1", "again = put\nread = 1"),
			"[get]: again: unknown group 'put'"},
		{AGAIN("update = 1", "again = get\nread = 1"),
			"[get]: again: [get] has to be of an earlier phase; set start = after"},
		{"[puts]\nupdate = 1\n[get]\nagain = puts\nread = 1\n",
			"[get]: again: [puts] has to be of an earlier phase; set start = after"},
		{AGAIN("read = 1", "again = puts\nread = 1"),
			"[get]: again: [puts] has to put" PUTS},
		{AGAIN("insert = 1\nupdate = 1", "again = puts\nread = 1"),
			"[get]: again: [puts] has to put" PUTS},
		{AGAIN("update = 1\nkey-range = private", "again = puts\nread = 1"),
			"[get]: again: [puts] has to put" PUTS},
		{AGAIN("update = 1", "again = puts\ninsert = 1"),
			"[get]: again: insert cannot visit a key; read, update, upsert, delete, scan and read-modify-write can"},
		{AGAIN("update = 1", "again = puts\nread = 1\ndistribution = zipfian"),
			"[get]: again: visits each key once, in permuted order or with distribution = sequential in that of the puts; leave out other distributions and key-range"},
		{"[workload]\nkey-format = text\nkey-digits = 1048576\n[run]\nread = 1\n",
			"key-digits: with its prefix a key may be longer than 1048576 bytes"},
	};
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		struct nb_job *job = job_of_text(wrong[i].text);
		assert_usage(nb_job_check(job), wrong[i].why);
		nb_job_delete(job);
	}
}

/** Change one field of a valid job: nb_job_check() must then fail. */
#define ASSERT_REFUSED(change, why) \
	do { \
		struct nb_job *job = job_of_text("[run]\nread = 1\nrate = 5\ncpus = 0\n"); \
		ck_assert_int_eq(nb_job_check(job), NB_OK); \
		struct nb_group *group = &job->groups[0]; \
		(void)group; \
		change; \
		assert_usage(nb_job_check(job), why); \
		nb_job_delete(job); \
	} while (0)

TEST(handmade_values_are_checked)
{
	ASSERT_REFUSED((job->shard = 2, job->shards = 2),
		"shard: shard 2 of 2 does not exist; they are numbered from 0 to 1");
	ASSERT_REFUSED(job->shards = 1025, "shard: the number of shards must be 1 to 1024");
	ASSERT_REFUSED(
		group->threads = 0, "[run]: threads: 0 is too small; allowed: 1 to 1024");
	ASSERT_REFUSED(
		group->distribution = NB_DIST_KINDS, "[run]: distribution: unknown choice 9");
	ASSERT_REFUSED(group->scan_distribution = NB_DIST_LATEST,
		"[run]: scan-distribution: unknown choice 3");
	ASSERT_REFUSED(group->items = NB_ITEMS_MAX + 1,
		"[run]: items: 1025 is too large; allowed: 1 to 1024");
	ASSERT_REFUSED(group->scan_min = 0, "[run]: scan-length: must be a range from 1 up");
	ASSERT_REFUSED(group->scan_max = 0, "[run]: scan-length: must be a range from 1 up");
	ASSERT_REFUSED(
		group->theta = NAN, "[run]: theta: nan is too large; allowed: 0.001 to 100");
	ASSERT_REFUSED(
		group->hot_ops = 1.5, "[run]: hot-ops: 1.5 is too large; allowed: 0 to 1");
	ASSERT_REFUSED(group->arrivals = NB_ARRIVAL_CLOSED,
		"[run]: arrivals: must be fixed or poisson with a rate, and closed without");
	ASSERT_REFUSED(group->arrivals = 77,
		"[run]: arrivals: must be fixed or poisson with a rate, and closed without");
	ASSERT_REFUSED(
		group->rate[0].from_ops_s = INFINITY, "[run]: rate: step 1 is not a rate");
	ASSERT_REFUSED(group->rate[0].to_ops_s = -1, "[run]: rate: step 1 is not a rate");
	ASSERT_REFUSED(group->rate[group->rate_count - 1].to_ops_s = 0,
		"[run]: rate: a last step that ends at 0 needs a duration of the group");
	ASSERT_REFUSED(group->latency = 64,
		"[run]: latency: must be each with a rate, which sets when each operation is due; leave out the rate, or set latency=each");
	ASSERT_REFUSED(group->rate_count = NB_RATE_STEPS_MAX + 1,
		"[run]: rate: has more than 4096 steps");
	ASSERT_REFUSED(group->cpus[0] = 'x',
		"[run]: cpus: 'x' is not a list of CPUs, such as 0-3,8; allowed: 0 to 1023");
	ASSERT_REFUSED(
		group->weight_scale = 3, "[run]: the scale of its mix is not a power of ten");
	ASSERT_REFUSED((group->warmup_ns = 1, group->warmup_count = 1),
		"[run]: warmup: is a time or a count, not both");
	ASSERT_REFUSED(group->phase = 1, "[run]: is in phase 1 instead of 0");
	ASSERT_REFUSED(strcpy(group->name, "load"),
		"'load' is not a name of a group: up to 47 letters, digits, '-' and '_'");
	ASSERT_REFUSED(group->name[0] = '\0',
		"'' is not a name of a group: up to 47 letters, digits, '-' and '_'");
	ASSERT_REFUSED(
		job->values.max = UINT64_C(1) << 40; job->values.kind = NB_SIZE_UNIFORM,
		"value-size: sizes of up to 1099511627776: a value has at most 1073741824 bytes");
	ASSERT_REFUSED(job->values.max = 1; job->values.kind = NB_SIZE_UNIFORM,
		       "value-size: sizes of 100..1: the first is the larger");
	ASSERT_REFUSED(job->values.kind = 9, "value-size: unknown distribution of sizes 9");
	ASSERT_REFUSED(
		job->value_ratio = NAN, "value-ratio: nan is too large; allowed: 0 to 1");
	ASSERT_REFUSED(
		job->key_size = 0, "key-size: 0 is too small; allowed: 1 to 1048576 bytes");
	ASSERT_REFUSED(memset(job->key_prefix, 'x', sizeof(job->key_prefix)),
		"key-prefix: is too long");
	ASSERT_REFUSED(
		job->load->weights[NB_OP_READ] = 1, "[load]: its mix is not all inserts");
	ASSERT_REFUSED(
		job->load->weights[NB_OP_INSERT] = 0, "[load]: its mix is not all inserts");
	ASSERT_REFUSED(
		job->load->count = 1, "[load]: inserts all records and cannot have a bound");
	ASSERT_REFUSED(job->load->threads = 5000,
		"[load]: threads: 5000 is too large; allowed: 1 to 1024");
}

TEST(missing_parts_are_named)
{
	struct nb_job *job = job_of_text("[a]\nread = 1\n[b]\nread = 1\n");
	strcpy(job->groups[1].name, "a");
	assert_usage(nb_job_check(job), "there are two groups 'a'");
	strcpy(job->groups[1].name, "b");
	struct nb_group *load = job->load;
	job->load = NULL;
	assert_usage(nb_job_check(job), "[load]: is missing");
	job->load = load;
	job->key_format = NB_KEY_FILE;
	ck_assert_int_eq(nb_job_check(job), NB_OK);
	free(job->keys_path);
	job->keys_path = NULL;
	assert_usage(nb_job_check(job), "keys: no file is named");
	job->key_format = NB_KEY_RAW;
	size_t count = job->group_count;
	job->group_count = 0;
	assert_usage(nb_job_check(job), "there are 0 groups; allowed: 1 to 64");
	job->group_count = count;
	ck_assert_int_eq(nb_job_check(job), NB_OK);
	nb_job_delete(job);
}
