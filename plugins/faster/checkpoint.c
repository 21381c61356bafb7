/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checkpoints: the log up to a cut, and a copy of the index in the file `index`.
 *
 * The copy is fuzzy, as in FASTER: it is made while sessions change the index. Its steps:
 *
 *   1  Choose `start`, the end of a seal. All records before it are linked then, and no session
 *      appends another one there. Most of these records still change in place.
 *   2  Copy the entries that point to records before it, with a temporary name. A chain that gets
 *      a newer record meanwhile may be missing.
 *   3  Write and sync a cut of the log, `end`. It is after all these newer records.
 *   4  Sync the copy, and give it its name.
 *
 * An open loads the copy and reads the log from `start`, at least up to `end` (recover.c). Because
 * of step 3, no crash loses the log before `end`. If it is damaged, the open ignores the copy.
 *
 * The checkpoint has only one cut. A cut at the start, too, would make the sessions copy each record
 * twice.
 *
 * No session waits for a copy. Only the growth of the index does, because it moves entries. The
 * copy is made in chunks and pauses after each one, so it takes a part of a processor only.
 *
 * Without its copy, a database is complete. So a copy that fails is a warning.
 */
#include "store.h"

#include "index_file.h"
#include "pace.h"

enum {
	WORD_SIZE = 8,
	PAUSE = 4 /* times the processor time of a chunk: the copy takes a fifth of one CPU */
};
/* A log of this size is read in some hundredths of a second. */
#define REPLAY_MIN (16ull << 20)

struct copy {
	struct index_file file;
	bool is_paced;
	struct pace pace;
	int error;
};

static bool
take_word(void *to, uint64_t word)
{
	struct copy *copy = to;
	bool is_full;

	copy->error = index_file_add(&copy->file, word, &is_full);
	if (is_full && copy->is_paced)
		pace_pause(&copy->pace);
	return copy->error == 0;
}

/* Steps 2 and 3. Returns 0, errno, or ECANCELED if the log has failed. */
static int
copy_index(struct nb_db *db, struct copy *copy, uint64_t start)
{
	struct index_head head = {.start = start, .tag_level = db->index.tag_level};
	struct cut end;

	pace_begin(&copy->pace, PAUSE);
	pthread_mutex_lock(&db->shaping);
	moment_reached(MOMENT_INDEX_COPY);
	head.level = index_copy(&db->index, log_read(&db->log.begin), start, take_word, copy);
	moment_reached(MOMENT_INDEX_COPIED);
	pthread_mutex_unlock(&db->shaping);
	keeper_ask(db); /* the index may have to grow since */
	if (copy->error != 0)
		return copy->error;
	if (log_cut(&db->log, true, copy->is_paced, &end) != NB_OK)
		return ECANCELED;
	head.end = end.address;
	head.end_checksum = end.checksum;
	return index_file_finish(&copy->file, &head);
}

static int
write_index(struct nb_db *db, uint64_t start, bool is_paced)
{
	char path[sizeof(db->path) + 16], made[sizeof(db->path) + 16];
	struct copy copy = {.is_paced = is_paced};

	snprintf(path, sizeof(path), "%s/index", db->path);
	snprintf(made, sizeof(made), "%s/index.new", db->path);
	int error = index_file_create(&copy.file, made);
	if (error != 0)
		return error;
	error = copy_index(db, &copy, start);
	index_file_close(&copy.file);
	moment_reached(MOMENT_INDEX_WRITTEN);
	if (error == 0 && rename(made, path) != 0)
		error = errno;
	if (error == 0)
		return sync_path(db->path);
	(void)unlink(made);
	return error;
}

/*
 * Whether a copy saves a later open enough: it is smaller than the log that it replaces. With
 * INDEX_YES, it only has to contain the first record of the log, or more than the last copy.
 */
static bool
is_worth_it(struct nb_db *db, uint64_t start)
{
	uint64_t begin = log_read(&db->log.begin) + SEAL_SIZE;
	uint64_t from = db->index_start > begin ? db->index_start : begin;
	struct counts sum;

	if (db->index_files != INDEX_AUTO)
		return db->index_files == INDEX_YES && start > from;
	keeper_sum(db, &sum);
	return start > from + REPLAY_MIN && start - from > sum.entries * WORD_SIZE;
}

int
checkpoint_write(struct nb_db *db, bool is_synced, bool is_paced)
{
	struct cut cut;
	int rc = is_paced ? NB_OK : log_flush(&db->log, false);

	if (rc != NB_OK)
		return rc;
	uint64_t start = is_worth_it(db, log_tail(&db->log)) ? log_bound(&db->log) : 0;
	if (!is_worth_it(db, start))
		return log_cut(&db->log, is_synced, is_paced, &cut);
	int error = write_index(db, start, is_paced);
	if (error == ECANCELED)
		return log_fail(&db->log);
	if (error != 0) {
		db->host->log(NB_LOG_WARNING,
			"faster: no checkpoint of the index in %s, so the next open reads more of the log: %s",
			db->path, strerror(error));
		return log_cut(&db->log, is_synced, is_paced, &cut);
	}
	db->index_start = start;
	count_one(&db->index_checkpoints);
	return NB_OK;
}
