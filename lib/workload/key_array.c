/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file of keys as an array.
 *
 * keyspace.c maps the file as a key file with 8-byte keys, and ops.c makes the operations in
 * the order of the file. So operation i is a function of i and the file alone, and the stream
 * is the same for any number of threads. Threads take strata of OPS_STRATUM keys, 512 bytes of
 * the file, in turn. Rejected: one slice of the file per thread, because the operations of a
 * limited run would then depend on the number of threads.
 *
 * A key may occur several times in the file, so several threads may use it. The last value of
 * such a key is verified as for key files with duplicates (verify.c).
 */
#include "workload/key_array.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "workload/op_kind.h"

enum { KEY_SIZE = 8 };

static int
count_keys(uint64_t *count, const char *path)
{
	struct stat status;
	if (strcmp(path, "-") == 0)
		return error_set(NB_ERR_USAGE,
			"--array maps a file and cannot read the standard input; give its name");
	if (stat(path, &status) != 0)
		return error_system("%s", path);
	if (!S_ISREG(status.st_mode))
		return error_set(NB_ERR_USAGE, "%s: is not a file; --array needs one", path);
	*count = (uint64_t)status.st_size / KEY_SIZE;
	if (*count == 0)
		return error_set(NB_ERR_DATA, "%s: holds no key of %d bytes", path, KEY_SIZE);
	if (status.st_size % KEY_SIZE != 0)
		return error_set(NB_ERR_DATA,
			"%s: has %" PRIu64
			" keys of %d bytes and %d bytes more; is it cut off?",
			path, *count, KEY_SIZE, (int)(status.st_size % KEY_SIZE));
	return NB_OK;
}

static int
check_options(const struct nb_group *group, const struct nb_trace_options *options)
{
	if (options->format != NB_TRACE_AUTO && options->format != NB_TRACE_U64)
		return error_set(NB_ERR_USAGE,
			"--array needs a trace in the format u64, not %s; convert it first",
			nb_trace_format_name(options->format));
	if ((options->flags & NB_TRACE_KEY_TEXT) != 0)
		return error_set(NB_ERR_USAGE,
			"--array makes no text keys; use --key-bytes=big or little");
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++) {
		if (group->weights[kind] > 0 && ops_is_many(kind))
			return error_set(NB_ERR_USAGE,
				"an operation on an array has one key, and the mix has %s",
				nb_op_name(kind));
	}
	return NB_OK;
}

int
array_open(struct array *array, struct ops_spec *spec, const struct nb_trace_options *options)
{
	uint64_t count = 0;
	struct nb_sizes sizes = {.min = options->value_size, .max = options->value_size};
	int rc = check_options(spec->group, options);
	if (rc == NB_OK)
		rc = count_keys(&count, options->path);
	if (rc != NB_OK)
		return rc;
	array->job = *spec->job;
	array->group = *spec->group;
	array->job.records = array->job.space = count;
	array->job.key_format = NB_KEY_FILE;
	array->job.key_size = KEY_SIZE;
	array->job.keys_path = (char *)(uintptr_t)options->path; /* borrowed */
	array->group.distribution = NB_DIST_SEQUENTIAL;
	rc = keyspace_create(&array->keys, &array->job, count);
	if (rc == NB_OK)
		rc = sizes_create(&array->sizes, &sizes);
	if (rc != NB_OK)
		return rc;
	array->keys.is_swapped = (options->flags & NB_TRACE_KEY_LITTLE) == 0;
	ops_spec_create(spec, &array->job, &array->group, &array->keys, &array->sizes,
		spec->stream, spec->streams);
	ops_spec_be_array(spec);
	return NB_OK;
}

void
array_close(struct array *array)
{
	keyspace_destroy(&array->keys);
	sizes_destroy(&array->sizes);
}
