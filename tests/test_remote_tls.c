/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plugins/remote/tls.h against a server of OpenSSL. The program openssl makes the certificates:
 * one for localhost and 127.0.0.1, one for another host.
 */
#include "../plugins/remote/tls.h"

#include <signal.h>
#include <sys/socket.h>

#include <openssl/ssl.h>

#include "base/rng.h"
#include "remote_rig.h"
#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

#define LONG_NS (60 * STREAM_SECOND_NS)

#define MAKE_CERTIFICATE(name, subject) \
	"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=x" \
	" -keyout " name ".key -out " name ".pem -addext subjectAltName=" subject \
	" 2>openssl.log"

/* ---- the server ---- */

enum { FLOOD = 6 << 20 };

struct echo {
	const char *name; /* name of its certificate file */
	SSL_CTX *context;
};

/* Echoes all bytes. */
static void
echo_secretly(int fd, void *of)
{
	struct echo *echo = of;
	SSL *ssl = SSL_new(echo->context);
	static char bytes[100000];
	sigset_t pipe; /* blocked in this thread only: the client must avoid SIGPIPE itself */
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, NULL);
	SSL_set_fd(ssl, fd);
	if (SSL_accept(ssl) == 1)
		for (int size; (size = SSL_read(ssl, bytes, sizeof(bytes))) > 0;)
			if (SSL_write(ssl, bytes, size) <= 0)
				break;
	SSL_free(ssl);
}

static void
speak_plainly(int fd, void *of)
{
	char bytes[1000];
	if (recv(fd, bytes, sizeof(bytes), 0) > 0)
		peer_write(fd, "-ERR unknown command\r\n", 22);
}

static void
close_at_once(int fd, void *of)
{
}

/* ---- the client ---- */

struct client {
	struct peer peer;
	struct echo echo;
	struct tls *tls;
	struct stream stream;
	char address[200];
};

static void
client_undo(void *of)
{
	struct client *client = of;
	stream_close(&client->stream);
	tls_delete(client->tls);
	peer_stop(&client->peer);
	SSL_CTX_free(client->echo.context);
}

static int
file_exists(const char *name)
{
	struct stat st;
	return stat(name, &st) == 0;
}

/** Start a server with this certificate, and connect with these options. */
static int
client_start(struct client *client, const char *name, peer_script script,
	const struct tls_options *options)
{
	char file[32];
	if (!file_exists("right.pem"))
		ck_assert_int_eq(
			system(MAKE_CERTIFICATE("right", "DNS:localhost,IP:127.0.0.1")), 0);
	if (!file_exists("other.pem"))
		ck_assert_int_eq(system(MAKE_CERTIFICATE("other", "DNS:other.example")), 0);
	memset(client, 0, sizeof(*client));
	client->echo = (struct echo){name, SSL_CTX_new(TLS_server_method())};
	snprintf(file, sizeof(file), "%s.pem", name);
	ck_assert_int_eq(SSL_CTX_use_certificate_chain_file(client->echo.context, file), 1);
	snprintf(file, sizeof(file), "%s.key", name);
	ck_assert_int_eq(
		SSL_CTX_use_PrivateKey_file(client->echo.context, file, SSL_FILETYPE_PEM), 1);
	ck_assert(peer_start(&client->peer, PEER_IPV4, script, &client->echo));
	unit_defer(client_undo, client);
	ck_assert_int_eq(tls_new(&client->tls, &rig_host, options), NB_OK);
	const struct stream_options how = {
		.secure = tls_secure, .tls = client->tls, .connect_ns = 20 * STREAM_SECOND_NS};
	return stream_open(&client->stream, &rig_host, client->peer.address, &how);
}

static const struct tls_options trusts_right = {.ca = "right.pem"};

static void
say(struct stream *stream, size_t size, uint64_t seed)
{
	char *to = stream_room(stream, size);
	for (size_t i = 0; i < size; i++)
		to[i] = (char)(seed + i % 251);
	stream_wrote(stream, size);
}

