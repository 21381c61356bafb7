/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REMOTE_TLS_H
#define REMOTE_TLS_H
/**
 * TLS for streams, with OpenSSL. A database creates one struct tls for all of its streams.
 * It sets stream_options.tls to it and stream_options.secure to tls_secure. Any thread may
 * then open streams.
 */
#include "stream.h"

/** The user's settings. NULL: not given. */
struct tls_options {
	const char *ca;         /* file of trusted certificates; NULL: the system's */
	const char *cert, *key; /* files of the client certificate and its key, both or none */
	bool is_unverified;     /* accept any server certificate */
};

#ifdef REMOTE_TLS

/** Returns NB_OK or a failure that names the file. */
int
tls_new(struct tls **out, const struct nb_host *host, const struct tls_options *options);

/** Call it after closing all of its streams. NULL is allowed. */
void
tls_delete(struct tls *tls);

/**
 * For stream_options.secure: perform the handshake within timeout_ns. A failure names the
 * address.
 */
int
tls_secure(struct stream *stream, const struct stream_options *options, uint64_t timeout_ns);

#else /* built without OpenSSL: unsupported */

static inline int
tls_new(struct tls **out, const struct nb_host *host, const struct tls_options *options)
{
	(void)out, (void)options;
	return host->fail(NB_UNSUPPORTED,
		"mininb was built without OpenSSL, so it has no TLS; install libssl-dev and build it again");
}

static inline void
tls_delete(struct tls *tls)
{
	(void)tls;
}

#define tls_secure NULL

#endif

#endif /* REMOTE_TLS_H */
