/* SPDX-License-Identifier: BSD-2-Clause */
#include "workload/job.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "job_text.h"

static struct nb_job *job;

static void
set_up(void)
{
	ck_assert_int_eq(nb_job_read(&job, NULL), NB_OK);
}

static void
tear_down(void)
{
	nb_job_delete(job);
}

struct wrong {
	const char *text, *why;
};

static void
assert_all_wrong(const struct wrong *wrong, size_t count)
{
	set_up();
	char *before, *after;
	ck_assert_int_eq(nb_job_write(job, &before), NB_OK);
	for (size_t i = 0; i < count; i++)
		assert_usage(nb_job_set(job, wrong[i].text), wrong[i].why);
	ck_assert_int_eq(nb_job_write(job, &after), NB_OK);
	ck_assert_str_eq(before, after);
	free(before);
	free(after);
	tear_down();
}

TEST(shares_are_exact_on_any_scale)
{
	set_up();
	const uint32_t *weights = job->groups[0].weights;
	job_set(job, "insert=175452");
	job_set(job, "read=174548");
	ck_assert_uint_eq(weights[NB_OP_INSERT], 175452);
	ck_assert_uint_eq(weights[NB_OP_READ], 174548);
	job_set(job, "insert=0.5");
	job_set(job, "read=99.5");
	ck_assert_uint_eq(weights[NB_OP_INSERT], 5);
	ck_assert_uint_eq(weights[NB_OP_READ], 995);
	job_set(job, "read=99.4999");
	job_set(job, "scan=0.0001");
	ck_assert_uint_eq(weights[NB_OP_INSERT], 5000);
	ck_assert_uint_eq(weights[NB_OP_READ], 994999);
	ck_assert_uint_eq(weights[NB_OP_SCAN], 1);
	job_set(job, "scan=0.000");
	job_set(job, "read=50.0");
	job_set(job, "insert=50.00");
	ck_assert_uint_eq(weights[NB_OP_INSERT], 50);
	ck_assert_uint_eq(weights[NB_OP_READ], 50);
	ck_assert_uint_eq(weights[NB_OP_SCAN], 0);
	job_set(job, "insert=4294967295");
	job_set(job, "read=2.5M");
	ck_assert_uint_eq(weights[NB_OP_INSERT], 4294967295);
	ck_assert_uint_eq(weights[NB_OP_READ], 2500000);
	tear_down();
}

TEST(wrong_shares_are_refused)
{
	static const struct wrong wrong[] = {
		{"read=-1", "read: '-1' is negative"},
		{"read=", "read: '' is empty"},
		{"read=half", "read: 'half' is not a number"},
		{"read=95%", "read: '95%': '%' is not a suffix; allowed: k M G T Ki Mi Gi Ti"},
		{"read=0.00001", "read: '0.00001' is not a number of at most four decimals"},
		{"read=4294967296", "read: 4294967296 is too large; allowed: 0 to 4294967295"},
		{"read=999999999999.5",
			"read: '999999999999.5' and the other shares are too far apart for their decimals"},
		{"read=0.5.5", "read: '0.5.5' is not a number of at most four decimals"},
	};
	assert_all_wrong(wrong, COUNT_OF(wrong));
}

TEST(wrong_numbers_are_refused)
{
	static const struct wrong wrong[] = {
		{"records=12x",
			"records: '12x': 'x' is not a suffix; allowed: k M G T Ki Mi Gi Ti"},
		{"records=1.5", "records: '1.5' is not a whole number"},
		{"records=9223372036854775808",
			"records: 9223372036854775808 is too large; allowed: 0 to 9223372036854775807"},
		{"key-size=0", "key-size: 0 is too small; allowed: 1 to 1048576 bytes"},
		{"key-size=2MiB", "key-size: 2MiB is too large; allowed: 1 to 1048576 bytes"},
		{"key-digits=0", "key-digits: 0 is too small; allowed: 1 to 1048576"},
		{"items=1025", "items: 1025 is too large; allowed: 1 to 1024"},
		{"items=uniform:0..5", "items: uniform:0..5 is too small; allowed: 1 to 1024"},
		{"items=uniform:2..2000",
			"items: uniform:2..2000 is too large; allowed: 1 to 1024"},
		{"shard=4/4",
			"shard: shard 4 of 4 does not exist; they are numbered from 0 to 3"},
		{"shard=0/0", "shard: the number of shards must be 1 to 1024"},
		{"shard=0/1025", "shard: the number of shards must be 1 to 1024"},
		{"shard=1", "shard: '1' is not K/N, such as 0/4"},
		{"shard=-1/2", "shard: '-1/2' is not K/N, such as 0/4"},
		{"lag=2G", "lag: 2G is too large; allowed: 0 to 1073741824"},
		{"duration=10", "duration: '10' has no unit; allowed: ns us ms s m h"},
		{"value-ratio=1.5", "value-ratio: 1.5 is too large; allowed: 0 to 1"},
		{"value-ratio=-1", "value-ratio: -1 is too small; allowed: 0 to 1"},
		{"theta=0", "theta: 0 is too small; allowed: 0.001 to 100"},
		{"theta=nan", "theta: 'nan' is not a number"},
		{"exp-percent=101", "exp-percent: 101 is too large; allowed: 0 to 100"},
		{"warmup=soon",
			"warmup: 'soon' is neither a time, such as 10s, nor a count, such as 10k"},
		{"scan-length=0",
			"scan-length: 0 is too small; allowed: 1 to 9223372036854775807"},
		{"scan-length=9..3",
			"scan-length: '9..3': the first number must not be the larger"},
		{"scan-length=1..", "scan-length: '' is empty"},
		{"scan-length=..5", "scan-length: '' is empty"},
		{"scan-length=1...5", "scan-length: '.5' is not a whole number"},
	};
	assert_all_wrong(wrong, COUNT_OF(wrong));
}

