/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * TLS 1.2 or later. The certificate must be issued for the host in the address, by a trusted
 * authority, unless the user accepts any certificate.
 *
 * OpenSSL would write to the socket with write(2), which raises SIGPIPE and blocks.
 * Therefore it uses a BIO defined here, with non-blocking send(2) and recv(2).
 */
#include "tls.h"
#include "address.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

struct tls {
	const struct nb_host *host;
	SSL_CTX *context;
	BIO_METHOD *method;
};

/** TLS state of a stream. */
struct secure {
	SSL *ssl;
	bool has_more; /* the last read filled its buffer */
};

/* ---- the BIO ---- */

static int
bio_result(BIO *bio, ssize_t size, int retry)
{
	BIO_clear_retry_flags(bio);
	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		BIO_set_flags(bio, retry | BIO_FLAGS_SHOULD_RETRY);
	return size < 0 ? -1 : (int)size;
}

static int
bio_write(BIO *bio, const char *bytes, int size)
{
	const struct stream *stream = BIO_get_data(bio);
	return bio_result(bio,
		send(stream->fd, bytes, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT),
		BIO_FLAGS_WRITE);
}

static int
bio_read(BIO *bio, char *to, int size)
{
	const struct stream *stream = BIO_get_data(bio);
	return bio_result(
		bio, recv(stream->fd, to, (size_t)size, MSG_DONTWAIT), BIO_FLAGS_READ);
}

static long
bio_ctrl(BIO *bio, int command, long number, void *pointer)
{
	(void)bio, (void)number, (void)pointer;
	return command == BIO_CTRL_FLUSH;
}

static int
bio_create(BIO *bio)
{
	BIO_set_init(bio, 1);
	return 1;
}

static SSL *
ssl_of(const struct stream *stream)
{
	return ((const struct secure *)stream->of_io)->ssl;
}

/* ---- errors ---- */

/** Return the first error in this thread's queue, and clear the queue. */
static const char *
error_text(void)
{
	unsigned long code = ERR_peek_error();
	const char *text = code != 0 ? ERR_reason_error_string(code) : NULL;
	ERR_clear_error();
	return text != NULL ? text : "unknown error";
}

/** Convert the outcome of an unsuccessful read or write to the convention of stream_io. */
static ssize_t
io_outcome(struct stream *stream, int rc, const char *call)
{
	int error = SSL_get_error(ssl_of(stream), rc);
	if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
		errno = EAGAIN;
		return -1;
	}
	if (error == SSL_ERROR_ZERO_RETURN)
		return 0;
	if (error == SSL_ERROR_SYSCALL && errno != 0)
		return -1;
	if (error == SSL_ERROR_SYSCALL ||
		ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
		ERR_clear_error();
		return 0; /* closed without a close_notify */
	}
	stream_fail(stream, "TLS %s: %s", call, error_text());
	errno = EPROTO;
	return -1;
}

/* ---- streams ---- */

static ssize_t
tls_write(struct stream *stream, const void *bytes, size_t size)
{
	size_t written = 0;
	ERR_clear_error();
	errno = 0;
	int rc = SSL_write_ex(ssl_of(stream), bytes, size, &written);
	if (rc == 1)
		return (ssize_t)written;
	ssize_t outcome = io_outcome(stream, rc, "write");
	if (outcome == 0)
		errno = EPIPE;
	return -1;
}

/* One call returns at most one record of 16 KiB, so loop while records are available and fit. */
static ssize_t
tls_read(struct stream *stream, void *to, size_t size)
{
	size_t all = 0, some;
	int rc = 1;
	ERR_clear_error();
	errno = 0;
	while (all < size && rc == 1) {
		rc = SSL_read_ex(ssl_of(stream), (char *)to + all, size - all, &some);
		all += rc == 1 ? some : 0;
	}
	((struct secure *)stream->of_io)->has_more = all == size;
	return all > 0 ? (ssize_t)all : io_outcome(stream, rc, "read");
}

static bool
tls_has_more(const struct stream *stream)
{
	return ((const struct secure *)stream->of_io)->has_more;
}

static void
tls_close(struct stream *stream)
{
	SSL *ssl = ssl_of(stream);
	if (SSL_is_init_finished(ssl) && stream->failure == NULL)
		SSL_shutdown(ssl); /* sends close_notify */
	ERR_clear_error();
	SSL_free(ssl);
	free(stream->of_io);
}

static const struct stream_io tls_io = {
	.write = tls_write, .read = tls_read, .has_more = tls_has_more, .close = tls_close};

/* ---- the handshake ---- */

