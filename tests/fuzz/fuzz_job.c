/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For libFuzzer: any bytes as a job file. A valid job is written, and reading and writing the
 * text again must give the same text. The lines are also set one by one, as --set does. The
 * target opens no files that a job names: it replaces '@' and "histogram".
 *
 *     tests/fuzz/fuzz_job -max_len=4096 -dict=.../job.dict NEW_CORPUS .../extra/workloads
 */
#include "fuzz.h"

static struct nb_job *
read_job(const void *data, size_t size)
{
	char path[FUZZ_PATH];
	struct nb_job *job;
	int fd = file_of(data, size, path);
	int rc = nb_job_read(&job, path);
	close(fd);
	if (rc != NB_OK)
		require(nb_error_text()[0] != '\0', "the failure has a text");
	return rc == NB_OK ? job : NULL;
}

static void
check_round_trip(const struct nb_job *job)
{
	char *text, *again;
	if (nb_job_write(job, &text) != NB_OK)
		return; /* a text that no line can contain */
	struct nb_job *copy = read_job(text, strlen(text));
	require(copy != NULL, "a written job can be read");
	require(nb_job_write(copy, &again) == NB_OK, "the copy can be written");
	require(strcmp(text, again) == 0, "both files are equal");
	require((nb_job_check(job) == NB_OK) == (nb_job_check(copy) == NB_OK),
		"both jobs have the same verdict");
	nb_job_delete(copy);
	free(text);
	free(again);
}

static void
set_lines(char *text)
{
	struct nb_job *job;
	require(nb_job_read(&job, NULL) == NB_OK, "the default job can be made");
	for (char *line; (line = strsep(&text, "\n")) != NULL;)
		(void)!nb_job_set(job, line);
	(void)!nb_job_check(job);
	nb_job_delete(job);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = text_of(data, size);
	for (size_t i = 0; i < size; i++)
		text[i] = data[i] == '@' ? 'x' : (char)data[i];
	if (memchr(text, '\0', size) == NULL)
		defuse(text);
	struct nb_job *job = read_job(text, size);
	if (job != NULL && nb_job_check(job) == NB_OK)
		check_round_trip(job);
	nb_job_delete(job);
	set_lines(text);
	free(text);
	return 0;
}
