/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One round of the crash test: it records operations on a tree. At their fences, it makes the
 * images that a crash may leave, opens and checks them, and continues writing to them.
 *
 * A round has one shape and one seed, and segments of some hundred operations. The first
 * segment begins with a new tree. Each other one begins with an image of the previous
 * segment, and its recording includes the opening of that image. So the test contains crashes
 * during a recovery and during operations after it, and a leak would add up. For some images,
 * the test also records the opening and crashes that again.
 *
 * A random choice selects the images that are checked, from all images of a segment, to meet
 * the requested number. The live run depends only on shape, seed and segment. So one image
 * can be made again without the others; the report of a failure names it.
 */
#include "round.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rng.h"
#include "image.h"
#include "segment.h"

enum {
	SEGMENTS = 4,           /* per round */
	OPS = 160,              /* per segment */
	OPS_AFTER = 32,         /* per image */
	INNER_EVERY = 48,       /* one image in so many is crashed again during its recovery, */
	INNER_EVERY_MENDED = 6, /* or one in so many that the recovery has repaired */
	INNER_IMAGES = 8,       /* approximate number of these second crashes */
	REOPEN_EVERY = 4,
	SPACE_EVERY = 8,
	NOTE_EVERY = 8, /* one return in so many is also a crash point */
};

/* The first operation after a crash; far from those of the segments. */
#define OPS_AFTER_FIRST (1ull << 40)

struct run {
	const struct settings *settings;
	struct tally *tally;
	struct workload workload;
	char path[64];
	uint64_t images;   /* to check in this round */
	bool has_repaired; /* did the last image that was opened need repairs? */
	struct image image;
	struct crash crash;
};

/* --- which images --- */

/* The number of images at this moment. */
static uint32_t
images_at(const struct segment *segment, const struct replay *replay, const struct event *event)
{
	uint64_t seed = segment->workload->seed;
	bool is_end = replay->next == replay->record->count;

	if (replay->next <= segment->made_at)
		return 0;
	if (event->kind == EVENT_FENCE)
		return replay->dirty_count > 0 ? crash_count(replay) : 0;
	if (is_end)
		return crash_count(replay);
	bool is_chosen = note_is_return(event) &&
		splitmix64_mix(seed + event->what) % NOTE_EVERY == 0;
	return is_chosen && replay->dirty_count > 0 ? crash_count(replay) : 0;
}

static uint64_t
images_of(const struct segment *segment)
{
	struct replay replay;
	uint64_t count = 0;

	replay_begin(&replay, &segment->record);
	for (const struct event *event; (event = replay_next(&replay)) != NULL;)
		count += images_at(segment, &replay, event);
	replay_end(&replay);
	return count;
}

/* --- failures --- */

static void
place_print(const struct place *place, FILE *to)
{
	fprintf(to, "%u.%llu.%llu", place->segment, (unsigned long long)place->event,
		(unsigned long long)place->k);
	if (place->is_inner)
		fprintf(to, ".%llu.%llu", (unsigned long long)place->inner_event,
			(unsigned long long)place->inner_k);
}

void
tell_repeat(const struct tally *tally, const struct settings *settings)
{
	fprintf(stderr, "again: %s", program_invocation_name);
	if (settings->threads > 1)
		fprintf(stderr, " --threads=%u (not for certain: two threads)",
			settings->threads);
	if (settings->mutant != 0)
		fprintf(stderr, " --mutant=%d", settings->mutant);
	fprintf(stderr, " --shape=%s --seed=%llu --image=", tally->shape,
		(unsigned long long)tally->seed);
	place_print(&tally->at, stderr);
	fputc('\n', stderr);
}

static bool
fail(struct run *run, const char *what, const struct replay *replay, const struct model *model)
{
	struct tally *tally = run->tally;
	char text[256];

	tally->is_failed = true;
	tally->is_told = true;
	if (run->settings->is_quiet)
		return false;
	fprintf(stderr, "FAILED: %s: %s\n", what, subject_fault());
	if (replay != NULL) {
		fprintf(stderr, "crash at event %zu of %zu, a %s\n", replay->next,
			replay->record->count,
			replay->record->events[replay->next - 1].kind == EVENT_FENCE ? "fence"
										     : "note");
		for (int t = 0; t < WORKLOAD_THREADS; t++)
			if (model->in_flight[t].is_there)
				fprintf(stderr, "in flight: %s\n",
					workload_op_text(
						&run->workload, &model->in_flight[t].op, text));
		crash_print(replay, &run->crash, stderr);
	}
	tell_repeat(tally, run->settings);
	return false;
}

/* --- one image --- */

/* The first operation for one image. */
static uint64_t
first_after(uint64_t lot)
{
	return OPS_AFTER_FIRST + (lot % 1024) * OPS_AFTER;
}

