/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scans with the compact protocol. The server stores no state of a scan: each part begins after
 * the last key of the previous part. A part has as many records as the host expects to read, at
 * most PART. So a short scan needs one round trip.
 */
#include "scan.h"

enum { PART = 1000 /* maximum number of records */ };

static int
get_part(struct scan *scan, uint32_t flags)
{
	struct nb_wire_head head = {.magic = NB_WIRE_MAGIC,
		.kind = NB_WIRE_SCAN,
		.flags = (uint16_t)(scan->flags | flags),
		.count = scan->count,
		.view = scan->link->view,
		.key_size = (uint32_t)scan->key.size};
	struct nb_slice key = {scan->key.data, scan->key.size};
	int rc = link_exchange(scan->link, &head, key, &scan->bytes);
	scan->at = 0;
	scan->left = rc == NB_OK ? head.key_size : 0;
	scan->is_last = rc != NB_OK || head.value_size != 0;
	return rc;
}

int
scan_begin(struct scan *scan, struct link *link, const struct nb_scan_args *args)
{
	scan->link = link;
	scan->flags = args->flags;
	scan->count = args->limit != 0 && args->limit < PART ? (uint32_t)args->limit : PART;
	if (!buffer_set(&scan->key, args->from.data, args->from.size))
		return link->host->fail(NB_FAIL, "out of memory");
	return get_part(scan, 0);
}

/** Decode the record at `at` of the current part. */
static int
parse(struct scan *scan, struct nb_slice *key, struct nb_slice *value)
{
	uint32_t sizes[2];
	size_t left = scan->bytes.size - 1 - scan->at; /* it ends with a NUL */
	const char *at = scan->bytes.data + scan->at;
	bool is_whole = left >= sizeof(sizes);
	if (is_whole)
		memcpy(sizes, at, sizeof(sizes));
	if (!is_whole || sizes[0] > left - sizeof(sizes) ||
		sizes[1] > left - sizeof(sizes) - sizes[0])
		return stream_fail(&scan->link->stream,
			"the server's answer does not follow the protocol");
	*key = (struct nb_slice){at + sizeof(sizes), sizes[0]};
	*value = (struct nb_slice){at + sizeof(sizes) + sizes[0], sizes[1]};
	scan->at += sizeof(sizes) + sizes[0] + sizes[1];
	scan->left--;
	return NB_OK;
}

int
scan_step(struct scan *scan, struct nb_slice *key, struct nb_slice *value)
{
	int rc = NB_OK;
	if (scan->left == 0 && !scan->is_last)
		rc = get_part(scan, NB_WIRE_AFTER);
	if (rc != NB_OK || scan->left == 0)
		return rc != NB_OK ? rc : NB_NOT_FOUND;
	rc = parse(scan, key, value);
	if (rc == NB_OK && scan->left == 0 && !scan->is_last &&
		!buffer_set(&scan->key, key->data, key->size))
		return scan->link->host->fail(NB_FAIL, "out of memory");
	return rc;
}

void
scan_destroy(struct scan *scan)
{
	free(scan->bytes.data);
	free(scan->key.data);
	*scan = (struct scan){.link = NULL};
}