static void
hear(struct stream *stream, size_t size, uint64_t seed)
{
	size_t came;
	ck_assert_int_eq(stream_receive(stream, size, LONG_NS), NB_OK);
	const char *front = stream_front(stream, &came);
	for (size_t i = 0; i < size; i++)
		ck_assert_int_eq(front[i], (char)(seed + i % 251));
	stream_consume(stream, size);
}

TEST(bytes_are_exchanged_encrypted)
{
	static struct client client;
	static const size_t sizes[] = {1, 100, 16384, 16385, 100000, 3};
	ck_assert_int_eq(client_start(&client, "right", echo_secretly, &trusts_right), NB_OK);
	for (size_t i = 0; i < 100; i++) {
		size_t size = sizes[i % UNIT_COUNT(sizes)];
		say(&client.stream, size, i);
		ck_assert_int_eq(stream_flush(&client.stream, LONG_NS), NB_OK);
		hear(&client.stream, size, i);
	}
}

/* Records buffered inside TLS do not make a socket readable. */
TEST(both_sides_may_have_full_buffers)
{
	static struct client client;
	ck_assert_int_eq(client_start(&client, "right", echo_secretly, &trusts_right), NB_OK);
	for (uint64_t i = 0; i < 3; i++) {
		say(&client.stream, FLOOD, i);
		ck_assert_int_eq(stream_flush(&client.stream, LONG_NS), NB_OK);
		hear(&client.stream, FLOOD, i);
	}
}

TEST(wait_without_data_ends_after_its_time)
{
	static struct client client;
	size_t came = 1;
	ck_assert_int_eq(client_start(&client, "right", echo_secretly, &trusts_right), NB_OK);
	uint64_t begin_ns = stream_now_ns();
	ck_assert_int_eq(stream_wait(&client.stream, 0, 30000000, &came), NB_OK);
	ck_assert_uint_eq(came, 0);
	ck_assert_uint_ge(stream_now_ns() - begin_ns, 30000000);
}

static const struct {
	const char *name;
	peer_script script;
	struct tls_options options;
	const char *why; /* error text; NULL: it connects */
} rows[] = {
	{"right", echo_secretly, {.ca = "other.pem"}, "certificate is not trusted: self"},
	{"right", echo_secretly, {0}, "certificate is not trusted: self"},
	{"other", echo_secretly, {.ca = "other.pem"},
		"certificate is not trusted: IP address mismatch"},
	{"other", echo_secretly, {.is_unverified = true}, NULL},
	{"right", speak_plainly, {.ca = "right.pem"}, "is it a server with TLS?"},
	{"right", close_at_once, {.ca = "right.pem"}, "is it a server with TLS?"},
};

TEST_EACH(untrusted_server_is_refused_with_the_reason, UNIT_COUNT(rows))
{
	static struct client client;
	int rc = client_start(&client, rows[_i].name, rows[_i].script, &rows[_i].options);
	ck_assert_int_eq(rc, rows[_i].why == NULL ? NB_OK : NB_FAIL);
	if (rows[_i].why == NULL)
		return;
	ck_assert_ptr_ne(strstr(rig_text, client.peer.address), NULL);
	ck_assert_msg(strstr(rig_text, rows[_i].why) != NULL, "%s", rig_text);
}

TEST(missing_files_are_named)
{
	struct tls *tls;
	const struct tls_options no_ca = {.ca = "missing.pem"}, no_key = {.cert = "right.pem"};
	ck_assert_int_eq(tls_new(&tls, &rig_host, &no_ca), NB_FAIL);
	ck_assert_ptr_ne(
		strstr(rig_text, "TLS: certificates of authorities 'missing.pem'"), NULL);
	ck_assert_int_eq(tls_new(&tls, &rig_host, &no_key), NB_UNSUPPORTED);
}