static bool
write_on(struct subject *subject, struct model *model, uint64_t lot)
{
	uint64_t first = first_after(lot);

	for (uint64_t i = 0; i < OPS_AFTER; i++) {
		struct op op = workload_op(subject->workload, first + i);
		if (!subject_do(subject, model, &op))
			return false;
	}
	return true;
}

static bool
reopen(struct run *run, struct subject *subject)
{
	return subject_close(subject) &&
		subject_open(subject, &run->workload, run->path, false);
}

static uint64_t
repaired(const struct subject *subject)
{
	struct tree_stats stats;
	tree_stats(subject->tree, &stats);
	return stats.repaired;
}

/* Test the image in the directory. NULL, or the name of the step that failed. */
static const char *
try_image(struct run *run, const struct model *before, uint64_t lot)
{
	struct subject subject;
	struct model model = *before;
	const char *failed = NULL;

	run->has_repaired = false;
	alarm(HANG_S);
	if (!subject_open(&subject, &run->workload, run->path, false))
		failed = "open";
	else
		run->has_repaired = repaired(&subject) > 0;
	if (failed == NULL && !subject_check(&subject, &model))
		failed = "check";
	if (failed == NULL && !write_on(&subject, &model, lot))
		failed = "write on";
	if (failed == NULL && !subject_check(&subject, &model))
		failed = "check after writing on";
	if (failed == NULL && lot % REOPEN_EVERY == 0 &&
		!(reopen(run, &subject) && subject_check(&subject, &model)))
		failed = "close, open and check after writing on";
	if (failed == NULL && lot % SPACE_EVERY == 0 &&
		!subject_check_space(&subject, &model, run->path))
		failed = "space";
	if (!subject_close(&subject) && failed == NULL)
		failed = "close";
	alarm(0);
	return failed;
}

static bool
image_make(struct run *run, const struct replay *replay, uint64_t k)
{
	crash_choose(replay, &run->crash, (uint32_t)k, run->workload.seed);
	if (image_write(&run->image, replay, &run->crash))
		return true;
	fprintf(stderr, "crash: no image: %s\n", strerror(errno));
	return false;
}

static uint64_t
lot_of(const struct run *run, const struct place *place)
{
	uint64_t lot = splitmix64_mix(run->workload.seed + place->segment);
	lot = splitmix64_mix(lot + place->event);
	lot = splitmix64_mix(lot + place->k);
	if (place->is_inner)
		lot = splitmix64_mix(splitmix64_mix(lot + place->inner_event) + place->inner_k);
	return lot;
}

static bool
check_image(struct run *run, const struct replay *replay, uint64_t k, const struct model *model)
{
	run->tally->images++;
	run->tally->pairs += model->in_flight[0].is_there && model->in_flight[1].is_there;
	if (!image_make(run, replay, k))
		return fail(run, "image", NULL, NULL);
	const char *failed = try_image(run, model, lot_of(run, &run->tally->at));
	return failed == NULL || fail(run, failed, replay, model);
}
/* --- crashes again --- */

static bool
live(struct run *run, struct segment *segment, bool is_new, uint64_t first, uint64_t count)
{
	bool is_right = segment_live(segment, is_new, first, count);

	run->tally->ops += count;
	run->tally->growths += segment->record.parts_count - segment->record.first_parts;
	return is_right;
}

static bool
wants_inner(const struct run *run, const struct place *at, uint64_t count)
{
	const struct place *wanted = &run->settings->place;

	if (run->settings->has_place)
		return at->inner_event == wanted->inner_event && at->inner_k == wanted->inner_k;
	return lot_of(run, at) % count < INNER_IMAGES;
}

static bool
explore_again(struct run *run, struct segment *segment)
{
	struct follower follower = follower_of(segment);
	struct place *at = &run->tally->at;
	uint64_t count = images_of(segment);
	struct replay replay;
	bool is_right = true;

	replay_begin(&replay, &segment->record);
	at->is_inner = true;
	for (const struct event *event; is_right && (event = replay_next(&replay)) != NULL;) {
		follow(&follower, event);
		uint32_t here = images_at(segment, &replay, event);
		for (uint32_t k = 0; is_right && k < here; k++) {
			at->inner_event = replay.next;
			at->inner_k = k;
			if (!wants_inner(run, at, count))
				continue;
			run->tally->inner_images++;
			is_right = check_image(run, &replay, k, &follower.model);
		}
	}
	at->is_inner = false;
	replay_end(&replay);
	return is_right;
}

