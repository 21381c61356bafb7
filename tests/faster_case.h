/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FASTER_CASE_H
#define FASTER_CASE_H
/**
 * The one database of a test, with a session of the test's thread. Keys and values are numbers
 * of 8 bytes. A failed call ends the test, unless the function returns an answer.
 */
#include "faster_rig.h"

extern struct rig rig;
extern struct nb_session *session;

void
case_begin_at(const struct rig *how, const char *path);
void
case_begin(const struct rig *how);
void
case_end(void);

int
put_in(struct nb_session *own, uint64_t key, uint64_t value);
int
get_number(uint64_t key, uint64_t *number);

void
put_number(uint64_t key, uint64_t value);
/** Returns UINT64_MAX if the key does not exist. */
uint64_t
number_at(uint64_t key);

/** Put the keys in [from, to), or check their values. The value is the key plus `more`. */
void
put_many(uint64_t from, uint64_t to, uint64_t more);
void
has_many(uint64_t from, uint64_t to, uint64_t more);

void
flush_log(void);
void
make_checkpoint(void);

/** Copy the files to this directory as a crash of the process leaves them. */
void
copy_files(const char *to);

/** Check that the failure contains the text. */
void
is_told(const char *text);

/** Check that the open has loaded a copy of the index with so many keys; some share an entry. */
void
is_loaded(uint64_t keys);
/** Check that it has not, and has logged why; NULL: it has logged nothing. */
void
is_not_loaded(const char *why);
/** Check that the open has logged only that it dropped records after the last cut. */
void
dropped_a_tail(void);

#endif /* FASTER_CASE_H */
