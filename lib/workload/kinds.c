/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kinds of operations that are lists of steps.
 *
 *     [kind transfer]
 *     steps = get*2, put@1, add:5
 *     atomic = required
 *     calls = transaction
 *
 * Each step draws its own record. VERB*3 is three steps; VERB*1..4 is a number of steps drawn
 * for each operation; VERB@1 uses the records of the first step. A kind whose steps only read
 * is read-only.
 */
#include <mininb/engine.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/lines.h"
#include "workload/job.h"
#include "workload/kinds.h"
#include "workload/op_kind.h"

static const char *const verbs[] = {[NB_STEP_GET] = "get",
	[NB_STEP_PUT] = "put",
	[NB_STEP_DEL] = "delete",
	[NB_STEP_INSERT] = "insert",
	[NB_STEP_MERGE] = "add",
	[NB_STEP_PUT_IF_NEWER] = "put-if-newer",
	[NB_STEP_PREFIX_EMPTY] = "prefix-empty"};
enum { VERBS = sizeof(verbs) / sizeof(verbs[0]) };

static const char *const atomics[] = {
	[NB_ATOMIC_YES] = "yes", [NB_ATOMIC_NO] = "no", [NB_ATOMIC_REQUIRED] = "required"};
enum { ATOMICS = sizeof(atomics) / sizeof(atomics[0]) };

static const char *const calls[] = {[NB_CALLS_AUTO] = "auto",
	[NB_CALLS_EXECUTE] = "execute",
	[NB_CALLS_TRANSACTION] = "transaction",
	[NB_CALLS_BATCH] = "batch",
	[NB_CALLS_SINGLE] = "single"};
enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

const char *
kind_calls_name(const struct nb_kind *kind)
{
	return calls[kind->calls];
}

static const struct nb_kind kind_add_row = {.name = "add",
	.step_count = 1,
	.steps = {{.verb = NB_STEP_MERGE, .times_min = 1, .times_max = 1}}};

const struct nb_kind *
kind_row(const struct nb_job *job, uint32_t kind)
{
	if (kind == KIND_ADD)
		return &kind_add_row;
	return kind >= KIND_OWN && kind - KIND_OWN < job->kind_count
		? &job->kinds[kind - KIND_OWN]
		: NULL;
}

const char *
kind_name(const struct nb_job *job, uint32_t kind)
{
	const struct nb_kind *own = kind_row(job, kind);
	return own != NULL ? own->name : nb_op_name(kind);
}

uint32_t
kind_find(const struct nb_job *job, const char *name)
{
	for (uint32_t i = 0; i < job->kind_count; i++) {
		if (strcmp(job->kinds[i].name, name) == 0)
			return KIND_OWN + i;
	}
	return NB_KINDS_MAX;
}

