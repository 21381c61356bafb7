/* SPDX-License-Identifier: BSD-2-Clause */
#include <mininb/job.h>

#include <stdio.h>

#include "base/rng.h"
#include "job_equal.h"

bool unit_in_scratch = true;

TEST(written_values_look_like_typed_ones)
{
	struct nb_job *job = job_of_text(
		"[workload]\nsummary = A test\nrecords = 1k\nvalue-size = uniform:1..2KiB\n"
		"[load]\nthreads = 2\n"
		"[a]\nread = 99.5\nscan = .5\nwarmup = 1500ms\nduration = 1h\nrate = 200k\n"
		"[b]\nstart = after\nupdate = 175452\ncount = 10k\nscan-length = 5..5\n"
		"background = yes\narrivals = poisson\n");
	char *text;
	ck_assert_int_eq(nb_job_write(job, &text), NB_OK);
	ck_assert_str_eq(text,
		"[workload]\n"
		"summary = A test\n"
		"records = 1000\n"
		"key-format = raw\n"
		"key-order = hashed\n"
		"value-size = uniform:1..2KiB\n"
		"value-ratio = 0.5\n"
		"\n"
		"[load]\n"
		"threads = 2\n"
		"\n"
		"[a]\n"
		"read = 99.5\n"
		"scan = 0.5\n"
		"distribution = uniform\n"
		"threads = 1\n"
		"duration = 1h\n"
		"warmup = 1500ms\n"
		"rate = 200k\n"
		"\n"
		"[b]\n"
		"update = 175452\n"
		"distribution = uniform\n"
		"scan-length = 5\n"
		"threads = 1\n"
		"count = 10000\n"
		"arrivals = poisson\n"
		"background = yes\n"
		"start = after\n");
	free(text);
	assert_written_whole(job);
	nb_job_delete(job);
}

/* Values of each key; a test draws one of them. */
static const char *const drawn[] = {
	"summary=\nsummary=One line; with # and = [x]\nsummary=\xc3\xa4",
	"records=0\nrecords=1\nrecords=9223372036854775807\nrecords=123456789",
	"space=0\nspace=10M",
	"seed=0\nseed=18446744073709551615",
	"key-format=raw\nkey-format=text\nkey-format=be64\nkey-format=file\n"
	"key-format=graph\nkey-format=words\nkey-format=letters",
	"key-order=hashed\nkey-order=ordered\nkey-order=ycsb",
	"key-size=1\nkey-size=16\nkey-size=1MiB",
	"key-prefix=\nkey-prefix=user\nkey-prefix=a b=c;#",
	"key-digits=1\nkey-digits=16",
	"keys=keys.bin\nkeys=/a path/with = blanks",
	"value-size=0\nvalue-size=100\nvalue-size=uniform:10..1000\nvalue-size=1GiB",
	"value-ratio=0\nvalue-ratio=1\nvalue-ratio=0.3333333333333333\nvalue-ratio=1e-300",
	"graph=workload_o.json\ngraph=workload_a.json",
	"edges=1\nedges=1500000",
	"degree=1\ndegree=1048576\ndegree=zipfian:1..100,1.5",
	"graph-update=rmw\ngraph-update=blind",
	"edge-range=point\nedge-range=scan",
	"preconditions=no\npreconditions=yes",
	"batch-read=no\nbatch-read=yes",
	"epoch=0\nepoch=15",
	"lag=0\nlag=1Mi",
	"shard=0/1\nshard=0/2\nshard=1023/1024",
	"read=0\nread=50\nread=99.9999\nread=100k\nread=0.1",
	"update=0\nupdate=50\nupdate=0.01\nupdate=12.345",
	"insert=0\ninsert=5\ninsert=0.0001",
	"upsert=0\nupsert=7.7",
	"delete=0\ndelete=1",
	"scan=0\nscan=95",
	"read-modify-write=0\nread-modify-write=50",
	"batch=0\nbatch=3",
	"multi-get=0\nmulti-get=2.5",
	"txn-read=0\ntxn-read=1",
	"txn-write=0\ntxn-write=1",
	"add=0\nadd=12.5",
	"source=records\nsource=tao\nsource=masstree",
	"masstree-test=rw2\nmasstree-test=wd1\nmasstree-test=url",
	"verify=0\nverify=1\nverify=0.25",
	"distribution=uniform\ndistribution=zipfian\ndistribution=zipfian-ycsb\n"
	"distribution=latest\ndistribution=hotspot\ndistribution=exponential\n"
	"distribution=sequential\ndistribution=pareto\ndistribution=descending",
	"key-range=shared\nkey-range=private",
	"again=\nagain=puts",
	"theta=0.99\ntheta=0.5000000001\ntheta=100",
	"hot-share=0\nhot-share=0.2",
	"hot-ops=1\nhot-ops=0.123456789012345678",
	"exp-percent=95\nexp-percent=99.9",
	"exp-share=0.8571428571\nexp-share=0.1",
	"pareto-h=0.2\npareto-h=0.3",
	"scan-length=1..100\nscan-length=7\nscan-length=1..9223372036854775807",
	"scan-distribution=uniform\nscan-distribution=zipfian",
	"scan-direction=forward\nscan-direction=backward",
	"scan-keys-only=yes\nscan-keys-only=no",
	"batch-atomic=yes\nbatch-atomic=no",
	"items=1\nitems=1024\nitems=uniform:2..500\nitems=zipfian:1..64,1.5\nitems=normal:10,3,1..20",
	"threads=1\nthreads=1024",
	"depth=1\ndepth=2\ndepth=65536",
	"batch-bytes=0\nbatch-bytes=32KiB\nbatch-bytes=9223372036854775807",
	"count=0\ncount=1\ncount=9223372036854775807",
	"duration=0s\nduration=1ns\nduration=90s\nduration=36h\nduration=1234567us",
	"warmup=0\nwarmup=10s\nwarmup=12345\nwarmup=1ns",
	"rate=none\nrate=200k\nrate=10k/30s,20k/30s\nrate=10k..50k/60s",
	"arrivals=fixed\narrivals=poisson",
	"background=no\nbackground=yes",
	"cpus=any\ncpus=0-3,8",
	"latency=each\nlatency=block\nlatency=sampled:2\nlatency=sampled:4294967295",
	"insert-verb=put\ninsert-verb=insert",
	"start=together\nstart=after",
};

