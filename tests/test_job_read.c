/* SPDX-License-Identifier: BSD-2-Clause */
#include <mininb/job.h>

#include <stdio.h>

#include "job_text.h"

bool unit_in_scratch = true;

TEST(file_is_read_into_its_fields)
{
	struct nb_job *job = job_of_text("# what it is\n"
					 "[workload]\n"
					 "summary = A # test; of = all\n"
					 "records = 1M\n"
					 "space = 2M\n"
					 "seed = 7\n"
					 "key-format = text\n"
					 "key-order = ycsb\n"
					 "key-prefix = k:\n"
					 "key-digits = 12\n"
					 "keys = my keys.bin\n"
					 "value-size = 4KiB\n"
					 "value-ratio = 0.25\n"
					 "lag = 64\n"
					 "\n"
					 "[load]\n"
					 "threads = 2\n"
					 "cpus = 0-1\n"
					 "\n"
					 "[readers]\n"
					 "read = 99.5\n"
					 "scan = 0.5\n"
					 "distribution = hotspot\n"
					 "hot-share = 0.1\n"
					 "threads = 3\n"
					 "duration = 90s\n"
					 "warmup = 10s\n"
					 "[writer]\n"
					 "update = 1\n"
					 "background = yes\n"
					 "[after]\n"
					 "start = after\n"
					 "read = 1\n"
					 "count = 10\n");
	ck_assert_str_eq(job->name, "my.ini");
	ck_assert_str_eq(job->summary, "A # test; of = all");
	ck_assert_uint_eq(job->records, 1000000);
	ck_assert_uint_eq(job->space, 2000000);
	ck_assert_uint_eq(job->seed, 7);
	ck_assert_uint_eq(job->key_format, NB_KEY_TEXT);
	ck_assert_uint_eq(job->key_order, NB_ORDER_YCSB);
	ck_assert_str_eq(job->key_prefix, "k:");
	ck_assert_uint_eq(job->key_digits, 12);
	ck_assert_str_eq(job->keys_path, "my keys.bin");
	ck_assert_uint_eq(job->values.min, 4096);
	ck_assert_double_eq(job->value_ratio, 0.25);
	ck_assert_uint_eq(job->lag, 64);
	ck_assert_uint_eq(job->load->threads, 2);
	ck_assert_str_eq(job->load->cpus, "0-1");
	ck_assert_uint_eq(job->group_count, 3);
	const struct nb_group *groups = job->groups;
	ck_assert_str_eq(groups[0].name, "readers");
	ck_assert_uint_eq(groups[0].weights[NB_OP_READ], 995);
	ck_assert_uint_eq(groups[0].weights[NB_OP_SCAN], 5);
	ck_assert_uint_eq(groups[0].distribution, NB_DIST_HOTSPOT);
	ck_assert_double_eq(groups[0].hot_share, 0.1);
	ck_assert_uint_eq(groups[0].threads, 3);
	ck_assert_uint_eq(groups[0].duration_ns, UINT64_C(90000000000));
	ck_assert_uint_eq(groups[0].warmup_ns, UINT64_C(10000000000));
	ck_assert_str_eq(groups[1].name, "writer");
	ck_assert_uint_eq(groups[1].is_background, 1);
	ck_assert_uint_eq(groups[1].threads, 1);
	ck_assert_uint_eq(groups[1].phase, 0);
	ck_assert_uint_eq(groups[2].phase, 1);
	ck_assert_uint_eq(groups[2].count, 10);
	ck_assert_int_eq(nb_job_check(job), NB_OK);
	nb_job_delete(job);
}

