/* SPDX-License-Identifier: BSD-2-Clause */
/* plugins/remote/address.h and stream.h against a scripted server. */
#include "../plugins/remote/address.h"
#include "../plugins/remote/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/rng.h"
#include "remote_rig.h"
#include "unit.h"

bool unit_in_scratch = true;

static const struct stream_options no_options;

#define LONG_NS (60 * STREAM_SECOND_NS)

/* ---- addresses ---- */

TEST(addresses_have_a_host_and_a_port_or_a_path)
{
	static const struct {
		const char *text, *default_port, *host, *port;
		bool is_unix;
	} rows[] = {{"127.0.0.1:6379", NULL, "127.0.0.1", "6379", false},
		{"localhost:1", NULL, "localhost", "1", false},
		{"localhost", "3306", "localhost", "3306", false},
		{"[::1]:65535", NULL, "::1", "65535", false},
		{"[fe80::1%eth0]", "7", "fe80::1%eth0", "7", false},
		{"unix:/run/a.sock", NULL, "/run/a.sock", "", true},
		{"unix:a:b", "7", "a:b", "", true}};
	for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
		struct address address;
		ck_assert_int_eq(
			address_parse(&address, &rig_host, rows[i].text, rows[i].default_port),
			NB_OK);
		ck_assert_str_eq(address.host, rows[i].host);
		ck_assert_str_eq(address.port, rows[i].port);
		ck_assert_int_eq(address.is_unix, rows[i].is_unix);
	}
}

TEST(wrong_addresses_are_refused_with_the_reason)
{
	static const struct {
		const char *text, *why;
	} rows[] = {{"", "host name is missing"}, {":1", "host name is missing"},
		{"localhost", "has no port"}, {"localhost:", "from 1 to 65535"},
		{"localhost:0", "from 1 to 65535"}, {"localhost:65536", "from 1 to 65535"},
		{"localhost:000001", "from 1 to 65535"}, {"localhost:1a", "from 1 to 65535"},
		{"localhost:-1", "from 1 to 65535"}, {"::1:80", "needs brackets"},
		{"[::1", "needs brackets"}, {"[::1]80", "needs brackets"},
		{"unix:", "is empty"}};
	for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
		struct address address;
		ck_assert_int_eq(
			address_parse(&address, &rig_host, rows[i].text, NULL), NB_UNSUPPORTED);
		ck_assert_ptr_ne(strstr(rig_text, rows[i].why), NULL);
		ck_assert_ptr_ne(strstr(rig_text, rows[i].text), NULL);
	}
}

/*
 * sun_path of sockaddr_un has 108 bytes, including a NUL; some servers truncate longer paths
 * silently.
 */
TEST(path_of_a_socket_has_at_most_107_bytes)
{
	struct address address;
	char text[200] = "unix:";
	memset(text + 5, 'x', 107);
	ck_assert_int_eq(address_parse(&address, &rig_host, text, NULL), NB_OK);
	ck_assert_uint_eq(strlen(address.host), 107);
	text[5 + 107] = 'x';
	ck_assert_int_eq(address_parse(&address, &rig_host, text, NULL), NB_UNSUPPORTED);
	ck_assert_ptr_ne(strstr(rig_text, "has 108 bytes, at most 107"), NULL);
}

TEST(host_name_has_at_most_255_bytes)
{
	struct address address;
	char text[300] = "";
	memset(text, 'x', 255);
	ck_assert_int_eq(address_parse(&address, &rig_host, text, "1"), NB_OK);
	text[255] = 'x';
	ck_assert_int_eq(address_parse(&address, &rig_host, text, "1"), NB_UNSUPPORTED);
}

/* ---- the server of a key ---- */

enum { KEYS = 1000000 };

/** Make a key like those of workloads: counted, in text, hashed. Returns its size. */
static size_t
make_key(char *key, int kind, uint64_t i)
{
	uint64_t number = kind == 0 ? __builtin_bswap64(i) : kind == 1 ? i : splitmix64_mix(i);
	if (kind == 3)
		return (size_t)snprintf(key, 32, "user%llu", (unsigned long long)i);
	memset(key, 0, 16);
	memcpy(key, &number, sizeof(number));
	return kind == 4 ? 16 : 8;
}

