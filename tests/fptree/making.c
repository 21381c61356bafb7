/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The creation of a pool, ended at each of its last fences and at some earlier ones. The next
 * open that may create a pool must then produce an empty, working tree. `mininb crash` kills
 * processes at other moments.
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include "../scratch.h"
#include "base/rng.h"
#include "recorder.h"
#include "workload.h"

enum { LAST = 20 /* the last fences, each tested */, EARLIER = 10, OPS_AFTER = 50 };

/*
 * Make a pool in a child process, up to the n-th fence; 0: completely. Returns the exit
 * status.
 */
static int
make_apart(const struct workload *workload, uint64_t n, uint64_t *fences)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct subject subject;
		uint64_t before = record_fences();
		record_fuse(n);
		bool is_made = subject_open(&subject, workload, ".", true);
		is_made = subject_close(&subject) && is_made;
		*fences = record_fences() - before;
		_exit(is_made ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void
check_made(const struct workload *workload)
{
	struct subject subject;
	struct model model = {0};
	bool is_right = subject_open(&subject, workload, ".", true) &&
		subject_check(&subject, &model);

	for (uint64_t i = 0; is_right && i < OPS_AFTER; i++) {
		struct op op = workload_op(workload, i);
		is_right = subject_do(&subject, &model, &op);
	}
	is_right = is_right && subject_check(&subject, &model);
	ck_assert_msg(is_right, "%s", subject_fault());
	ck_assert(subject_close(&subject));
}

TEST_EACH(next_open_completes_a_creation_that_ended_at_any_fence, shapes_count())
{
	uint64_t *fences = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct workload workload;
	struct rng rng;

	ck_assert_ptr_ne(fences, MAP_FAILED);
	rng_create(&rng, (uint64_t)_i);
	workload_create(&workload, &shapes[_i], 1);
	ck_assert_int_eq(make_apart(&workload, 0, fences), 0);
	ck_assert_uint_gt(*fences, LAST);
	for (unsigned i = 0; i < LAST + EARLIER; i++) {
		uint64_t n = i < LAST ? *fences - i : 1 + rng_below(&rng, *fences - LAST);
		char name[16];
		snprintf(name, sizeof(name), "%u", i);
		ck_assert_int_eq(mkdir(name, 0700), 0);
		ck_assert_int_eq(chdir(name), 0);
		ck_assert_int_eq(make_apart(&workload, n, &(uint64_t){0}), RECORD_FUSED);
		check_made(&workload);
		ck_assert_int_eq(chdir(".."), 0);
	}
}
