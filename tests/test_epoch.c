/* SPDX-License-Identifier: BSD-2-Clause */
#include "epoch.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

#include "unit.h"

enum { SESSIONS = 4, KIND = 7, MANY = 10000 };

/* Released objects, in order. */
struct heap_of {
	size_t count;
	uint64_t what[MANY];
};

static struct heap_of first, second;
static struct epochs *epochs;
static struct epoch_slot *writer, *reader; /* used by most tests */

static void
keep(void *to, unsigned kind, uint64_t what)
{
	struct heap_of *heap = to;

	ck_assert_uint_eq(kind, KIND);
	ck_assert_uint_lt(heap->count, MANY);
	heap->what[heap->count++] = what;
}

static struct epoch_slot *
open_slot(unsigned id, struct heap_of *to)
{
	struct epoch_slot *slot = epoch_open(epochs, id, to);

	ck_assert_ptr_nonnull(slot);
	return slot;
}

static void
begin(void)
{
	first.count = second.count = 0;
	epochs = epochs_new(SESSIONS, keep);
	ck_assert_ptr_nonnull(epochs);
	writer = open_slot(0, &first);
	reader = open_slot(1, &second);
}

static void
end(void)
{
	epoch_close(reader, &second);
	epoch_close(writer, &second);
	epochs_delete(epochs);
}

TEST(invisible_objects_are_released_at_once)
{
	begin();
	epoch_retire(writer, KIND, 1);
	epoch_retire(writer, KIND, 2);
	ck_assert_uint_eq(first.count, 0);
	ck_assert_uint_eq(epoch_reclaim(writer), 2);
	ck_assert_uint_eq(first.count, 2);
	ck_assert_uint_eq(first.what[0], 1);
	ck_assert_uint_eq(first.what[1], 2);
	ck_assert_uint_eq(epoch_reclaim(writer), 0);
	end();
	ck_assert_uint_eq(first.count, 2);
}

TEST(objects_are_kept_while_an_earlier_reader_is_inside)
{
	begin();
	epoch_enter(reader);
	epoch_retire(writer, KIND, 1);
	for (int i = 0; i < 10; i++)
		ck_assert_uint_eq(epoch_reclaim(writer), 0);
	epoch_exit(reader);
	ck_assert_uint_eq(first.count, 0);
	ck_assert_uint_eq(epoch_reclaim(writer), 1);
	ck_assert_uint_eq(first.count, 1);
	end();
}

/*
 * An object is unlinked before it is retired, so a reader that entered in between may have seen
 * it.
 */
TEST(reader_that_entered_before_the_first_reclaim_delays_it)
{
	begin();
	epoch_retire(writer, KIND, 1);
	epoch_enter(reader);
	for (int i = 0; i < 10; i++)
		ck_assert_uint_eq(epoch_reclaim(writer), 0);
	epoch_exit(reader);
	ck_assert_uint_eq(epoch_reclaim(writer), 1);
	end();
}

TEST(readers_that_entered_later_delay_nothing)
{
	begin();
	struct epoch_slot *next = open_slot(2, &second);
	epoch_enter(reader);
	epoch_retire(writer, KIND, 1);
	ck_assert_uint_eq(epoch_reclaim(writer), 0);
	epoch_enter(next);
	epoch_exit(reader);
	epoch_retire(writer, KIND, 2);
	ck_assert_uint_eq(epoch_reclaim(writer), 1);
	ck_assert_uint_eq(first.what[0], 1);
	ck_assert_uint_eq(epoch_reclaim(writer), 0);
	epoch_exit(next);
	ck_assert_uint_eq(epoch_reclaim(writer), 1);
	ck_assert_uint_eq(first.what[1], 2);
	epoch_close(next, NULL);
	end();
}

TEST(repeated_stay_keeps_its_epoch_until_a_reclaim)
{
	begin();
	epoch_enter(reader);
	uint64_t earlier = reader->active;
	epoch_exit(reader);
	epoch_enter(reader);
	ck_assert(epoch_goes_on(reader, earlier));
	epoch_exit(reader);
	ck_assert(!epoch_goes_on(reader, earlier));
	epoch_retire(writer, KIND, 1);
	epoch_reclaim(writer);
	epoch_enter(reader);
	ck_assert(!epoch_goes_on(reader, earlier));
	epoch_exit(reader);
	end();
}