TEST_EACH(servers_have_equal_parts_of_the_keys, 5)
{
	static const uint32_t servers[] = {1, 2, 3, 5, 16};
	for (size_t s = 0; s < UNIT_COUNT(servers); s++) {
		double count[16] = {0}, mean = (double)KEYS / servers[s];
		for (uint64_t i = 0; i < KEYS; i++) {
			char key[32];
			struct nb_slice slice = {key, make_key(key, _i, i)};
			count[split_server(slice, servers[s])]++;
		}
		for (uint32_t k = 0; k < servers[s]; k++) {
			ck_assert_double_gt(count[k], 0.99 * mean);
			ck_assert_double_lt(count[k], 1.01 * mean);
		}
	}
}

/* Another process must find the stored keys, so the function may never change. */
TEST(split_of_keys_never_changes)
{
	static const struct {
		const char *key;
		uint64_t hash;
	} rows[] = {{"a", UINT64_C(0xdca5278a47b45560)},
		{"12345678", UINT64_C(0x1cef2cf153493338)},
		{"user6284781860667377211", UINT64_C(0xf1bb31bdcb4323ea)}};
	for (size_t i = 0; i < UNIT_COUNT(rows); i++)
		ck_assert_uint_eq(
			split_hash((struct nb_slice){rows[i].key, strlen(rows[i].key)}),
			rows[i].hash);
}

/* ---- connections ---- */

struct client {
	struct peer peer;
	struct stream stream;
};

static void
client_undo(void *of)
{
	struct client *client = of;
	stream_close(&client->stream);
	peer_stop(&client->peer);
}

/** A stream to a server with this script. NULL: this machine lacks such addresses. */
static struct stream *
client_start_by(
	enum peer_kind kind, peer_script script, void *of, const struct stream_options *options)
{
	static struct client client;
	memset(&client, 0, sizeof(client));
	if (!peer_start(&client.peer, kind, script, of))
		return NULL;
	unit_defer(client_undo, &client);
	ck_assert_int_eq(
		stream_open(&client.stream, &rig_host, client.peer.address, options), NB_OK);
	return &client.stream;
}

static struct stream *
client_start(peer_script script, void *of)
{
	return client_start_by(PEER_UNIX, script, of, &no_options);
}

static void
say(struct stream *stream, const void *bytes, size_t size)
{
	char *to = stream_room(stream, size);
	ck_assert_ptr_ne(to, NULL);
	memcpy(to, bytes, size);
	stream_wrote(stream, size);
}

/* Echoes all bytes. */
static void
echo(int fd, void *of)
{
	char bytes[4096];
	for (ssize_t size; (size = recv(fd, bytes, sizeof(bytes), 0)) > 0;)
		if (!peer_write(fd, bytes, (size_t)size))
			return;
}

TEST_EACH(bytes_are_exchanged_over_every_kind_of_address, PEER_KINDS * 2)
{
	struct stream_options options = {.spin_ns = _i >= PEER_KINDS ? 1000000 : 0};
	struct stream *stream = client_start_by(
		(enum peer_kind)(_i % PEER_KINDS), echo, NULL, &options);
	char *line;
	if (stream == NULL)
		return; /* this machine has no IPv6 */
	for (int i = 0; i < 100; i++) {
		char text[32];
		int size = snprintf(text, sizeof(text), "line %d\r\nmore %d\n", i, i);
		say(stream, text, (size_t)size);
		ck_assert_int_eq(stream_flush(stream, LONG_NS), NB_OK);
		ck_assert_int_eq(stream_receive_line(stream, &line, LONG_NS), NB_OK);
		snprintf(text, sizeof(text), "line %d", i);
		ck_assert_str_eq(line, text);
		ck_assert_int_eq(stream_receive_line(stream, &line, LONG_NS), NB_OK);
		snprintf(text, sizeof(text), "more %d", i);
		ck_assert_str_eq(line, text);
	}
}

TEST(port_without_a_server_refuses)
{
	struct stream stream;
	struct peer peer;
	ck_assert(peer_start(&peer, PEER_IPV4, echo, NULL));
	peer_stop(&peer); /* frees its port */
	ck_assert_int_eq(stream_open(&stream, &rig_host, peer.address, &no_options), NB_FAIL);
	ck_assert_ptr_ne(strstr(rig_text, peer.address), NULL);
	ck_assert_ptr_ne(strstr(rig_text, "Connection refused; is the server running?"), NULL);
}

