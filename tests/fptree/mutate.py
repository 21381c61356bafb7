#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Break the engine on purpose.

Writes copies of its sources with defects, each active only if crash_mutant is its number.
The text of a place identifies it and must occur exactly once. If the engine has changed,
this fails, and the table below must be adapted.

    mutate.py OUT_DIR SOURCE...     write the copies
    mutate.py --names               the names of the mutants, in order from 1
"""
import os
import sys

HEAD = """extern int crash_mutant;
#define IS_MUTANT(n) (crash_mutant == (n))
"""

# (file, text, replacement). `IS(name)` is true in the mutant of that name.
PLACES = [
    # The store that commits a write.
    ("verbs.c",
     """	pm_store64(at, word);
	pm_flush_line(pm, at);
	pm_fence(pm);
""",
     """	pm_store64(at, word);
	if (!IS(commit-without-flush))
		pm_flush_line(pm, at);
	if (!IS(commit-without-fence))
		pm_fence(pm);
"""),
    # The key word makes the record. If it is stored first, a record may have the previous value.
    ("verbs.c",
     """		pm_store64(&at[1], word_of_value(value));
		commit_word(&session->pm, at, word_plain(layout, key));
""",
     """		if (IS(key-before-value)) {
			pm_store64(at, word_plain(layout, key));
			commit_word(&session->pm, &at[1], word_of_value(value));
		} else {
			pm_store64(&at[1], word_of_value(value));
			commit_word(&session->pm, at, word_plain(layout, key));
		}
"""),
    # An update of a cell writes the new cell first, then empties the old one.
    ("verbs.c",
     """		write_cell(session, locked, slot, key, value);
		commit_word(&session->pm, at, 0);
""",
     """		if (IS(old-cell-emptied-first))
			commit_word(&session->pm, at, 0);
		write_cell(session, locked, slot, key, value);
		commit_word(&session->pm, at, 0);
"""),
    ("verbs.c",
     """	pm_fence(&session->pm);
	commit_word(&session->pm, at,
		layout->format == LEAF_WORDS ?""",
     """	if (!IS(blob-without-fence))
		pm_fence(&session->pm);
	commit_word(&session->pm, at,
		layout->format == LEAF_WORDS ?"""),
    ("tree.c",
     """	pm_flush(&session->pm, blob, size);
""",
     """	if (!IS(blob-without-last-line))
		pm_flush(&session->pm, blob, size);
	else if (size > PM_LINE)
		pm_flush(&session->pm, blob, size - PM_LINE);
"""),
    # Marks show whether all lines of a cell belong to one record.
    ("leaf.c",
     """	for (unsigned i = 1; i < lines; i++)
		if (*mark_of(cell, i) == generation) {""",
     """	for (unsigned i = 1; i < lines && !IS(generation-not-fresh); i++)
		if (*mark_of(cell, i) == generation) {"""),
    ("leaf.c",
     """	cell_put(cell, 0, record->key, record->key_size);
""",
     """	for (unsigned i = 1; i < lines && IS(mark-before-bytes); i++)
		pm_store16(mark_of(cell, i), generation);
	cell_put(cell, 0, record->key, record->key_size);
"""),
    ("leaf.c",
     """		pm_flush_line(pm, cell + (size_t)i * PM_LINE);
""",
     """		if (!IS(cell-without-last-line) || i + 1 < lines)
			pm_flush_line(pm, cell + (size_t)i * PM_LINE);
"""),
    # Splits and merges.
    ("smo.c",
     """	pm_fence(&session->pm);
	pm_store64(leaf_next(bytes), offset);
	pm_flush_line(&session->pm, bytes);
	pm_fence(&session->pm);
	clear_slots(session, bytes, share.moved);
""",
     """	if (!IS(split-linked-before-fence))
		pm_fence(&session->pm);
	if (IS(split-emptied-before-link))
		clear_slots(session, bytes, share.moved);
	pm_store64(leaf_next(bytes), offset);
	pm_flush_line(&session->pm, bytes);
	if (!IS(split-emptied-before-fence))
		pm_fence(&session->pm);
	clear_slots(session, bytes, share.moved);
"""),
    ("smo.c",
     """		if (line != flushed)
			pm_flush_line(&session->pm, (const void *)line);
""",
     """		if (line != flushed && !IS(split-emptied-without-flush))
			pm_flush_line(&session->pm, (const void *)line);
"""),
    ("smo.c",
     """	copy_records(session, pair, right, left);
	pm_fence(&session->pm);
""",
     """	copy_records(session, pair, right, left);
	if (!IS(merge-unlinked-before-fence))
		pm_fence(&session->pm);
"""),
    # The creation of a tree. The rest of the root is in the same line.
    ("pool.c",
     """	pm_flush(&pm, &pool->root->magic, sizeof(pool->root->magic));
""",
     """	if (!IS(magic-without-flush))
		pm_flush(&pm, &pool->root->magic, sizeof(pool->root->magic));
"""),
    # Space.
    ("extent.c",
     """	pm_flush(&construction->pm, at, sizeof(construction->header));
	pm_fence""",
     """	if (!IS(extent-header-without-flush))
		pm_flush(&construction->pm, at, sizeof(construction->header));
	pm_fence"""),
    ("heap.c",
     """	drop_unmarked_huge(heap);
""",
     """	if (!IS(recovery-leaks-huge-blobs))
		drop_unmarked_huge(heap);
"""),
    # Recovery.
    ("recover.c",
     """	return !bound->is_set || record_compare(record, &bound->record) < 0;
""",
     """	if (IS(recovery-keeps-moved-records))
		return true;
	return !bound->is_set || record_compare(record, &bound->record) < 0;
"""),
    ("recover.c",
     """	pm_store64(slot, 0);
	pm_flush_line(recovery->pm, slot);
""",
     """	pm_store64(slot, 0);
	if (!IS(recovery-without-flush))
		pm_flush_line(recovery->pm, slot);
"""),
]


def names():
    found = []
    for _, _, text in PLACES:
        for part in text.split("IS(")[1:]:
            name = part.split(")")[0]
            if name not in found:
                found.append(name)
    return found


def broken(path, text):
    for name, old, new in PLACES:
        if name != os.path.basename(path):
            continue
        if text.count(old) != 1:
            sys.exit(f"mutate.py: {path}: there {text.count(old)} times, not once:\n{old}")
        for number, mutant in enumerate(names(), 1):
            new = new.replace(f"IS({mutant})", f"IS_MUTANT({number})")
        text = text.replace(old, new)
    return text


def main():
    if sys.argv[1:] == ["--names"]:
        print("\n".join(names()))
        return
    out, *sources = sys.argv[1:]
    missing = {place[0] for place in PLACES} - {os.path.basename(path) for path in sources}
    if missing:
        sys.exit(f"mutate.py: not among the sources: {', '.join(sorted(missing))}")
    for path in sources:
        with open(path, encoding="utf-8") as source:
            text = broken(path, source.read())
        with open(os.path.join(out, os.path.basename(path)), "w", encoding="utf-8") as copy:
            copy.write(HEAD + text)


main()
