/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QDBM: Depot, a hash file, and Villa, a B+ tree whose pages are records of a Depot. They
 * are two engines, each with a table, in depot.c and villa.c. This file contains code for
 * both.
 *
 * - The header of a file contains its size, which only close and sync write: a file that was
 *   not closed cannot be opened again. A sync after each write would not help, because the
 *   next write invalidates the header again. So durability is 'none'.
 * - Errors are codes. errno contains the system's reason and is cleared before a write:
 *   Villa reports a full disk as a "broken database file".
 */
#include "qdbm.h"

#define OPTION_OF(id, types, kind, ...) NB_OPTION_##kind(__VA_ARGS__),
const struct nb_option options_table[] = {OPTIONS(OPTION_OF) NB_OPTION_END};

#define OPTION_TYPES(id, types, ...) types,
static const uint32_t types_of[] = {OPTIONS(OPTION_TYPES)};

/* --- answers --- */

int
qdbm_failure(const struct nb_host *host, const char *call, int error)
{
	const char *text = dperrmsg(dpecode);
	if (error != 0)
		return host->fail(NB_FAIL, "%s: %s (%s)", call, text, strerror(error));
	return host->fail(NB_FAIL, "%s: %s", call, text);
}

/* --- options and files --- */

static const char *const type_names[] = {"hash", "btree"};

static int
check_options(const struct nb_open_args *args, enum type type)
{
	int rc = check_durability(args, &depot_engine);
	for (size_t i = 0; i < COUNT_OF(types_of) && rc == NB_OK; i++)
		if (args->options[i].is_set && (types_of[i] & 1u << type) == 0)
			rc = args->host->fail(NB_UNSUPPORTED, "type=%s has no option %s",
				type_names[type], options_table[i].name);
	return rc;
}

int
file_find(struct file *file, const struct nb_open_args *args, enum type type)
{
	const struct nb_host *host = args->host;
	enum type other = type == HASH ? TREE : HASH;
	int rc = check_options(args, type);
	if (rc != NB_OK)
		return rc;
	/* A file of the other type in this directory means that the user forgot type=. */
	snprintf(file->path, sizeof(file->path), "%s/%s.qdbm", args->path, type_names[other]);
	if (access(file->path, F_OK) == 0)
		return host->fail(NB_FAIL, "%s is there: this database is of type=%s",
			file->path, type_names[other]);
	int size = snprintf(
		file->path, sizeof(file->path), "%s/%s.qdbm", args->path, type_names[type]);
	if (size < 0 || (size_t)size >= sizeof(file->path))
		return host->fail(NB_FAIL, "the path is too long");
	file->is_new = access(file->path, F_OK) != 0;
	if ((args->flags & NB_OPEN_CREATE) == 0 && file->is_new)
		return host->fail(NB_FAIL, "no database: %s: %s", file->path, strerror(errno));
	return NB_OK;
}

int
file_mode(const struct nb_open_args *args)
{
	if ((args->flags & NB_OPEN_READ_ONLY) != 0)
		return DP_OREADER | DP_OLCKNB;
	return DP_OWRITER | DP_OLCKNB | ((args->flags & NB_OPEN_CREATE) != 0 ? DP_OCREAT : 0);
}

int
file_failure(const struct file *file, const struct nb_host *host, const char *call, int error)
{
	if (dpecode == DP_ELOCK && (error == EAGAIN || error == EACCES))
		return host->fail(NB_FAIL, "%s: another process has %s open", call, file->path);
	if (dpecode == DP_EBROKEN)
		return host->fail(NB_FAIL,
			"%s: %s: %s; QDBM opens no file that was not closed in good order",
			call, file->path, dperrmsg(DP_EBROKEN));
	return host->fail(NB_FAIL, "%s: %s: %s (%s)", call, file->path, dperrmsg(dpecode),
		strerror(error));
}

void
file_drop_new(const struct file *file)
{
	if (file->is_new)
		unlink(file->path);
}

/* --- the engine's tables --- */

const struct nb_engine *
qdbm_variant(const struct nb_option_value *value)
{
	return value[TYPE].u64 == TREE ? &villa_engine : NULL;
}

NB_ENGINE_PLUGIN(depot_engine)
