/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An engine written in C++17, which has no designated initialisers: the table is
 * filled by a function before anyone can ask for it. It need not work, only
 * compile, and export nb_engine_plugin under that very name.
 */
#include <mininb/engine.h>

#include <exception>
#include <map>
#include <string>

struct nb_db {
	const nb_host *host;
	std::map<std::string, std::string> records;
};

namespace
{
nb_db *
db_of(nb_session *session)
{
	return reinterpret_cast<nb_db *>(session);
}

std::string
string_of(nb_slice slice)
{
	return slice.size == 0 ? std::string()
			       : std::string(static_cast<const char *>(slice.data), slice.size);
}

const char *
version()
{
	return "1";
}

int
db_open(nb_db **out, const nb_open_args *args)
{
	if (args->durability != NB_DUR_NONE)
		return args->host->fail(NB_UNSUPPORTED, "it is a map in memory");
	try {
		*out = new nb_db{args->host, {}};
		return NB_OK;
	} catch (const std::exception &e) {
		return args->host->fail(NB_FAIL, "%s", e.what());
	}
}

int
db_close(nb_db *db)
{
	delete db;
	return NB_OK;
}

int
session_open(nb_session **out, nb_db *db, uint32_t)
{
	*out = reinterpret_cast<nb_session *>(db);
	return NB_OK;
}

int
session_close(nb_session *)
{
	return NB_OK;
}

int
get(nb_session *session, nb_slice key, nb_slice *value)
{
	const auto &records = db_of(session)->records;
	const auto found = records.find(string_of(key));
	if (found == records.end())
		return NB_NOT_FOUND;
	*value = nb_slice{found->second.data(), found->second.size()};
	return NB_OK;
}

int
put(nb_session *session, nb_slice key, nb_slice value)
{
	try {
		db_of(session)->records[string_of(key)] = string_of(value);
		return NB_OK;
	} catch (const std::exception &e) {
		return db_of(session)->host->fail(NB_FAIL, "%s", e.what());
	}
}

int
del(nb_session *session, nb_slice key)
{
	return db_of(session)->records.erase(string_of(key)) != 0 ? NB_OK : NB_NOT_FOUND;
}

const nb_option options[] = {
	NB_OPTION_BOOL("sync", "no", "a bool"),
	NB_OPTION_U64("hops", "2", "hops", 1, 9, "a count"),
	NB_OPTION_BYTES("map", "4KiB", 1, 1 << 20, "a size"),
	NB_OPTION_TIME("wait", "1ms", 0, 0, "a time"),
	NB_OPTION_CHOICE("mode", "fast", "fast|safe", "a choice"),
	NB_OPTION_REAL("load", "0.5", "parts", "a number"),
	NB_OPTION_TEXT("note", nullptr, "a text"),
	NB_OPTION_END,
};

nb_engine
make_table()
{
	nb_engine table{};
	table.abi = NB_ENGINE_ABI;
	table.size = sizeof(table);
	table.name = "engine_cxx";
	table.summary = "an engine in C++17";
	table.licence = "BSD-2-Clause";
	table.home = "part of mininb";
	table.build = NB_ENGINE_BUILD;
	table.durabilities = NB_DUR_BIT(NB_DUR_NONE);
	table.auto_durability = NB_DUR_NONE;
	table.options = options;
	table.version = version;
	table.open = db_open;
	table.close = db_close;
	table.session_open = session_open;
	table.session_close = session_close;
	table.get = get;
	table.put = put;
	table.del = del;
	return table;
}

const nb_engine engine = make_table();
} // namespace

NB_ENGINE_PLUGIN(engine)
