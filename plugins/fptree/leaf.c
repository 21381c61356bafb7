/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading and writing slots of the two formats. leaf.h describes how a torn slot looks and
 * why it is never taken for a record.
 *
 * A struct record has key and value in contiguous bytes. This needs a copy if they are not
 * contiguous in the slot. Searches cannot afford the copy; they compare in place (verbs.c).
 */
#include "leaf.h"

void
layout_set(struct layout *layout, const struct pool_layout *pool)
{
	*layout = (struct layout){
		.format = pool->format,
		.slots = pool->leaf_slots,
		.slot_bytes = pool->slot_bytes,
		.key_size = pool->key_size,
		.value_size = pool->value_size,
	};
	uint32_t lines = pool->slot_bytes / PM_LINE;
	bool is_words = layout->format == LEAF_WORDS;
	/* In LEAF_WORDS, the offset of the next leaf takes the place of slot 0. */
	uint32_t bytes = is_words ? (layout->slots + 1) * layout->slot_bytes
				  : PM_LINE + layout->slots * layout->slot_bytes;

	layout->origin = is_words ? 0 : PM_LINE - (int64_t)layout->slot_bytes;
	layout->leaf_lines = (bytes + PM_LINE - 1) / PM_LINE;
	layout->leaf_bytes = layout->leaf_lines * PM_LINE;
	layout->leaf_share = UINT64_MAX / layout->leaf_lines + 1; /* leaf_lines >= 2 */
	layout->places = is_words ? layout->leaf_lines : layout->slots;
	layout->usable = ((1ull << layout->slots) - 1) << 1;
	layout->inline_room = lines == 0 ? layout->slot_bytes - CELL_HEADER
					 : CELL_FIRST + (lines - 1) * CELL_MARK;
}

void
cell_read(const char *cell, size_t at, void *to, size_t size)
{
	for (size_t run, done = 0; done < size; done += run) {
		const char *from = cell + cell_place(at + done, &run);

		run = run < size - done ? run : size - done;
		racy_copy((char *)to + done, from, run);
	}
}

bool
cell_is_equal(const char *cell, size_t at, const void *data, size_t size)
{
	for (size_t run, done = 0; done < size; done += run) {
		const char *from = cell + cell_place(at + done, &run);

		run = run < size - done ? run : size - done;
		if (!racy_is_equal(from, (const char *)data + done, run))
			return false;
	}
	return true;
}

static uint16_t *
mark_of(const char *cell, unsigned line)
{
	return (uint16_t *)(uintptr_t)(cell + (size_t)line * PM_LINE + CELL_MARK);
}

bool
cell_is_whole(const char *cell, uint64_t header)
{
	unsigned lines = cell_lines(cell_key_size(header) + cell_value_size(header));

	for (unsigned i = 1; i < lines; i++)
		if (*mark_of(cell, i) != cell_generation(header))
			return false;
	return true;
}

/* A generation that no further line of the cell carries. More generations exist than lines. */
static uint16_t
fresh_generation(const char *cell, unsigned lines)
{
	uint16_t generation = 0;

	for (unsigned i = 1; i < lines; i++)
		if (*mark_of(cell, i) == generation) {
			generation = (uint16_t)((generation + 1) % CELL_GENERATIONS);
			i = 0;
		}
	return generation;
}

static void
cell_put(char *cell, size_t at, const uint8_t *data, size_t size)
{
	for (size_t run, done = 0; done < size; done += run) {
		char *to = cell + cell_place(at + done, &run);

		run = run < size - done ? run : size - done;
		pm_copy(to, data + done, run);
	}
}

uint64_t
cell_fill(struct pm *pm, char *cell, const struct record *record)
{
	unsigned lines = cell_lines(record->key_size + record->value_size);
	uint16_t generation = fresh_generation(cell, lines);

	cell_put(cell, 0, record->key, record->key_size);
	cell_put(cell, record->key_size, record->value, record->value_size);
	for (unsigned i = 1; i < lines; i++) {
		pm_store16(mark_of(cell, i), generation);
		pm_flush_line(pm, cell + (size_t)i * PM_LINE);
	}
	return CELL_RECORD | (uint64_t)generation << 2 | (uint64_t)record->key_size << 16 |
		(uint64_t)record->value_size << 32;
}

static void
read_blob(struct record *record, const char *base, uint64_t offset)
{
	const struct blob *blob = (const void *)(base + offset);

	record->blob = offset;
	record->key = blob->bytes;
	record->key_size = blob->key_size;
	record->value = blob->bytes + blob->key_size;
	record->value_size = blob->value_size;
	record->word = word_of(record->key, record->key_size);
}

static bool
read_words(struct record *record, const struct layout *layout, const char *base,
	const uint64_t *words)
{
	uint64_t word = words[0];

	if (word == 0)
		return false;
	if (word_is_blob(word)) {
		read_blob(record, base, blob_of_word(word));
		return true;
	}
	record->key_size = layout->key_size;
	if (word_is_reserved(word)) {
		record->key_size = (word >> 48) - WORD_TAG_SHORT;
		word <<= 16;
	}
	record->blob = 0;
	record->word = word;
	word_to_bytes(record->short_key, word, record->key_size);
	record->key = record->short_key;
	record->value = (const uint8_t *)&words[1];
	record->value_size = layout->value_size;
	return true;
}

static bool
read_cell(struct record *record, const char *base, const char *cell, uint8_t *room)
{
	uint64_t header = *(const uint64_t *)(const void *)cell;

	if (cell_kind(header) == CELL_BLOB) {
		read_blob(record, base, cell_blob(header));
		return true;
	}
	if (cell_kind(header) != CELL_RECORD || !cell_is_whole(cell, header))
		return false;
	record->blob = 0;
	record->key_size = cell_key_size(header);
	record->value_size = cell_value_size(header);
	cell_read(cell, 0, room, record->key_size + record->value_size);
	record->key = room;
	record->value = room + record->key_size;
	record->word = word_of(room, record->key_size);
	return true;
}

bool
record_read(struct record *record, const struct layout *layout, const char *base,
	const char *bytes, unsigned slot, uint8_t *room)
{
	const uint64_t *words = slot_at(layout, bytes, slot);

	record->slot = slot;
	if (layout->format == LEAF_WORDS)
		return read_words(record, layout, base, words);
	return read_cell(record, base, (const char *)words, room);
}
