/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REMOTE_STREAM_FABRIC_H
#define REMOTE_STREAM_FABRIC_H
/** A stream over libfabric, to a `mininb serve --transport=ofi`. */
#include "stream.h"

#ifdef NB_HAVE_OFI

/** For stream_options.connect. */
int
stream_fabric_connect(struct stream *stream, const struct nb_host *host, const char *address,
	const struct stream_options *options, uint64_t timeout_ns);

#else /* built without libfabric */

static inline int
stream_fabric_connect(struct stream *stream, const struct nb_host *host, const char *address,
	const struct stream_options *options, uint64_t timeout_ns)
{
	(void)stream, (void)address, (void)options, (void)timeout_ns;
	return host->fail(NB_UNSUPPORTED,
		"mininb was built without libfabric; install libfabric-dev and build it again, "
		"or leave -o transport=ofi out");
}

#endif

#endif /* REMOTE_STREAM_FABRIC_H */
