// SPDX-License-Identifier: BSD-2-Clause
//
// A plugin in C++17: std::map under a std::shared_mutex. Differences from the template
// in C:
//
// - No exception may leave a verb. Each verb that can throw does its work in guarded(),
//   which turns an exception into a failure with a text. The verbs are noexcept, so an
//   overlooked exception ends the program at its origin.
// - C++17 has no designated initialisers, so a lambda fills in the table. It is constexpr:
//   the table exists before any code of the plugin runs.
// - nb_db and nb_session are classes with destructors. The plugin creates them with new
//   and deletes them with delete; the header only names them.
//
// get holds the shared lock until release, because it lends the map's own memory; a writer
// waits while the host reads one value. A scan must not delay writers for its whole length,
// so it copies each record, and finds the next one by the last key. It sees later writes of
// other sessions, so it is not a snapshot.
#include <mininb/engine.h>

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>

// std::string compares like memcmp(), a prefix first. less<> finds by string_view, so a
// lookup makes no string.
using Map = std::map<std::string, std::string, std::less<>>;

struct nb_db {
	const nb_host *host;
	std::shared_mutex mutex; // guards the map
	Map map;
};

struct nb_session {
	nb_db *db;
	std::shared_lock<std::shared_mutex> loan; // held from get to release
	std::string key, value;                   // the last record of a scan
	bool is_backward, is_keys_only;
	bool is_past; // the key was returned: continue after it
	bool is_from_end;
};