TEST(workload_has_defaults_for_the_groups)
{
	struct nb_job *job = job_of_text("[workload]\nthreads = 4\nrate = 1k\ncpus = 2\n"
					 "read = 90\nupdate = 10\nstart = after\n"
					 "[load]\n[a]\n[b]\nthreads = 2\nrate = none\n"
					 "read = 50\ncpus = 3\nstart = together\n[c]\n");
	ck_assert_uint_eq(job->load->threads, 1); /* a loading does not use the run's value */
	ck_assert_ptr_null(job->load->cpus);
	ck_assert_uint_eq(job->group_count, 3);
	const struct nb_group *a = &job->groups[0], *b = &job->groups[1], *c = &job->groups[2];
	ck_assert_uint_eq(a->threads, 4);
	ck_assert_double_eq(a->rate[0].from_ops_s, 1000);
	ck_assert_uint_eq(a->weights[NB_OP_READ], 90);
	ck_assert_str_eq(a->cpus, "2");
	ck_assert_uint_eq(a->phase, 0);
	ck_assert_uint_eq(b->threads, 2);
	ck_assert_uint_eq(b->rate_count, 0);
	ck_assert_uint_eq(b->weights[NB_OP_READ], 50);
	ck_assert_uint_eq(b->weights[NB_OP_UPDATE], 10);
	ck_assert_str_eq(b->cpus, "3");
	ck_assert_uint_eq(b->phase, 0);
	ck_assert_uint_eq(c->threads, 4);
	ck_assert_str_eq(c->cpus, "2");
	ck_assert_uint_eq(c->phase, 1);
	nb_job_delete(job);
}

TEST(file_without_a_group_gets_a_default_group)
{
	struct nb_job *job = job_of_text("[workload]\nread = 50\nupdate = 50\nthreads = 2\n");
	ck_assert_uint_eq(job->group_count, 1);
	ck_assert_str_eq(job->groups[0].name, "run");
	ck_assert_uint_eq(job->groups[0].weights[NB_OP_UPDATE], 50);
	ck_assert_uint_eq(job->groups[0].threads, 2);
	ck_assert_int_eq(nb_job_check(job), NB_OK);
	nb_job_delete(job);
}

TEST(windows_files_and_missing_last_line_ends_are_read)
{
	struct nb_job *job = job_of_text("\xef\xbb\xbf[workload]\r\nrecords = 5\r\n\r\n"
					 "[run]\r\nread = 100\r\nthreads = 2");
	ck_assert_uint_eq(job->records, 5);
	ck_assert_uint_eq(job->groups[0].weights[NB_OP_READ], 100);
	ck_assert_uint_eq(job->groups[0].threads, 2);
	nb_job_delete(job);
}

TEST(long_values_are_not_cut)
{
	static char text[16384], value[10240 + 1];
	memset(value, 's', 10240);
	snprintf(text, sizeof(text), "[workload]\nsummary = %s\nrecords = 3\n", value);
	struct nb_job *job = job_of_text(text);
	ck_assert_str_eq(job->summary, value);
	ck_assert_uint_eq(job->records, 3);
	nb_job_delete(job);

	size_t used = 0;
	for (int i = 0; i < 2000; i++)
		used += (size_t)snprintf(
			value + used, sizeof(value) - used, "%s%d", i > 0 ? "," : "", i % 1000);
	ck_assert_uint_lt(used, sizeof(value));
	snprintf(text, sizeof(text), "[workload]\ncpus = %s\nread = 1\n", value);
	job = job_of_text(text);
	ck_assert_str_eq(job->groups[0].cpus, value);
	nb_job_delete(job);
}