/* A reader delays the release of objects retired after it entered. */
TEST(oldest_reader_determines_the_release)
{
	begin();
	struct epoch_slot *next = open_slot(2, &second);
	epoch_enter(reader);
	for (uint64_t i = 0; i < 100; i++) {
		epoch_enter(next);
		epoch_retire(writer, KIND, i);
		ck_assert_uint_eq(epoch_reclaim(writer), 0);
		epoch_exit(next);
	}
	epoch_exit(reader);
	ck_assert_uint_eq(epoch_reclaim(writer), 100);
	for (uint64_t i = 0; i < 100; i++)
		ck_assert_uint_eq(first.what[i], i);
	epoch_close(next, NULL);
	end();
}

TEST(each_object_is_released_once_however_many_wait)
{
	begin();
	epoch_enter(reader);
	for (uint64_t i = 0; i < MANY; i++) {
		epoch_retire(writer, KIND, i);
		if (i % 1000 == 0)
			ck_assert_uint_eq(epoch_reclaim(writer), 0);
	}
	epoch_exit(reader);
	ck_assert_uint_eq(epoch_reclaim(writer), MANY);
	for (uint64_t i = 0; i < MANY; i++)
		ck_assert_uint_eq(first.what[i], i);
	end();
	ck_assert_uint_eq(first.count, MANY);
}

/* Otherwise each operation would issue a barrier while a reader is inside. */
TEST(reclaim_without_effect_is_not_due_again_at_once)
{
	begin();
	epoch_enter(reader);
	for (uint64_t round = 0; round < 3; round++) {
		size_t count = 0;
		for (; !epoch_is_due(writer); count++)
			epoch_retire(writer, KIND, count);
		ck_assert_uint_ge(count, 100);
		ck_assert_uint_eq(epoch_reclaim(writer), 0);
	}
	epoch_exit(reader);
	ck_assert_uint_gt(epoch_reclaim(writer), 0);
	ck_assert(!epoch_is_due(writer));
	end();
}

TEST(close_releases_as_many_objects_as_possible)
{
	begin();
	epoch_retire(writer, KIND, 1);
	epoch_close(writer, &second);
	ck_assert_uint_eq(first.count, 1);
	ck_assert_uint_eq(second.count, 0);
	epoch_close(reader, NULL);
	epochs_delete(epochs);
	ck_assert_uint_eq(first.count + second.count, 1);
}

TEST(leftovers_of_a_closed_slot_go_to_the_next_owner)
{
	begin();
	epoch_enter(reader);
	epoch_retire(writer, KIND, 1);
	epoch_close(writer, &second);
	ck_assert_uint_eq(first.count + second.count, 0);

	/* A session that has retired nothing itself, even in the slot of the first one. */
	struct epoch_slot *next = open_slot(0, &first);
	ck_assert_uint_eq(epoch_reclaim(next), 0);
	epoch_exit(reader);
	ck_assert_uint_eq(epoch_reclaim(next), 1);
	ck_assert_uint_eq(first.count, 0);
	ck_assert_uint_eq(second.count, 1);
	writer = next;
	end();
	ck_assert_uint_eq(first.count + second.count, 1);
}

TEST(delete_releases_all_waiting_objects)
{
	begin();
	epoch_enter(reader);
	epoch_retire(writer, KIND, 1);
	epoch_close(writer, &second);
	epoch_retire(reader, KIND, 2);
	epoch_exit(reader);
	ck_assert_uint_eq(first.count + second.count, 0);
	epochs_delete(epochs);
	ck_assert_uint_eq(first.count, 0);
	ck_assert_uint_eq(second.count, 2);
}

/*
 * Readers follow a link to a cell and check that it is the linked one. Writers link other
 * cells. A released cell is overwritten and reused. The reads are plain, so that
 * ThreadSanitizer detects missing ordering.
 */
