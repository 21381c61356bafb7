/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The names of a state. A name refers to one file, so a rename removes one name and sets
 * another. That also defines the result if an earlier change of the name was lost. There
 * are at most some hundred names, so they are kept in a list.
 */
#include "crash/image_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
image_names_clear(struct image_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->names[i].path);
	free(names->names);
	*names = (struct image_names){0};
}

static struct image_name *
find(const struct image_names *names, const char *path)
{
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->names[i].path, path) == 0)
			return &names->names[i];
	return NULL;
}

static char *
copy_of(const char *text)
{
	size_t size = strlen(text) + 1;
	return memcpy(image_grown(NULL, size), text, size);
}

void
image_names_set(struct image_names *names, const char *path, uint64_t file)
{
	if (path[0] == '\0') /* the top directory always exists */
		return;
	struct image_name *name = find(names, path);
	if (name == NULL) {
		if (names->count == names->room) {
			names->room = names->room * 2 + 16;
			names->names = image_grown(
				names->names, names->room * sizeof(struct image_name));
		}
		name = &names->names[names->count++];
		name->path = copy_of(path);
	}
	name->file = file;
}

static void
unset_at(struct image_names *names, size_t at)
{
	struct image_name *name = &names->names[at];
	free(name->path);
	memmove(name, name + 1, (--names->count - at) * sizeof(*name));
}

static void
unset(struct image_names *names, const char *path)
{
	const struct image_name *name = find(names, path);
	if (name != NULL)
		unset_at(names, (size_t)(name - names->names));
}

/** Remove a directory and everything below it, which exists only if its removal was lost. */
static void
unset_directory(struct image_names *names, const char *path)
{
	size_t length = strlen(path);
	for (size_t i = names->count; i-- > 0;) {
		const char *name = names->names[i].path;
		if (strncmp(name, path, length) == 0 &&
			(name[length] == '/' || name[length] == '\0'))
			unset_at(names, i);
	}
}

bool
image_move(char path[PATH_MAX], const char *from, const char *to)
{
	char rest[PATH_MAX];
	size_t length = strlen(from);
	if (strncmp(path, from, length) != 0 || (path[length] != '/' && path[length] != '\0') ||
		strlen(to) + strlen(path + length) >= PATH_MAX)
		return false;
	strcpy(rest, path + length);
	strcpy(path, to);
	strcat(path, rest);
	return true;
}

/** Rename a directory and everything below it, and replace an empty one. */
static void
move_directory(struct image_names *names, const char *from, const char *to)
{
	if (strcmp(from, to) == 0)
		return;
	unset_directory(names, to);
	for (size_t i = 0; i < names->count; i++) {
		char path[PATH_MAX];
		snprintf(path, sizeof(path), "%s", names->names[i].path);
		if (!image_move(path, from, to))
			continue;
		free(names->names[i].path);
		names->names[i].path = copy_of(path);
	}
}

/** Whether `path` is already a name of the file: then a rename to it has no effect. */
static bool
is_of(const struct image_names *names, const char *path, uint64_t file)
{
	const struct image_name *name = find(names, path);
	return name != NULL && name->file == file;
}

static void
apply(struct image_names *names, const struct record_entry *entry)
{
	const char *path = record_path(entry), *path2 = record_path2(entry);
	switch (entry->kind) {
	case RECORD_CREATE:
		if (entry->path_size > 0)
			image_names_set(names, path, entry->file);
		break;
	case RECORD_RENAME:
		if (path[0] == '\0' || path2[0] == '\0') {
			/* the top directory has no name */
		} else if (entry->file == 0) {
			move_directory(names, path, path2);
		} else if (!is_of(names, path2, entry->file)) {
			unset(names, path);
			image_names_set(names, path2, entry->file);
		}
		break;
	case RECORD_LINK:
		image_names_set(names, path2, entry->file);
		break;
	case RECORD_MKDIR:
		image_names_set(names, path, 0);
		break;
	case RECORD_UNLINK:
	case RECORD_RMDIR:
		unset(names, path);
		break;
	default: /* no change of a name */
		break;
	}
}

void
image_names_make(struct image *image)
{
	image_names_clear(&image->names);
	for (size_t i = 0; i < image->base.count; i++)
		image_names_set(
			&image->names, image->base.names[i].path, image->base.names[i].file);
	for (uint32_t i = 0; i < image->count; i++)
		if (image->has_metadata[i])
			apply(&image->names, image->entries[i]);
}

bool
image_is_in(const char *path, const char *dir)
{
	size_t length = strlen(dir);
	if (strncmp(path, dir, length) != 0)
		return false;
	path += length;
	if (length > 0 && *path++ != '/')
		return false;
	return path[0] != '\0' && strchr(path, '/') == NULL;
}

bool
image_changes_dir(const struct record_entry *entry, const char *dir)
{
	bool is_name = image_is_metadata(entry) && entry->kind != RECORD_TRUNCATE;
	return is_name &&
		((entry->path_size > 0 && image_is_in(record_path(entry), dir)) ||
			(entry->path2_size > 0 && image_is_in(record_path2(entry), dir)));
}