TEST(wrong_files_are_refused_with_their_line)
{
	static const struct {
		const char *text, *why;
	} wrong[] = {
		{"[workload]\n\nrecrods = 5\n",
			"my.ini:3: unknown key 'recrods', did you mean 'records'?"},
		{"records = 5\n",
			"my.ini:1: 'records' is before the first section; begin with [workload]"},
		{"recrods = 5\n", "my.ini:1: unknown key 'recrods', did you mean 'records'?"},
		{"[workload]\nrecords = 12x\n",
			"my.ini:2: records: '12x': 'x' is not a suffix; allowed: k M G T Ki Mi Gi Ti"},
		{"[run]\nthreads = 5000\n",
			"my.ini:2: threads: 5000 is too large; allowed: 1 to 1024"},
		{"[run]\nbackground = maybe\n",
			"my.ini:2: background: 'maybe' is not known; allowed: no, yes"},
		{"[run]\r\nread = 1\r\n\r\nread = 2\r\n",
			"my.ini:4: 'read' is already in line 2 of [run]"},
		{"[workload]\nrecords=1\nrecords=1\n",
			"my.ini:3: 'records' is already in line 2 of [workload]"},
		{"[a]\nread=1\n[b]\nread=1\n[a]\nupdate=1\n",
			"my.ini:5: [a] is already in line 1"},
		{"[workload]\n[workload]\n", "my.ini:2: [workload] is already in line 1"},
		{"[load]\n[run]\nread=1\n[load]\n", "my.ini:4: [load] is already in line 1"},
		{"[run]\nread=1\n[workload]\nthreads=2\n",
			"my.ini:3: [workload] must be the first section: its keys are defaults of the groups after it"},
		{"[run]\nrecords=1\n",
			"my.ini:2: records: is a key of [workload], not of a group"},
		{"[load]\nrecords=1\n",
			"my.ini:2: records: is a key of [workload], not of a group"},
		{"[load]\ncount=1\n",
			"my.ini:2: count: is not a key of [load], which has threads, depth, batch-bytes, rate, arrivals, cpus, latency, insert-verb"},
		{"[load]\nduration=1s\n",
			"my.ini:2: duration: is not a key of [load], which has threads, depth, batch-bytes, rate, arrivals, cpus, latency, insert-verb"},
		{"[a b]\n",
			"my.ini:1: 'a b' is not a name of a group: up to 47 letters, digits, '-' and '_'"},
		{"[a.b]\n",
			"my.ini:1: 'a.b' is not a name of a group: up to 47 letters, digits, '-' and '_'"},
		{"[123456789012345678901234567890123456789012345678]\n",
			"my.ini:1: '123456789012345678901234567890123456789012345678' is not a name of a group: up to 47 letters, digits, '-' and '_'"},
		{"[run]\nread\n", "my.ini:2: 'read' is neither [SECTION] nor KEY = VALUE"},
		{"[run\n", "my.ini:1: '[run' lacks its ']'"},
		{"[workload]\nsummary = a\tb\n",
			"my.ini:2: summary: the value contains a control character, or a blank at its edge"},
	};
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		struct nb_job *job = NULL;
		assert_usage(job_try_text(&job, wrong[i].text), wrong[i].why);
		ck_assert_ptr_null(job);
	}
}

TEST(bytes_of_zero_are_refused)
{
	struct nb_job *job;
	file_put("my.ini", "[workload]\nrecords = 5\0\n", 24);
	assert_usage(nb_job_read(&job, "my.ini"),
		"my.ini:2: contains a byte of zero; this is not a text file");
}

TEST(groups_are_limited)
{
	char text[NB_GROUPS_MAX * 32] = "";
	for (unsigned i = 0; i < NB_GROUPS_MAX; i++)
		snprintf(
			text + strlen(text), sizeof(text) - strlen(text), "[g%u]\nread=1\n", i);
	struct nb_job *job = job_of_text(text);
	ck_assert_uint_eq(job->group_count, NB_GROUPS_MAX);
	nb_job_delete(job);
	strcat(text, "[one-more]\n");
	assert_usage(job_try_text(&job, text), "my.ini:129: more than 64 groups");
}

TEST(missing_files_are_named)
{
	struct nb_job *job;
	ck_assert_int_eq(nb_job_read(&job, "gone.ini"), NB_FAIL);
	ck_assert_str_eq(nb_error_text(), "gone.ini: No such file or directory");
	ck_assert_int_eq(nb_job_read(&job, "./gone"), NB_FAIL);
	ck_assert_str_eq(nb_error_text(), "./gone: No such file or directory");
}