TEST(wrong_words_are_refused)
{
	static const struct wrong wrong[] = {
		{"distribution=zipfain",
			"distribution: 'zipfain' is not known, did you mean 'zipfian'? Allowed: uniform, zipfian, zipfian-ycsb, latest, hotspot, exponential, sequential, pareto, descending"},
		{"scan-distribution=latest",
			"scan-distribution: 'latest' is not known; allowed: uniform, zipfian"},
		{"key-format=",
			"key-format: '' is not known; allowed: raw, text, be64, file, graph, words, letters"},
		{"background=maybe", "background: 'maybe' is not known; allowed: no, yes"},
		{"arrivals=closed", "arrivals: 'closed' is not known; allowed: fixed, poisson"},
		{"keys=", "keys: FILE must not be empty"},
		{"key-prefix=0123456789012345678901234567890x",
			"key-prefix: '0123456789012345678901234567890x' is too long; allowed: up to 31 bytes"},
		{"cpus=", "cpus: '' is not a list of CPUs, such as 0-3,8; allowed: 0 to 1023"},
		{"cpus=3-1",
			"cpus: '3-1' is not a list of CPUs, such as 0-3,8; allowed: 0 to 1023"},
		{"cpus=1,",
			"cpus: '1,' is not a list of CPUs, such as 0-3,8; allowed: 0 to 1023"},
		{"cpus=1024",
			"cpus: '1024' is not a list of CPUs, such as 0-3,8; allowed: 0 to 1023"},
		{"cpus=1;2",
			"cpus: '1;2' is not a list of CPUs, such as 0-3,8; allowed: 0 to 1023"},
		{"summary=\x1b[2J",
			"summary: the value contains a control character, or a blank at its edge"},
	};
	assert_all_wrong(wrong, COUNT_OF(wrong));
}

/* nb_sizes_parse() and nb_rate_parse() make the rest of the text. */
TEST(wrong_sizes_and_rates_name_their_key)
{
	set_up();
	ck_assert_int_eq(nb_job_set(job, "value-size=large"), NB_ERR_USAGE);
	ck_assert_int_eq(strncmp(nb_error_text(), "value-size: ", 12), 0);
	ck_assert_int_eq(nb_job_set(job, "rate=fast"), NB_ERR_USAGE);
	ck_assert_int_eq(strncmp(nb_error_text(), "rate: ", 6), 0);
	ck_assert_uint_eq(job->values.min, 100);
	ck_assert_uint_eq(job->groups[0].rate_count, 0);
	tear_down();
}

TEST(good_values_are_taken)
{
	set_up();
	struct nb_group *group = &job->groups[0];
	job_set(job, "scan-length=7");
	ck_assert_uint_eq(group->scan_min, 7);
	ck_assert_uint_eq(group->scan_max, 7);
	job_set(job, "scan-length=1..1M");
	ck_assert_uint_eq(group->scan_max, 1000000);
	job_set(job, "warmup=10s");
	ck_assert_uint_eq(group->warmup_ns, UINT64_C(10000000000));
	job_set(job, "warmup=10k");
	ck_assert_uint_eq(group->warmup_ns, 0);
	ck_assert_uint_eq(group->warmup_count, 10000);
	job_set(job, "warmup=5m");
	ck_assert_uint_eq(group->warmup_ns, UINT64_C(300000000000));
	ck_assert_uint_eq(group->warmup_count, 0);
	job_set(job, "warmup=0");
	ck_assert_uint_eq(group->warmup_ns, 0);
	job_set(job, "cpus=0-3,8,10-10,1023");
	ck_assert_str_eq(group->cpus, "0-3,8,10-10,1023");
	job_set(job, "cpus=any");
	ck_assert_ptr_null(group->cpus);
	job_set(job, "background=yes");
	ck_assert_uint_eq(group->is_background, 1);
	job_set(job, "distribution=pareto");
	ck_assert_uint_eq(group->distribution, NB_DIST_PARETO);
	job_set(job, "key-prefix=0123456789012345678901234567890");
	ck_assert_str_eq(job->key_prefix, "0123456789012345678901234567890");
	job_set(job, "key-prefix=k");
	ck_assert_str_eq(job->key_prefix, "k");
	ck_assert_int_eq(job->key_prefix[30], 0);
	job_set(job, "summary=what it is");
	job_set(job, "summary=");
	ck_assert_ptr_null(job->summary);
	job_set(job, "seed=18446744073709551615");
	ck_assert_uint_eq(job->seed, UINT64_MAX);
	tear_down();
}

TEST(real_numbers_have_enough_digits_to_be_read_back)
{
	static const struct {
		double real;
		const char *text;
	} table[] = {{0.99, "0.99"}, {0.8571428571, "0.8571428571"}, {95, "95"},
		{1.0 / 3, "0.3333333333333333"}, {0.1, "0.1"}, {1e300, "1e+300"}};
	char text[64];
	for (size_t i = 0; i < COUNT_OF(table); i++) {
		job_value_real_text(text, sizeof(text), table[i].real);
		ck_assert_str_eq(text, table[i].text);
		double back;
		ck_assert_int_eq(nb_parse_real(&back, text), NB_OK);
		ck_assert(back == table[i].real);
	}
	if (setlocale(LC_ALL, "de_DE.UTF-8") != NULL) {
		job_value_real_text(text, sizeof(text), 0.5);
		ck_assert_str_eq(text, "0.5");
	}
}
