/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "unit.h"

TEST(failure_keeps_its_code_and_states_the_object_cause_and_place)
{
	ck_assert_str_eq(nb_error_text(), "");
	ck_assert_int_eq(error_set(NB_ERR_USAGE, "%s is %d", "x", 7), NB_ERR_USAGE);
	ck_assert_str_eq(nb_error_text(), "x is 7");
	ck_assert_int_eq(error_prefix(NB_ERR_USAGE, "--%s", "count"), NB_ERR_USAGE);
	ck_assert_str_eq(nb_error_text(), "--count: x is 7");
	errno = ENOENT;
	ck_assert_int_eq(error_system("open %s", "keys.bin"), NB_FAIL);
	ck_assert_str_eq(nb_error_text(), "open keys.bin: No such file or directory");
	error_set(NB_FAIL, "outer (%s)", nb_error_text()); /* contains the last text */
	ck_assert_str_eq(nb_error_text(), "outer (open keys.bin: No such file or directory)");
}

TEST(an_unknown_word_names_the_nearest_and_all)
{
	static const char *const words[] = {"reads", "writes"};
	ck_assert_int_eq(error_unknown("raeds", words, 2, "no '%s'", "raeds"), NB_ERR_USAGE);
	ck_assert_str_eq(
		nb_error_text(), "no 'raeds', did you mean 'reads'? Allowed: reads, writes");
	error_unknown("x", words, 2, "no 'x'");
	ck_assert_str_eq(nb_error_text(), "no 'x'; allowed: reads, writes");
	const char *many[200];
	for (size_t i = 0; i < 200; i++)
		many[i] = "reads";
	error_unknown("raeds", many, 200, "no");
	ck_assert_str_eq(nb_error_text(), "no, did you mean 'reads'?");
}

TEST(failed_thread_start_names_the_missing_resource)
{
	errno = EAGAIN;
	ck_assert_int_eq(error_thread("thread %d", 3), NB_FAIL);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "thread 3: cannot be started: "));
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "no memory for its stack (ulimit -v)"));
	errno = EPERM;
	ck_assert_int_eq(error_thread("thread %d", 3), NB_FAIL);
	ck_assert_ptr_null(strstr(nb_error_text(), "ulimit"));
}

TEST(a_long_text_ends_in_dots)
{
	char text[3000];
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	error_set(NB_FAIL, "%s", text);
	size_t length = strlen(nb_error_text());
	ck_assert_uint_gt(length, 500);
	ck_assert_uint_lt(length, sizeof(text) - 1);
	ck_assert_str_eq(nb_error_text() + length - 4, "x...");
}

TEST(a_long_name_does_not_hide_the_cause)
{
	char name[3000];
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	errno = ENOENT;
	error_system("%s", name);
	const char *cause = strstr(nb_error_text(), "...: No such file or directory");
	ck_assert_ptr_nonnull(cause);
	error_prefix(NB_FAIL, "%s", name);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "...: ...xxx"));
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "No such file or directory"));
}

static void *
fail_elsewhere(void *arg)
{
	size_t *length_before = arg;
	*length_before = strlen(nb_error_text());
	error_set(NB_FAIL, "elsewhere");
	return NULL;
}

TEST(each_thread_has_its_own_text)
{
	error_set(NB_FAIL, "here");
	pthread_t thread;
	size_t length_before = 99;
	ck_assert_int_eq(pthread_create(&thread, NULL, fail_elsewhere, &length_before), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_uint_eq(length_before, 0);
	ck_assert_str_eq(nb_error_text(), "here");
}

TEST(a_stop_stays_until_it_is_cleared)
{
	ck_assert(!stop_requested());
	nb_stop();
	nb_stop();
	ck_assert(stop_requested());
	ck_assert(stop_requested());
	nb_stop_clear();
	ck_assert(!stop_requested());
	ck_assert_int_eq(error_interrupted(), NB_ERR_INTERRUPTED);
	ck_assert_str_eq(nb_error_text(), "interrupted");
}

struct logged {
	int calls;
	uint32_t level;
	char text[2000];
};

static void
keep(void *arg, uint32_t level, const char *text)
{
	struct logged *logged = arg;
	logged->calls++;
	logged->level = level;
	strncpy(logged->text, text, sizeof(logged->text) - 1);
}

TEST(messages_go_only_to_the_selected_function)
{
	struct logged logged = {0};
	log_message(NB_LOG_WARNING, "nobody listens");
	nb_set_log(keep, &logged);
	log_message(NB_LOG_WARNING, "%d duplicate keys", 3);
	ck_assert_int_eq(logged.calls, 1);
	ck_assert_uint_eq(logged.level, NB_LOG_WARNING);
	ck_assert_str_eq(logged.text, "3 duplicate keys");
	nb_set_log(NULL, NULL);
	log_message(NB_LOG_WARNING, "nobody listens");
	ck_assert_int_eq(logged.calls, 1);
}

TEST(the_version_has_three_numbers)
{
	int major, minor, patch, end = 0;
	ck_assert_int_eq(sscanf(nb_version(), "%d.%d.%d%n", &major, &minor, &patch, &end), 3);
	ck_assert_int_eq(nb_version()[end], '\0');
}