int
kind_add(struct nb_job *job, const char *name)
{
	size_t size = sizeof(((struct nb_kind *)NULL)->name), length = strnlen(name, size);
	if (length == 0 || length == size || name[0] < 'a' || name[0] > 'z' ||
		name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")] != '\0')
		return error_set(NB_ERR_USAGE,
			"'%.*s' is not a name of a kind: a letter a-z, then a-z, 0-9 and '-', at most %zu",
			JOB_QUOTE_MAX, name, size - 1);
	if (job_keys_find(name) != NULL || kind_find(job, name) < NB_KINDS_MAX)
		return error_set(
			NB_ERR_USAGE, "[kind %s]: the name is taken; choose another one", name);
	if (KIND_OWN + job->kind_count >= NB_KINDS_MAX)
		return error_set(NB_ERR_USAGE,
			"[kind %s]: a job has at most %u kinds of its own", name,
			NB_KINDS_MAX - KIND_OWN);
	struct nb_kind *kind = array_append(&job->kinds, &job->kind_count, sizeof(*kind));
	if (kind == NULL)
		return NB_FAIL;
	memcpy(kind->name, name, length + 1);
	return NB_OK;
}

/* ---- steps as text ---- */

/** Cut the text at the first `mark`; returns the rest after it, or NULL. */
static char *
cut_at(char *text, char mark)
{
	char *at = strchr(text, mark);
	if (at == NULL)
		return NULL;
	*at = '\0';
	return at + 1;
}

static int
parse_times(struct nb_kind_step *step, char *text)
{
	char *dots = strstr(text, "..");
	if (dots != NULL)
		*dots = '\0';
	uint64_t min, max;
	int rc = nb_parse_count(&min, text);
	max = min;
	if (rc == NB_OK && dots != NULL)
		rc = nb_parse_count(&max, dots + 2);
	if (rc != NB_OK || min == 0 || min > max || max > NB_ITEMS_MAX)
		return error_set(NB_ERR_USAGE,
			"%s: after '*' comes a number or a range of 1 to %u, such as *3 or *1..4",
			verbs[step->verb], NB_ITEMS_MAX);
	step->times_min = (uint32_t)min;
	step->times_max = (uint32_t)max;
	return NB_OK;
}

/** Parse "get*2", "put@1" or "add:5". */
static int
parse_step(struct nb_kind *kind, char *text)
{
	if (kind->step_count == NB_KIND_STEPS_MAX)
		return error_set(NB_ERR_USAGE, "more than %u steps", NB_KIND_STEPS_MAX);
	struct nb_kind_step *step = &kind->steps[kind->step_count];
	*step = (struct nb_kind_step){.times_min = 1, .times_max = 1};
	char *same = cut_at(text, '@'), *times = cut_at(text, '*'), *delta = cut_at(text, ':');
	while (step->verb < VERBS && strcmp(verbs[step->verb], text) != 0)
		step->verb++;
	if (step->verb == VERBS)
		return error_unknown(
			text, verbs, VERBS, "unknown step '%.*s'", JOB_QUOTE_MAX, text);
	if (delta != NULL &&
		(step->verb != NB_STEP_MERGE ||
			nb_parse_count(&step->operand, delta) != NB_OK || step->operand == 0))
		return error_set(NB_ERR_USAGE,
			"%s:%.*s: only add takes a number, from 1 up: add:5", text,
			JOB_QUOTE_MAX, delta);
	if (times != NULL && same != NULL)
		return error_set(NB_ERR_USAGE,
			"%s: '@' takes the records of another step; remove '*'", text);
	uint64_t number = 0;
	if (same != NULL &&
		(nb_parse_count(&number, same) != NB_OK || number == 0 ||
			number > kind->step_count))
		return error_set(NB_ERR_USAGE,
			"%s@%.*s: after '@' comes the number of a step before it, from 1 up",
			text, JOB_QUOTE_MAX, same);
	step->same = (uint32_t)number;
	if (same != NULL) {
		step->times_min = kind->steps[number - 1].times_min;
		step->times_max = kind->steps[number - 1].times_max;
	}
	kind->step_count++;
	return times != NULL ? parse_times(step, times) : NB_OK;
}

static int
set_steps(struct nb_kind *kind, const char *text)
{
	struct nb_kind made = *kind;
	char *copy = strdup(text), *rest = copy;
	int rc = copy != NULL ? NB_OK : error_memory();
	made.step_count = 0;
	for (char *word; rc == NB_OK && (word = strsep(&rest, ",")) != NULL;)
		rc = parse_step(&made, lines_trim(word, word + strlen(word)));
	if (rc == NB_OK)
		rc = kind_check(&made);
	if (rc == NB_OK)
		*kind = made;
	free(copy);
	return rc;
}

static int
set_choice(uint32_t *out, const char *text, const char *const names[], uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (strcmp(names[i], text) == 0) {
			*out = i;
			return NB_OK;
		}
	}
	return error_unknown(text, names, count, "'%.*s' is not known", JOB_QUOTE_MAX, text);
}

int
kind_set(struct nb_kind *kind, const char *key, const char *text)
{
	static const char *const keys[] = {"steps", "atomic", "snapshot", "calls"};
	int rc;
	if (strcmp(key, "steps") == 0)
		rc = set_steps(kind, text);
	else if (strcmp(key, "atomic") == 0)
		rc = set_choice(&kind->atomic, text, atomics, ATOMICS);
	else if (strcmp(key, "snapshot") == 0)
		rc = set_choice(&kind->snapshot, text, atomics, NB_ATOMIC_NO + 1);
	else if (strcmp(key, "calls") == 0)
		rc = set_choice(&kind->calls, text, calls, CALLS);
	else
		return error_unknown(key, keys, sizeof(keys) / sizeof(keys[0]),
			"[kind %s] has no key '%.*s'", kind->name, JOB_QUOTE_MAX, key);
	return rc == NB_OK ? NB_OK : error_prefix(rc, "%s", key);
}

