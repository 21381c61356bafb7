/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For libFuzzer: any bytes as a job file. What is read and makes sense is written, and what
 * was written has to be read and to be written as the same; besides, its lines are set one
 * by one as --set does. Files that a job names are not opened: '@' and "histogram:" are
 * taken out.
 *
 *     tests/fuzz/fuzz_job -max_len=4096 NEW_CORPUS .../extra/workloads
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mininb/mininb.h>

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(int is_true, const char *what)
{
	if (is_true)
		return;
	fprintf(stderr, "not so: %s (%s)\n", what, nb_error_text());
	abort();
}

/** A file in memory with these bytes, under a name that can be opened. */
static int
make_file(const void *data, size_t size, char *path, size_t path_size)
{
	int fd = memfd_create("job", 0);
	require(fd >= 0 && write(fd, data, size) == (ssize_t)size, "memfd_create, write");
	snprintf(path, path_size, "/proc/self/fd/%d", fd);
	return fd;
}

static struct nb_job *
read_job(const void *data, size_t size)
{
	char path[64];
	struct nb_job *job;
	int fd = make_file(data, size, path, sizeof(path));
	int rc = nb_job_read(&job, path);
	close(fd);
	if (rc != NB_OK)
		require(nb_error_text()[0] != '\0', "a failure has a text");
	return rc == NB_OK ? job : NULL;
}

static void
check_round_trip(const struct nb_job *job)
{
	char *text, *again;
	if (nb_job_write(job, &text) != NB_OK)
		return; /* a text that no line can hold */
	struct nb_job *copy = read_job(text, strlen(text));
	require(copy != NULL, "what was written is read");
	require(nb_job_write(copy, &again) == NB_OK, "and written again");
	require(strcmp(text, again) == 0, "as the same");
	require((nb_job_check(job) == NB_OK) == (nb_job_check(copy) == NB_OK), "and as good");
	nb_job_delete(copy);
	free(text);
	free(again);
}

static void
set_lines(char *text)
{
	struct nb_job *job;
	require(nb_job_read(&job, NULL) == NB_OK, "a job of defaults");
	for (char *line; (line = strsep(&text, "\n")) != NULL;)
		(void)!nb_job_set(job, line);
	(void)!nb_job_check(job);
	nb_job_delete(job);
}

/** No other file is to be opened by what an input says. */
static void
defuse(char *text)
{
	for (char *at = text; (at = strpbrk(at, "@h")) != NULL; at++) {
		if (*at == '@' || strncmp(at, "histogram", strlen("histogram")) == 0)
			*at = 'x';
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	require(text != NULL, "memory");
	for (size_t i = 0; i < size; i++)
		text[i] = data[i] == '@' ? 'x' : (char)data[i];
	text[size] = '\0';
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
