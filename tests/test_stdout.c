/* SPDX-License-Identifier: BSD-2-Clause */
/* Output of an engine does not mix with results. */
#include "base/stdout.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mininb/mininb.h>

#include "unit.h"

/** The output on both descriptors. */
struct outputs {
	char out[256], err[256];
};

static void
read_all(int fd, char *to, size_t room)
{
	size_t used = 0;
	for (ssize_t got; (got = read(fd, to + used, room - 1 - used)) > 0;)
		used += (size_t)got;
	to[used] = '\0';
	close(fd);
}

/** Call `act` in a child with its own descriptors. */
static struct outputs
outputs_of(void (*act)(void))
{
	static struct outputs seen;
	int out[2], err[2], status;
	ck_assert(pipe(out) == 0 && pipe(err) == 0);
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(out[1], STDOUT_FILENO);
		dup2(err[1], STDERR_FILENO);
		act();
		fflush(NULL);
		_exit(0);
	}
	close(out[1]);
	close(err[1]);
	read_all(out[0], seen.out, sizeof(seen.out));
	read_all(err[0], seen.err, sizeof(seen.err));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	return seen;
}

static void
print_as_an_engine(void)
{
	printf("a line\n");
	if (write(STDOUT_FILENO, "bytes\n", 6) != 6)
		_exit(1);
	if (system("echo of a child") != 0)
		_exit(1);
}

static void
keep_and_print(void)
{
	if (nb_keep_stdout() != NB_OK || nb_keep_stdout() != NB_OK)
		_exit(1);
	fprintf(nb_stdout(), "result ");
	print_as_an_engine();
	fprintf(nb_stdout(), "ends\n");
}

TEST(prints_of_engines_go_to_standard_error)
{
	struct outputs seen = outputs_of(keep_and_print);
	ck_assert_str_eq(seen.out, "result ends\n");
	ck_assert_ptr_nonnull(strstr(seen.err, "a line\n")); /* stdio may print later */
	ck_assert_ptr_nonnull(strstr(seen.err, "bytes\nof a child\n"));
	ck_assert_uint_eq(strlen(seen.err), strlen("a line\nbytes\nof a child\n"));
}

static void
write_by_name(void)
{
	if (nb_keep_stdout() != NB_OK || nb_file_write("/dev/stdout", "file ", 5) != NB_OK ||
		nb_file_write("/dev/fd/1", "again", 5) != NB_OK)
		_exit(1);
}

TEST(names_of_standard_output_refer_to_the_kept_descriptor)
{
	struct outputs seen = outputs_of(write_by_name);
	ck_assert_str_eq(seen.out, "file again");
	ck_assert_str_eq(seen.err, "");
	ck_assert_str_eq(stdout_path("/dev/stdout"), "/dev/stdout"); /* nothing saved */
}

static void
write_to_one_that_is_closed(void)
{
	close(STDOUT_FILENO);
	if (nb_keep_stdout() == NB_OK || fileno(nb_stdout()) != STDOUT_FILENO)
		_exit(1);
}

TEST(closed_standard_output_is_a_failure)
{
	outputs_of(write_to_one_that_is_closed);
}