namespace
{

std::string_view
view(nb_slice slice)
{
	return slice.size == 0
		? std::string_view()
		: std::string_view(static_cast<const char *>(slice.data), slice.size);
}

nb_slice
lend(std::string_view text)
{
	return {text.data(), text.size()};
}

template <typename Work>
int
guarded(const nb_host *host, Work work) noexcept
{
	try {
		return work();
	} catch (const std::exception &e) {
		return host->fail(NB_FAIL, "exception: %s", e.what());
	} catch (...) {
		return host->fail(NB_FAIL, "exception of an unknown type");
	}
}

const char *
version() noexcept
{
	return "1.0";
}

// --- open and close ---

int
db_open(nb_db **out, const nb_open_args *args) noexcept
{
	const nb_host *host = args->host;
	if (args->durability != NB_DUR_NONE)
		return host->fail(NB_UNSUPPORTED, "it is in memory: its durability is none");
	if ((args->flags & NB_OPEN_CREATE) == 0)
		return host->fail(NB_FAIL, "no database: it ends with its process");
	if (args->cache_bytes != 0)
		host->log(NB_LOG_WARNING, "stdmap: all is in memory, so --cache does nothing");
	return guarded(host, [&] {
		auto db = std::make_unique<nb_db>();
		db->host = host;
		*out = db.release();
		return NB_OK;
	});
}

int
db_close(nb_db *db) noexcept
{
	delete db;
	return NB_OK;
}

int
session_open(nb_session **out, nb_db *db, uint32_t) noexcept
{
	return guarded(db->host, [&] {
		auto session = std::make_unique<nb_session>();
		session->db = db;
		*out = session.release();
		return NB_OK;
	});
}

int
session_close(nb_session *session) noexcept
{
	delete session;
	return NB_OK;
}

// --- records ---

int
get(nb_session *session, nb_slice key, nb_slice *value) noexcept
{
	nb_db *db = session->db;
	return guarded(db->host, [&] {
		std::shared_lock lock(db->mutex);
		const auto found = db->map.find(view(key));
		if (found == db->map.end())
			return NB_NOT_FOUND;
		*value = lend(found->second);
		session->loan = std::move(lock);
		return NB_OK;
	});
}

void
release(nb_session *session) noexcept
{
	session->loan = {};
}

int
put(nb_session *session, nb_slice key, nb_slice value) noexcept
{
	nb_db *db = session->db;
	return guarded(db->host, [&] {
		std::string copy(view(value)); // slow and may throw, so before the lock
		const std::lock_guard lock(db->mutex);
		const auto at = db->map.lower_bound(view(key));
		if (at != db->map.end() && at->first == view(key))
			at->second.swap(copy);
		else
			db->map.emplace_hint(at, view(key), std::move(copy));
		return NB_OK;
	});
}

int
del(nb_session *session, nb_slice key) noexcept
{
	nb_db *db = session->db;
	return guarded(db->host, [&] {
		const std::lock_guard lock(db->mutex);
		const auto found = db->map.find(view(key));
		if (found == db->map.end())
			return NB_NOT_FOUND;
		db->map.erase(found);
		return NB_OK;
	});
}

int
insert(nb_session *session, nb_slice key, nb_slice value) noexcept
{
	nb_db *db = session->db;
	return guarded(db->host, [&] {
		const std::lock_guard lock(db->mutex);
		const auto at = db->map.lower_bound(view(key));
		if (at != db->map.end() && at->first == view(key))
			return NB_EXISTS;
		db->map.emplace_hint(at, view(key), view(value));
		return NB_OK;
	});
}

// --- scans ---

int
scan_open(nb_session *session, const nb_scan_args *args) noexcept
{
	return guarded(session->db->host, [&] {
		session->key = view(args->from);
		session->is_backward = (args->flags & NB_SCAN_BACKWARD) != 0;
		session->is_keys_only = (args->flags & NB_SCAN_KEYS_ONLY) != 0;
		session->is_from_end = args->from.size == 0;
		session->is_past = false;
		return NB_OK;
	});
}

// Return the place where a scan continues, or end(). The caller holds the lock.
Map::const_iterator
next_record(const Map &map, const nb_session &session)
{
	if (!session.is_backward) // the empty key is below all others
		return session.is_past ? map.upper_bound(session.key)
				       : map.lower_bound(session.key);
	auto beyond = session.is_from_end ? map.end()
		: session.is_past         ? map.lower_bound(session.key)
					  : map.upper_bound(session.key);
	return beyond == map.begin() ? map.end() : std::prev(beyond);
}

int
scan_next(nb_session *session, nb_slice *key, nb_slice *value) noexcept
{
	nb_db *db = session->db;
	return guarded(db->host, [&] {
		const std::shared_lock lock(db->mutex);
		const auto record = next_record(db->map, *session);
		if (record == db->map.end())
			return NB_NOT_FOUND;
		session->value = session->is_keys_only ? std::string_view() : record->second;
		session->key = record->first;
		session->is_past = true;
		session->is_from_end = false;
		*key = lend(session->key);
		*value = lend(session->value);
		return NB_OK;
	});
}

int
scan_close(nb_session *) noexcept
{
	return NB_OK;
}

constexpr nb_engine engine = [] {
	nb_engine table{};
	table.abi = NB_ENGINE_ABI;
	table.size = sizeof(table);
	table.name = "stdmap";
	table.summary = "std::map of C++ under one read-write lock";
	table.licence = "BSD-2-Clause";
	table.home = "https://en.cppreference.com/w/cpp/container/map";
	table.build = NB_ENGINE_BUILD;
	table.caps = NB_CAP_ORDERED | NB_CAP_CONCURRENT | NB_CAP_ZERO_COPY;
	table.durabilities = NB_DUR_BIT(NB_DUR_NONE);
	table.auto_durability = NB_DUR_NONE;
	table.version = version;
	table.open = db_open;
	table.close = db_close;
	table.session_open = session_open;
	table.session_close = session_close;
	table.get = get;
	table.release = release;
	table.put = put;
	table.del = del;
	table.insert = insert;
	table.scan_open = scan_open;
	table.scan_next = scan_next;
	table.scan_close = scan_close;
	return table;
}();

} // namespace

NB_ENGINE_PLUGIN(engine)