enum { READERS = 2, WRITERS = 2, CELLS = 2000, SWAPS = 30000, LOOKS = 64 };

struct cell {
	uint64_t number, inverse;
};

struct writer {
	struct epoch_slot *slot;
	struct cell *free[(WRITERS + 1) * CELLS];
	size_t free_count, released;
	struct cell cells[CELLS];
};

static struct writer writers[WRITERS];
static struct cell *link;
static int writers_left;
static bool is_eager; /* reclaim after each swap */

static void
spoil(void *to, unsigned kind, uint64_t what)
{
	struct writer *own = to;
	struct cell *cell = (struct cell *)(uintptr_t)what;

	cell->number = cell->inverse = 0;
	own->released++;
	own->free[own->free_count++] = cell;
}

static void *
write_cells(void *at)
{
	struct writer *own = at;

	for (uint64_t i = 0; i < SWAPS; i++) {
		if (is_eager || epoch_is_due(own->slot))
			epoch_reclaim(own->slot);
		while (own->free_count == 0) {
			if (epoch_reclaim(own->slot) == 0)
				sched_yield();
		}
		struct cell *cell = own->free[--own->free_count];
		cell->number = i;
		cell->inverse = ~i;
		epoch_enter(own->slot);
		struct cell *old = __atomic_exchange_n(&link, cell, __ATOMIC_ACQ_REL);
		ck_assert_uint_eq(old->number, ~old->inverse);
		epoch_retire(own->slot, 0, (uintptr_t)old);
		epoch_exit(own->slot);
	}
	__atomic_fetch_sub(&writers_left, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void *
read_cells(void *at)
{
	struct epoch_slot *slot = at;
	uint64_t spoilt = 0;

	while (__atomic_load_n(&writers_left, __ATOMIC_RELAXED) > 0) {
		epoch_enter(slot);
		const struct cell *cell = __atomic_load_n(&link, __ATOMIC_ACQUIRE);
		uint64_t number = cell->number;
		for (int i = 0; i < LOOKS; i++) {
			__asm__ volatile("" ::: "memory");
			spoilt += cell->inverse != ~number || cell->number != number;
		}
		epoch_exit(slot);
	}
	return (void *)(uintptr_t)spoilt;
}

/* Eager: an object is released right after it was unlinked if no reader seems to be inside. */
TEST_EACH(no_reader_sees_a_released_object, 2)
{
	is_eager = _i == 1;
	struct cell start = {5, ~(uint64_t)5};
	pthread_t threads[READERS + WRITERS];
	struct epoch_slot *slots[READERS];

	epochs = epochs_new(READERS + WRITERS, spoil);
	ck_assert_ptr_nonnull(epochs);
	link = &start;
	writers_left = WRITERS;
	for (unsigned i = 0; i < WRITERS; i++) {
		struct writer *own = &writers[i];
		own->free_count = own->released = 0;
		own->slot = epoch_open(epochs, READERS + i, own);
		for (size_t k = 0; k < CELLS; k++)
			own->free[own->free_count++] = &own->cells[k];
	}
	for (unsigned i = 0; i < READERS; i++) {
		slots[i] = epoch_open(epochs, i, NULL);
		ck_assert_int_eq(pthread_create(&threads[i], NULL, read_cells, slots[i]), 0);
	}
	for (unsigned i = 0; i < WRITERS; i++)
		ck_assert_int_eq(
			pthread_create(&threads[READERS + i], NULL, write_cells, &writers[i]),
			0);
	for (unsigned i = 0; i < READERS + WRITERS; i++) {
		void *spoilt;
		pthread_join(threads[i], &spoilt);
		ck_assert_ptr_null(spoilt);
	}
	for (unsigned i = 0; i < WRITERS; i++)
		epoch_close(writers[i].slot, &writers[i]);
	for (unsigned i = 0; i < READERS; i++)
		epoch_close(slots[i], NULL);
	epochs_delete(epochs);
	size_t released = 0;
	for (unsigned i = 0; i < WRITERS; i++)
		released += writers[i].released;
	ck_assert_uint_eq(released, WRITERS * SWAPS);
}
