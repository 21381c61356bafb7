/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CROWD_H
#define CROWD_H
/**
 * Tests of an ordered engine that many sessions use at once. A thread performs a number of
 * operations, or continues until others have finished theirs. So no test depends on time. Each
 * checks the subject at its end, and again after a reopen.
 */
#include "contest.h"

/** No addition is lost, while other records come and go between those that are added to. */
void
crowd_add(struct contest_subject *subject);

/** A scan returns each record that exists throughout, once and in order. */
void
crowd_scan(struct contest_subject *subject);

/** Writers of separate keys see exactly their own writes. */
void
crowd_write(struct contest_subject *subject);

/** No insert is lost if all sessions insert at the same place, the end or the beginning. */
void
crowd_insert_in_order(struct contest_subject *subject);

/** Lent values stay while sessions open and close. */
void
crowd_visit(struct contest_subject *subject);

#endif /* CROWD_H */
