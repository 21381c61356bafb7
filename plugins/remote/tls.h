/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REMOTE_TLS_H
#define REMOTE_TLS_H
/**
 * TLS for streams, by OpenSSL. A database makes one struct tls for all of its streams and gives
 * it in stream_options.tls, with tls_secure as stream_options.secure. Any thread may open
 * streams by it.
 */
#include "stream.h"

/** What a user chooses. NULL: not given. */
struct tls_options {
	const char *ca;         /* file of certificates that are trusted; NULL: the system's */
	const char *cert, *key; /* files of the client's own certificate, both or none */
	bool is_unverified;     /* any server's certificate is taken */
};

#ifdef REMOTE_TLS

/** Returns NB_OK or a failure that names the file. */
int
tls_new(struct tls **out, const struct nb_host *host, const struct tls_options *options);

/** After all of its streams; NULL is fine. */
void
tls_delete(struct tls *tls);

/** stream_options.secure: the handshake, within the time. A failure names the address. */
int
tls_secure(struct stream *stream, const struct stream_options *options, uint64_t timeout_ns);

#else /* built without OpenSSL: it cannot be had */

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