/* Record the opening of the image and further writes, and test crashes in that recording. */
static bool
crash_again(struct run *run, const struct replay *replay, uint64_t k, const struct model *model)
{
	struct segment segment = {
		.workload = &run->workload, .path = run->path, .threads = 1, .first = *model};

	if (!image_make(run, replay, k))
		return fail(run, "image", NULL, NULL);
	image_end(&run->image);
	bool is_right = live(run, &segment, false, first_after(lot_of(run, &run->tally->at)),
				OPS_AFTER) ||
		fail(run, "open and write on, recorded", replay, model);
	is_right = is_right && explore_again(run, &segment);
	image_end(&run->image);
	record_free(&segment.record);
	return is_right;
}

/* --- a segment --- */

static bool
wants(const struct run *run, const struct place *at, uint64_t images, uint64_t count)
{
	const struct place *wanted = &run->settings->place;

	if (run->settings->has_place)
		return at->segment == wanted->segment && at->event == wanted->event &&
			at->k == wanted->k;
	return splitmix64_mix(lot_of(run, at)) % count < images;
}

static bool
check_place(struct run *run, const struct replay *replay, const struct model *model)
{
	const struct settings *settings = run->settings;
	struct place *at = &run->tally->at;

	if (settings->has_place && settings->place.is_inner)
		return crash_again(run, replay, at->k, model);
	if (!check_image(run, replay, at->k, model))
		return false;
	int every = run->has_repaired ? INNER_EVERY_MENDED : INNER_EVERY;
	return settings->has_place || lot_of(run, at) % every != 0 ||
		crash_again(run, replay, at->k, model);
}

static bool
explore(struct run *run, struct segment *segment)
{
	struct follower follower = follower_of(segment);
	struct place *at = &run->tally->at;
	uint64_t count = images_of(segment);
	struct replay replay;
	bool is_right = true;

	replay_begin(&replay, &segment->record);
	for (const struct event *event; is_right && (event = replay_next(&replay)) != NULL;) {
		follow(&follower, event);
		uint32_t here = images_at(segment, &replay, event);
		run->tally->points += here > 0;
		for (uint32_t k = 0; is_right && k < here; k++) {
			at->event = replay.next;
			at->k = k;
			if (wants(run, at, run->images / SEGMENTS, count))
				is_right = check_place(run, &replay, &follower.model);
		}
	}
	replay_end(&replay);
	image_end(&run->image);
	return is_right;
}

/* Leave a random image in the directory, and its state in `model`. */
static bool
leave_image(struct run *run, struct segment *segment, struct model *model)
{
	struct follower follower = follower_of(segment);
	uint64_t lot = splitmix64_mix(run->workload.seed + run->tally->at.segment);
	uint64_t left = lot % images_of(segment);
	struct replay replay;
	const struct event *event;

	replay_begin(&replay, &segment->record);
	while ((event = replay_next(&replay)) != NULL) {
		follow(&follower, event);
		uint32_t here = images_at(segment, &replay, event);
		if (left < here)
			break;
		left -= here;
	}
	*model = follower.model;
	bool is_made = image_make(run, &replay, left);
	replay_end(&replay);
	image_end(&run->image);
	return is_made;
}

static bool
run_segments(struct run *run)
{
	const struct settings *settings = run->settings;
	uint32_t segments = settings->has_place ? settings->place.segment + 1 : SEGMENTS;
	struct segment segment = {
		.workload = &run->workload, .path = run->path, .threads = settings->threads};
	bool is_right = true;

	for (uint32_t i = 0; is_right && i < segments; i++) {
		run->tally->at = (struct place){.segment = i};
		is_right = live(run, &segment, i == 0, (uint64_t)i * OPS, OPS) ||
			fail(run, "live run", NULL, NULL);
		if (is_right && (!settings->has_place || i == settings->place.segment))
			is_right = explore(run, &segment);
		struct model next = segment.first;
		if (is_right && i + 1 < segments)
			is_right = leave_image(run, &segment, &next);
		record_free(&segment.record);
		segment.first = next;
	}
	return is_right;
}

/* --- rounds --- */

static int
remove_entry(const char *path, const struct stat *st, int type, struct FTW *where)
{
	return remove(path);
}

void
round_clear(const struct tally *tally)
{
	nftw(tally->path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

bool
run_round(const struct settings *settings, struct tally *tally, const struct shape *shape,
	uint64_t seed, uint64_t images)
{
	struct run run = {.settings = settings, .tally = tally, .images = images};

	strcpy(run.path, "/dev/shm/mininb-crash-XXXXXX");
	if (mkdtemp(run.path) == NULL) {
		perror("crash: /dev/shm");
		return false;
	}
	strcpy(tally->path, run.path);
	snprintf(tally->shape, sizeof(tally->shape), "%s", shape->name);
	tally->seed = seed;
	run.image.is_mended = !settings->is_unmended;
	workload_create(&run.workload, shape, seed);
	bool is_right = run_segments(&run);
	image_end(&run.image);
	crash_free(&run.crash);
	tally->mended += run.image.mended_count;
	round_clear(tally);
	return is_right;
}