TEST(missing_socket_is_named)
{
	struct stream stream;
	ck_assert_int_eq(stream_open(&stream, &rig_host, "unix:missing", &no_options), NB_FAIL);
	ck_assert_str_eq(rig_text,
		"unix:missing: cannot connect: No such file or directory; is the server running?");
}

TEST(unknown_host_is_named)
{
	struct stream stream;
	ck_assert_int_eq(
		stream_open(&stream, &rig_host, "nobody.invalid:1", &no_options), NB_FAIL);
	ck_assert_ptr_ne(
		strstr(rig_text, "nobody.invalid:1: the host name cannot be resolved"), NULL);
}

/* A Unix socket refuses with EAGAIN while its queue is full and nobody accepts. */
TEST(connection_that_is_not_accepted_times_out)
{
	struct peer peer;
	struct stream streams[200];
	struct stream_options options = {.connect_ns = 20000000};
	int count = 0;
	peer.listener = socket(AF_UNIX, SOCK_STREAM, 0);
	struct {
		sa_family_t family;
		char path[16];
	} to = {AF_UNIX, "full"};
	ck_assert_int_eq(bind(peer.listener, (struct sockaddr *)&to, sizeof(to)), 0);
	ck_assert_int_eq(listen(peer.listener, 1), 0);
	while (count < 200 &&
		stream_open(&streams[count], &rig_host, "unix:full", &options) == NB_OK)
		count++;
	ck_assert_int_lt(count, 200);
	ck_assert_ptr_ne(strstr(rig_text, "Connection timed out"), NULL);
	while (count > 0)
		stream_close(&streams[--count]);
	close(peer.listener);
}

/* ---- bytes that come in pieces ---- */

static const char poem[] = "first\r\n\r\nsecond line\nand the third one\r\n";

static void
dribble_poem(int fd, void *of)
{
	uint64_t random = 1;
	for (int i = 0; i < 50; i++)
		peer_dribble(fd, poem, sizeof(poem) - 1, (size_t)(i / 10 + 1), &random);
}

TEST(lines_received_byte_by_byte_are_whole)
{
	static const char *const lines[] = {"first", "", "second line", "and the third one"};
	struct stream *stream = client_start(dribble_poem, NULL);
	char *line;
	for (size_t i = 0; i < 50 * UNIT_COUNT(lines); i++) {
		ck_assert_int_eq(stream_receive_line(stream, &line, LONG_NS), NB_OK);
		ck_assert_str_eq(line, lines[i % UNIT_COUNT(lines)]);
	}
	ck_assert_int_eq(stream_receive_line(stream, &line, LONG_NS), NB_FAIL);
}

TEST(closed_connection_is_reported_at_each_call)
{
	struct stream *stream = client_start(dribble_poem, NULL);
	char text[sizeof(rig_text)];
	ck_assert_int_eq(stream_receive(stream, 50 * (sizeof(poem) - 1), LONG_NS), NB_OK);
	ck_assert_int_eq(stream_receive(stream, 50 * sizeof(poem), LONG_NS), NB_FAIL);
	ck_assert_ptr_ne(strstr(rig_text, "the server closed the connection"), NULL);
	ck_assert_int_eq(strncmp(rig_text, "unix:s", 6), 0);
	strcpy(text, rig_text);
	say(stream, "x", 1);
	rig_text[0] = '\0';
	ck_assert_int_eq(stream_push(stream), NB_FAIL);
	ck_assert_str_eq(rig_text, text);
}

static void
say_sorry(int fd, void *of)
{
	peer_write(fd, "ERR too many clients\r\n", 22);
}

/*
 * The server closes before the client sends its request, which fails. The reason is in the data
 * that the server has sent.
 */
TEST_EACH(last_words_of_a_server_are_read, PEER_KINDS)
{
	struct stream *stream = client_start_by(
		(enum peer_kind)_i, say_sorry, NULL, &no_options);
	char *line;
	if (stream == NULL)
		return;
	for (int i = 0; i < 3; i++) {
		say(stream, "request\r\n", 9);
		ck_assert_int_eq(stream_push(stream), NB_OK);
		usleep(1000);
	}
	ck_assert_int_eq(stream_receive_line(stream, &line, LONG_NS), NB_OK);
	ck_assert_str_eq(line, "ERR too many clients");
	ck_assert_int_eq(stream_receive_line(stream, &line, LONG_NS), NB_FAIL);
	ck_assert_ptr_ne(strstr(rig_text, "the server closed the connection"), NULL);
}

