/* SPDX-License-Identifier: BSD-2-Clause */
#include "compare_rig.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

static const char *
version(void)
{
	return "1.0";
}

struct nb_results *
rig_results(void)
{
	struct nb_results *results;
	ck_assert_int_eq(nb_results_new(&results), NB_OK);
	return results;
}

static struct nb_histogram *
latencies(uint64_t count, double latency_ns)
{
	struct nb_histogram *histogram;
	ck_assert_int_eq(nb_histogram_new(&histogram), NB_OK);
	for (uint64_t i = 0; i < count; i++)
		nb_histogram_add(
			histogram, (uint64_t)(latency_ns * (1 + (double)i / (double)count)));
	return histogram;
}

static struct nb_result *
new_run(const char *driver, double rate_ops_s)
{
	struct nb_result *run = calloc(1, sizeof(*run));
	ck_assert_ptr_nonnull(run);
	run->engine = (struct nb_engine){
		.name = driver, .build = "release", .version = version};
	run->engine_version = version();
	run->version = nb_version();
	run->workload = (struct nb_workload)NB_WORKLOAD_INIT;
	run->workload.verb = NB_VERB_GET;
	run->workload.keys_path = strdup("keys.bin");
	run->workload.count = RIG_OPS;
	run->threads = 1;
	run->durability = NB_DUR_PROCESS;
	run->digest = 7;
	run->sysinfo.cpus = 4;
	snprintf(run->sysinfo.filesystem, sizeof(run->sysinfo.filesystem), "ext4");
	snprintf(run->environment.cpu, sizeof(run->environment.cpu), "a CPU");
	run->measured.has_begun = true;
	run->measured.ops = RIG_OPS;
	run->measured.wall_ns = (uint64_t)(RIG_OPS * 1e9 / rate_ops_s);
	return run;
}

static struct record *
append(struct nb_results *results, const char *driver, struct nb_result *run)
{
	struct record *record = results_append(results);
	ck_assert_ptr_nonnull(record);
	record->run = run;
	snprintf(record->driver, sizeof(record->driver), "%s", driver);
	return record;
}

struct record *
rig_add(struct nb_results *results, const char *driver, double rate_ops_s, double latency_ns)
{
	struct nb_result *run = new_run(driver, rate_ops_s);
	run->measured.service = latencies(RIG_OPS, latency_ns);
	return append(results, driver, run);
}

void
rig_add_spread(struct nb_results *results, const char *driver, double rate_ops_s,
	double latency_ns, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		rig_add(results, driver, rate_ops_s * (1 + 0.01 * i),
			latency_ns * (1 + 0.01 * i));
}

void
rig_set_contestant(struct record *record, uint32_t contestant, uint32_t round)
{
	record->contestant = contestant;
	record->block = round;
	snprintf(record->name, sizeof(record->name), "%s#%u", record->driver, contestant);
}

void
rig_set_taken(struct nb_results *results, uint32_t percent)
{
	for (size_t i = 0; i < results->count; i++) {
		struct nb_result *run = results->records[i].run;
		uint64_t available_ns = 4000000000; /* of four CPUs in a second */
		run->sysinfo.machine_cpus = 4;
		run->measured.usage_ns = 1000000000;
		run->measured.usage.user_ns = 500000000;
		run->measured.usage.steal_ns = available_ns / 100 * percent / 2;
		run->measured.usage.busy_ns = 500000000 + available_ns / 100 * percent -
			run->measured.usage.steal_ns;
	}
}

struct record *
rig_add_job(struct nb_results *results, const char *driver, double rate_ops_s, double read_ns,
	double update_ns)
{
	struct nb_result *job = new_run(driver, rate_ops_s);
	job->is_job = true;
	job->name = strdup("job");
	job->procs = 1;
	job->records = 1000;
	job->key_size = 16;
	job->value_min = 100;
	job->value_max = 100;
	job->groups = calloc(1, sizeof(*job->groups));
	job->group_count = 1;
	ck_assert_ptr_nonnull(job->groups);
	struct job_result_group *group = &job->groups[0];
	snprintf(group->name, sizeof(group->name), "all");
	group->threads = 1;
	group->measured.ops = RIG_OPS;
	group->measured.wall_ns = job->measured.wall_ns;
	group->measured.kinds[NB_OP_READ] = (struct job_kind){
		.ops = RIG_OPS / 2, .service = latencies(RIG_OPS / 2, read_ns)};
	group->measured.kinds[NB_OP_UPDATE] = (struct job_kind){
		.ops = RIG_OPS / 2, .service = latencies(RIG_OPS / 2, update_ns)};
	ck_assert_int_eq(nb_histogram_new(&job->service), NB_OK);
	ck_assert_int_eq(nb_histogram_new(&job->response), NB_OK);
	nb_histogram_merge(job->service, group->measured.kinds[NB_OP_READ].service);
	nb_histogram_merge(job->service, group->measured.kinds[NB_OP_UPDATE].service);
	nb_histogram_delete(job->measured.service);
	ck_assert_int_eq(nb_histogram_new(&job->measured.service), NB_OK);
	nb_histogram_merge(job->measured.service, job->service);
	return append(results, driver, job);
}

int
rig_compare(struct nb_comparison **out, const struct nb_results *first,
	const struct nb_results *second)
{
	const struct nb_compare_input inputs[] = {{first, "a.json"}, {second, "dir/b.json"}};
	struct nb_compare_options options = NB_COMPARE_OPTIONS_INIT;
	options.resamples = 1000;
	return nb_comparison_new(out, inputs, second != NULL ? 2 : 1, &options);
}

struct nb_comparison *
rig_compared(const struct nb_results *first, const struct nb_results *second)
{
	struct nb_comparison *comparison;
	ck_assert_msg(rig_compare(&comparison, first, second) == NB_OK, "%s", nb_error_text());
	return comparison;
}

const struct compare_metric *
rig_metric(const struct nb_comparison *comparison, const char *name)
{
	const struct compare_work *work = &comparison->works[0];
	for (size_t m = 0; m < work->metric_count; m++)
		if (strcmp(work->metrics[m].name, name) == 0)
			return &work->metrics[m];
	ck_abort_msg("no metric is named %s", name);
	return NULL;
}

char *
rig_written(const struct nb_comparison *comparison, const char *format, uint32_t flags)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	ck_assert_msg(nb_comparison_write(comparison, format, out, flags) == NB_OK, "%s",
		nb_error_text());
	fclose(out);
	return text;
}

void
rig_assert_has(const char *text, const char *part)
{
	ck_assert_msg(strstr(text, part) != NULL, "'%s' is not in:\n%s", part, text);
}

void
rig_assert_lacks(const char *text, const char *part)
{
	ck_assert_msg(strstr(text, part) == NULL, "'%s' is in:\n%s", part, text);
}
