/* SPDX-License-Identifier: BSD-2-Clause */
/* --pinirq: moves network interrupts away from the CPUs of pinned threads. */
#include <stdio.h>
#include <stdlib.h>

#include "cmd_run.h"
#include "message.h"

int
irqs_begin(struct nb_irqs **irqs, const struct options *options, uint32_t threads,
	const char *cpus)
{
	*irqs = NULL;
	if (options->pinirq == NULL)
		return STATUS_DONE;
	if (threads == 0 && cpus == NULL)
		return message_usage(
			"--pinirq: the threads may run on any CPU; pin them by --pin, or by cpus of a group");
	int status = message_last_failure(nb_irqs_move(irqs, options->pinirq, threads, cpus));
	if (status == STATUS_DONE)
		message_log(NULL, NB_LOG_INFO, nb_irqs_text(*irqs));
	return status;
}

/** Maximum number of workers that --pin pins in one phase. */
static uint32_t
pinned_threads(const struct nb_job *job)
{
	uint32_t most = job->load != NULL ? job->load->threads : 0;
	for (size_t p = 0; p < job->group_count; p++) {
		uint32_t threads = 0;
		for (size_t g = 0; g < job->group_count; g++)
			if (job->groups[g].phase == job->groups[p].phase)
				threads += job->groups[g].threads;
		most = threads > most ? threads : most;
	}
	return most;
}

/** Joins the lists of all groups in *cpus, which the caller frees; NULL: no group has one. */
static int
join_cpus(char **cpus, const struct nb_job *job)
{
	size_t size;
	*cpus = NULL;
	FILE *out = open_memstream(cpus, &size);
	for (size_t g = 0; out != NULL && g < job->group_count; g++)
		if (job->groups[g].cpus != NULL)
			fprintf(out, "%s%s", ftell(out) > 0 ? "," : "", job->groups[g].cpus);
	if (out == NULL || fclose(out) != 0)
		return message_no_memory();
	if (size > 0)
		return STATUS_DONE;
	free(*cpus);
	*cpus = NULL;
	return STATUS_DONE;
}

int
irqs_begin_run(
	struct nb_irqs **irqs, const struct options *options, const struct nb_run_options *run)
{
	uint32_t threads = run->job != NULL ? pinned_threads(run->job) : run->threads;
	bool is_pinned = (run->flags & NB_RUN_PIN) != 0;
	char *cpus = NULL;
	int status = run->job != NULL ? join_cpus(&cpus, run->job) : STATUS_DONE;
	if (status == STATUS_DONE)
		status = irqs_begin(irqs, options, is_pinned ? threads * run->procs : 0, cpus);
	free(cpus);
	return status;
}

int
irqs_end(struct nb_irqs *irqs, int status)
{
	int restored = message_last_failure(nb_irqs_restore(irqs));
	return status == STATUS_DONE ? restored : status;
}