static void
say_nothing(int fd, void *of)
{
	char byte;
	peer_read(fd, &byte, 1);
}

TEST(server_that_does_not_answer_is_reported)
{
	struct stream *stream = client_start(say_nothing, NULL);
	char *line;
	size_t came = 1;
	ck_assert_int_eq(stream_pull(stream, 0, &came), NB_OK);
	ck_assert_uint_eq(came, 0);
	uint64_t begin_ns = stream_now_ns();
	ck_assert_int_eq(stream_wait(stream, 0, 30000000, &came), NB_OK);
	ck_assert_uint_eq(came, 0);
	ck_assert_uint_ge(stream_now_ns() - begin_ns, 30000000);
	ck_assert_int_eq(stream_receive_line(stream, &line, 20000000), NB_FAIL);
	ck_assert_ptr_ne(strstr(rig_text, "the server has not answered within 20 ms"), NULL);
}

/* ---- full buffers ---- */

enum { FLOOD = 24 << 20 };

/** Byte `i` of a stream that does not repeat at distances that are powers of 2. */
static char
flood_byte(size_t i)
{
	return (char)(i % 251);
}

/* The peer answers while it reads, so a client that only sends would block forever. */
TEST_EACH(both_sides_may_have_full_buffers, PEER_KINDS)
{
	struct stream *stream = client_start_by((enum peer_kind)_i, echo, NULL, &no_options);
	size_t size;
	if (stream == NULL)
		return;
	char *to = stream_room(stream, FLOOD);
	for (size_t i = 0; i < FLOOD; i++)
		to[i] = flood_byte(i);
	stream_wrote(stream, FLOOD);
	ck_assert_int_eq(stream_flush(stream, LONG_NS), NB_OK);
	ck_assert_int_eq(stream_receive(stream, FLOOD, LONG_NS), NB_OK);
	const char *front = stream_front(stream, &size);
	ck_assert_uint_eq(size, FLOOD);
	for (size_t i = 0; i < FLOOD; i++)
		ck_assert_int_eq(front[i], flood_byte(i));
}

static void
flood(int fd, void *of)
{
	char *bytes = malloc(FLOOD);
	for (size_t i = 0; i < FLOOD; i++)
		bytes[i] = flood_byte(i);
	peer_write(fd, bytes, FLOOD);
	free(bytes);
}

/* Loans taken at several times, while the buffer grows several times. */
TEST(lent_bytes_do_not_move)
{
	struct stream *stream = client_start(flood, NULL);
	enum { LOANS = 200, SIZE = 100000 };
	const char *loans[LOANS];
	size_t size;
	for (int i = 0; i < LOANS; i++) {
		ck_assert_int_eq(stream_receive(stream, SIZE, LONG_NS), NB_OK);
		loans[i] = stream_front(stream, &size);
		stream_lend(stream);
		stream_consume(stream, SIZE);
	}
	for (size_t i = 0; i < LOANS; i++)
		for (size_t j = 0; j < SIZE; j++)
			ck_assert_int_eq(loans[i][j], flood_byte(i * SIZE + j));
	stream_release(stream);
	ck_assert_int_eq(stream_receive(stream, SIZE, LONG_NS), NB_OK);
	ck_assert_int_eq(*stream_front(stream, &size), flood_byte((size_t)LOANS * SIZE));
}

/* Memory does not grow with the number of replies if they are released. */
TEST(input_buffer_keeps_its_size)
{
	struct stream *stream = client_start(flood, NULL);
	size_t size, room = stream->in.room;
	for (size_t done = 0; done + 1000 < FLOOD; done += 1000) {
		ck_assert_int_eq(stream_receive(stream, 1000, LONG_NS), NB_OK);
		ck_assert_int_eq(*stream_front(stream, &size), flood_byte(done));
		stream_lend(stream);
		stream_consume(stream, 1000);
		stream_release(stream);
	}
	ck_assert_uint_eq(stream->in.room, room);
}