static void
set_one_of(struct nb_job *job, const char *section, const char *values, struct rng *rng)
{
	size_t count = 1;
	for (const char *c = values; *c != '\0'; c++)
		count += *c == '\n';
	for (uint64_t skip = rng_next(rng) % count; skip > 0; skip--)
		values = strchr(values, '\n') + 1;
	char text[256];
	snprintf(text, sizeof(text), "%s%s%.*s", section, section[0] != '\0' ? "." : "",
		(int)strcspn(values, "\n"), values);
	job_set(job, text);
}

static bool
is_of_load(const char *assignment)
{
	static const char *const names[] = {"threads=", "depth=", "batch-bytes=", "rate=",
		"arrivals=", "cpus=", "latency=", "insert-verb="};
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		if (strncmp(assignment, names[i], strlen(names[i])) == 0)
			return true;
	}
	return false;
}

TEST(table_of_this_test_has_every_key)
{
	const struct nb_job_key *keys = nb_job_keys();
	for (size_t i = 0; i < COUNT_OF(drawn); i++)
		ck_assert_msg(strncmp(drawn[i], keys[i].name, strlen(keys[i].name)) == 0 &&
				drawn[i][strlen(keys[i].name)] == '=',
			"%s", keys[i].name);
	ck_assert_ptr_null(keys[COUNT_OF(drawn)].name);
}

TEST(any_written_job_is_read_back_unchanged)
{
	enum { JOBS = 500 };
	const struct nb_job_key *keys = nb_job_keys();
	struct rng rng;
	rng_create(&rng, 20261120);
	for (int n = 0; n < JOBS; n++) {
		struct nb_job *job = job_of_text(n % 2 == 0 ? "[a]\n[b]\n[c]\n" : "[only]\n");
		for (size_t i = 0; i < COUNT_OF(drawn); i++) {
			if (rng_next(&rng) % 2 == 0)
				continue;
			set_one_of(job, "", drawn[i], &rng);
			if (is_of_load(drawn[i]))
				set_one_of(job, "load", drawn[i], &rng);
			for (size_t g = 0; !keys[i].is_global && g < job->group_count; g++)
				set_one_of(job, job->groups[g].name, drawn[i], &rng);
		}
		assert_written_whole(job);
		nb_job_delete(job);
	}
}

TEST(sizes_and_rates_made_by_hand_are_written)
{
	struct nb_job *job = job_of_text("[run]\nread = 1\nrate = 1k\n");
	free(job->values_text);
	job->values_text = NULL;
	job->values = (struct nb_sizes){.kind = NB_SIZE_UNIFORM, .min = 10, .max = 20};
	struct nb_group *group = &job->groups[0];
	free(group->rate_text);
	group->rate_text = NULL;
	free(group->rate);
	group->rate = calloc(2, sizeof(group->rate[0]));
	ck_assert_ptr_nonnull(group->rate);
	group->rate[0] = (struct nb_rate_step){
		.duration_ns = 30000000000u, .from_ops_s = 1000, .to_ops_s = 5000};
	group->rate[1] = (struct nb_rate_step){
		.duration_ns = UINT64_MAX, .from_ops_s = 5000, .to_ops_s = 5000};
	group->rate_count = 2;
	char *text;
	ck_assert_int_eq(nb_job_write(job, &text), NB_OK);
	ck_assert_ptr_nonnull(strstr(text, "\nvalue-size = uniform:10..20\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nrate = 1000..5000/30s,5000\n"));
	free(text);
	assert_written_whole(job);
	nb_job_delete(job);
}

TEST(job_that_no_file_can_express_is_refused)
{
	char *text;
	struct nb_job *job = job_of_text("[run]\nread = 1\n");
	strcpy(job->key_prefix, "user ");
	assert_usage(nb_job_write(job, &text),
		"key-prefix: a job file cannot hold a control character, or a blank at the edge of a value");
	strcpy(job->key_prefix, "user");
	strcpy(job->groups[0].name, "a]");
	assert_usage(nb_job_write(job, &text),
		"'a]' is not a name of a group: up to 47 letters, digits, '-' and '_'");
	strcpy(job->groups[0].name, "a");
	job->groups[0].distribution = 99;
	assert_usage(nb_job_write(job, &text), "distribution: unknown choice 99");
	job->groups[0].distribution = 0;
	free(job->values_text);
	job->values_text = NULL;
	job->values.kind = NB_SIZE_HISTOGRAM;
	assert_usage(nb_job_write(job, &text),
		"value-size: a histogram without the name of its file cannot be written");
	nb_job_delete(job);
}
