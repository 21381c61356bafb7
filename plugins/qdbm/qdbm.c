/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QDBM: Depot, a hash file, and Villa, a B+ tree whose pages are records of a Depot. They are two
 * engines with a table each, in depot.c and villa.c. This file has what they share.
 *
 * - The head of a file contains its size, and only close and sync write it: a file that was not
 *   closed does not open again. A sync after each write would not help, because the next write
 *   breaks it again. So durability is 'none'.
 * - Errors are codes. The system's reason is in errno, which is cleared before a write: Villa
 *   calls a full disk a "broken database file".
 */
#include "qdbm.h"

/* Pages of so many are still counted in an int: see the limits in villa.c. */
enum { LRECMAX_MAX = 512, NIDXMAX_MAX = 1024 };

const struct nb_option options_table[] = {
	/* as HASH, TREE */
	[TYPE] = NB_OPTION_CHOICE(
		"type", "hash", "hash|btree", "Depot, a hash file, or Villa, a B+ tree"),
	[BNUM] = NB_OPTION_U64("bnum", NULL, "buckets", 1, 400000000,
		"hash, when made: default twice the expected records, or 8191"),
	[ALIGN] = NB_OPTION_BYTES("align", NULL, 0, 1 << 20,
		"hash: records are padded to a multiple of this, so that they can grow"),
	[FBPSIZ] = NB_OPTION_U64("fbpsiz", NULL, "blocks", 0, 1 << 20,
		"free blocks that are remembered: default 16, of btree 128"),
	[LRECMAX] = NB_OPTION_U64("lrecmax", NULL, "records", 3, LRECMAX_MAX,
		"btree: most records of a leaf, default 49"),
	[NIDXMAX] = NB_OPTION_U64("nidxmax", NULL, "indexes", 4, NIDXMAX_MAX,
		"btree: most indexes of an inner node, default 192"),
	[COMPRESSION] = NB_OPTION_CHOICE("compression", NULL, "none|zlib|lzo|bzip2",
		"btree, when made: of leaves, default none"),
	NB_OPTION_END,
};

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
	static const struct {
		int option;
		enum type type;
	} only[] = {{BNUM, HASH}, {ALIGN, HASH}, {LRECMAX, TREE}, {NIDXMAX, TREE},
		{COMPRESSION, TREE}};
	const struct nb_host *host = args->host;

	if (args->durability != NB_DUR_NONE)
		return host->fail(NB_UNSUPPORTED,
			"durability must be none: a file that was not closed is lost");
	for (size_t i = 0; i < COUNT_OF(only); i++)
		if (args->options[only[i].option].is_set && only[i].type != type)
			return host->fail(NB_UNSUPPORTED, "%s is an option of type=%s",
				options_table[only[i].option].name, type_names[only[i].type]);
	return NB_OK;
}

int
file_find(struct file *file, const struct nb_open_args *args, enum type type)
{
	const struct nb_host *host = args->host;
	enum type other = type == HASH ? TREE : HASH;
	int rc = check_options(args, type);
	if (rc != NB_OK)
		return rc;
	/* That of the other type in the same directory means that type= was forgotten. */
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

/* --- the tables --- */

const struct nb_engine *
qdbm_variant(const struct nb_option_value *value)
{
	return value[TYPE].u64 == TREE ? &villa_engine : NULL;
}

NB_ENGINE_PLUGIN(depot_engine)