/** Set the name that the certificate must contain. */
static bool
set_name(SSL *ssl, const char *host)
{
	X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
	if (X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1)
		return true;
	ERR_clear_error();
	return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

static int
fail_handshake(struct stream *stream, int rc, uint64_t timeout_ns)
{
	SSL *ssl = ssl_of(stream);
	int error = SSL_get_error(ssl, rc);
	long verified = SSL_get_verify_result(ssl);
	if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
		return stream_fail(stream, "TLS: the server has not answered within %llu ms",
			(unsigned long long)(timeout_ns / 1000000));
	if (verified != X509_V_OK)
		return stream_fail(stream,
			"TLS: the server's certificate is not trusted: %s; name the file of its authority, or do not verify it",
			X509_verify_cert_error_string(verified));
	if (error == SSL_ERROR_SYSCALL)
		return stream_fail(stream,
			"TLS: the server closed the connection; is it a server with TLS?");
	return stream_fail(stream, "TLS: %s; is it a server with TLS?", error_text());
}

/** Wait for the next step of the handshake. Returns false if it failed or timed out. */
static bool
wait_for_handshake(struct stream *stream, int rc, uint64_t end_ns)
{
	int error = SSL_get_error(ssl_of(stream), rc);
	uint64_t now = stream_now_ns();
	if ((error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) || now >= end_ns)
		return false;
	/* A handshake writes little, so a full socket is unlikely; then it retries each ms. */
	uint64_t left = error == SSL_ERROR_WANT_WRITE ? 1000000 : end_ns - now;
	return streams_wait(&stream, 1, left) == NB_OK;
}

int
tls_secure(struct stream *stream, const struct stream_options *options, uint64_t timeout_ns)
{
	const struct tls *tls = options->tls;
	struct address parts;
	uint64_t end_ns = stream_now_ns() + timeout_ns;
	int rc = address_parse(&parts, stream->host, stream->address, options->default_port);
	if (rc != NB_OK)
		return rc;
	if (parts.is_unix)
		return stream_fail(
			stream, "TLS needs the address of a host, not of a Unix socket");
	struct secure *secure = calloc(1, sizeof(*secure));
	SSL *ssl = SSL_new(tls->context);
	BIO *bio = BIO_new(tls->method);
	if (secure == NULL || ssl == NULL || bio == NULL || !set_name(ssl, parts.host)) {
		free(secure);
		SSL_free(ssl);
		BIO_free(bio);
		return stream_fail(stream, "TLS: %s", error_text());
	}
	BIO_set_data(bio, stream);
	SSL_set_bio(ssl, bio, bio);
	secure->ssl = ssl;
	stream->of_io = secure;
	stream->io = &tls_io;
	ERR_clear_error();
	while ((rc = SSL_connect(ssl)) != 1 && wait_for_handshake(stream, rc, end_ns))
		ERR_clear_error();
	return rc == 1 ? NB_OK : fail_handshake(stream, rc, timeout_ns);
}

/* ---- a context ---- */

static int
fail_file(const struct tls *tls, const char *what, const char *file)
{
	return tls->host->fail(NB_FAIL, "TLS: %s '%s': %s", what, file, error_text());
}

static int
load_files(const struct tls *tls, const struct tls_options *options)
{
	SSL_CTX *context = tls->context;
	if (options->ca != NULL && SSL_CTX_load_verify_file(context, options->ca) != 1)
		return fail_file(tls, "certificates of authorities", options->ca);
	if (options->ca == NULL)
		SSL_CTX_set_default_verify_paths(context);
	if ((options->cert == NULL) != (options->key == NULL))
		return tls->host->fail(NB_UNSUPPORTED,
			"TLS: a certificate of the client's own needs its key, and a key its certificate");
	if (options->cert == NULL)
		return NB_OK;
	if (SSL_CTX_use_certificate_chain_file(context, options->cert) != 1)
		return fail_file(tls, "certificate", options->cert);
	if (SSL_CTX_use_PrivateKey_file(context, options->key, SSL_FILETYPE_PEM) != 1)
		return fail_file(tls, "key", options->key);
	return NB_OK;
}

static bool
make_context(struct tls *tls)
{
	tls->context = SSL_CTX_new(TLS_client_method());
	tls->method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "mininb stream");
	return tls->context != NULL && tls->method != NULL &&
		SSL_CTX_set_min_proto_version(tls->context, TLS1_2_VERSION) == 1 &&
		BIO_meth_set_write(tls->method, bio_write) == 1 &&
		BIO_meth_set_read(tls->method, bio_read) == 1 &&
		BIO_meth_set_ctrl(tls->method, bio_ctrl) == 1 &&
		BIO_meth_set_create(tls->method, bio_create) == 1;
}

int
tls_new(struct tls **out, const struct nb_host *host, const struct tls_options *options)
{
	struct tls *tls = calloc(1, sizeof(*tls));
	if (tls == NULL)
		return host->fail(NB_FAIL, "out of memory");
	tls->host = host;
	int rc = make_context(tls) ? load_files(tls, options)
				   : host->fail(NB_FAIL, "TLS: %s", error_text());
	if (rc != NB_OK) {
		tls_delete(tls);
		return rc;
	}
	/* Unsent bytes may move to another buffer before they are sent. */
	SSL_CTX_set_mode(tls->context,
		SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_read_ahead(tls->context, 1);
	SSL_CTX_set_verify(
		tls->context, options->is_unverified ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
	*out = tls;
	return NB_OK;
}

void
tls_delete(struct tls *tls)
{
	if (tls == NULL)
		return;
	SSL_CTX_free(tls->context);
	BIO_meth_free(tls->method);
	free(tls);
}