static void
write_step(FILE *to, const struct nb_kind_step *step)
{
	fputs(verbs[step->verb], to);
	if (step->operand > 0)
		fprintf(to, ":%" PRIu64, step->operand);
	if (step->same > 0)
		fprintf(to, "@%" PRIu32, step->same);
	else if (step->times_max > 1)
		fprintf(to, "*%" PRIu32, step->times_min);
	if (step->same == 0 && step->times_max != step->times_min)
		fprintf(to, "..%" PRIu32, step->times_max);
}

void
kind_write(FILE *to, const struct nb_kind *kind)
{
	fprintf(to, "\n[kind %s]\nsteps = ", kind->name);
	for (uint32_t s = 0; s < kind->step_count; s++) {
		fputs(s > 0 ? ", " : "", to);
		write_step(to, &kind->steps[s]);
	}
	fputc('\n', to);
	if (kind->atomic != NB_ATOMIC_YES)
		fprintf(to, "atomic = %s\n", atomics[kind->atomic]);
	if (kind->snapshot != NB_ATOMIC_YES)
		fprintf(to, "snapshot = %s\n", atomics[kind->snapshot]);
	if (kind->calls != NB_CALLS_AUTO)
		fprintf(to, "calls = %s\n", calls[kind->calls]);
}

/* ---- properties ---- */

int
kind_check(const struct nb_kind *kind)
{
	if (kind->step_count == 0 || kind->step_count > NB_KIND_STEPS_MAX)
		return error_set(NB_ERR_USAGE, "a kind has 1 to %u steps: steps = get*2, put@1",
			NB_KIND_STEPS_MAX);
	for (uint32_t s = 0; s < kind->step_count; s++) {
		const struct nb_kind_step *step = &kind->steps[s];
		const struct nb_kind_step *like = step->same > 0 && step->same <= s
			? &kind->steps[step->same - 1]
			: step;
		if (step->verb >= VERBS || step->same > s || step->times_min == 0 ||
			step->times_min > step->times_max || like->times_max != step->times_max)
			return error_set(NB_ERR_USAGE, "step %u is not a step", s + 1);
	}
	if (kind->atomic >= ATOMICS || kind->snapshot > NB_ATOMIC_NO || kind->calls >= CALLS)
		return error_set(
			NB_ERR_USAGE, "atomic, snapshot or calls has a value that is none");
	if (kind_records_max(kind) > NB_ITEMS_MAX)
		return error_set(NB_ERR_USAGE, "the steps may go to %u records; allowed: %u",
			kind_records_max(kind), NB_ITEMS_MAX);
	return NB_OK;
}

uint32_t
kind_verbs(const struct nb_kind *kind)
{
	uint32_t bits = 0;
	for (uint32_t s = 0; s < kind->step_count; s++)
		bits |= 1u << kind->steps[s].verb;
	return bits;
}

uint32_t
kind_records_max(const struct nb_kind *kind)
{
	uint32_t records = 0;
	for (uint32_t s = 0; s < kind->step_count; s++)
		records += kind->steps[s].times_max;
	return records;
}

uint32_t
kinds_verbs(const struct nb_job *job, const struct nb_group *group)
{
	uint32_t bits = 0;
	for (uint32_t kind = KIND_ADD; kind < NB_KINDS_MAX; kind++) {
		const struct nb_kind *own = kind_row(job, kind);
		bits |= own != NULL && group->weights[kind] > 0 ? kind_verbs(own) : 0;
	}
	return bits;
}

bool
kinds_have_counters(const struct nb_job *job)
{
	uint32_t bits = 0;
	for (size_t g = 0; g < job->group_count; g++)
		bits |= kinds_verbs(job, &job->groups[g]);
	return (bits & 1u << NB_STEP_MERGE) != 0;
}

const struct nb_sizes *
kinds_sizes(const struct nb_job *job)
{
	static const struct nb_sizes counters = {
		.kind = NB_SIZE_FIXED, .min = sizeof(uint64_t), .max = sizeof(uint64_t)};
	return kinds_have_counters(job) ? &counters : &job->values;
}
