/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The plugin ABI: every offset, size and number of engine.h, where
 * pointers and size_t have 64 bits. Plugins that were compiled with them are
 * out there. A line here is only ever added, when a structure grows at its end;
 * one that has to be changed means another NB_ENGINE_ABI.
 *
 * Nothing runs: it compiles, or the ABI has changed.
 */
#include <mininb/engine.h>

#define SIZE(type, bytes) _Static_assert(sizeof(struct type) == (bytes), #type)
#define FIELD(type, field, offset) \
	_Static_assert(offsetof(struct type, field) == (offset), #type "." #field)
#define VALUE(name, value) _Static_assert((name) == (value), #name)

/* Numbers. */
VALUE(NB_ENGINE_ABI, 1u);
VALUE(NB_CAP_ORDERED, 0x1u);
VALUE(NB_CAP_PERSISTENT, 0x2u);
VALUE(NB_CAP_CONCURRENT, 0x4u);
VALUE(NB_CAP_ATOMIC_BATCH, 0x8u);
VALUE(NB_CAP_SNAPSHOT, 0x10u);
VALUE(NB_CAP_ZERO_COPY, 0x20u);
VALUE(NB_CAP_MULTI_PROCESS, 0x40u);
VALUE(NB_CAP_SYNTHETIC, 0x80u);
VALUE(NB_CAP_REMOTE, 0x100u);
VALUE(NB_CAP_SERIALIZABLE, 0x200u);
VALUE(NB_CAP_COPIES, 0x400u);
VALUE(NB_OPEN_CREATE, 0x1u);
VALUE(NB_OPEN_READ_ONLY, 0x2u);
VALUE(NB_SCAN_BACKWARD, 0x1u);
VALUE(NB_SCAN_KEYS_ONLY, 0x2u);
VALUE(NB_BATCH_ATOMIC, 0x1u);
VALUE(NB_TXN_READ_ONLY, 0x1u);
VALUE(NB_OK, 0);
VALUE(NB_NOT_FOUND, 1);
VALUE(NB_CONFLICT, 2);
VALUE(NB_EXISTS, 3);
VALUE(NB_PENDING, 4);
VALUE(NB_FAIL, -1);
VALUE(NB_UNSUPPORTED, -2);
VALUE(NB_DUR_NONE, 0);
VALUE(NB_DUR_PROCESS, 1);
VALUE(NB_DUR_PERIODIC, 2);
VALUE(NB_DUR_COMMIT, 3);
VALUE(NB_OPT_BOOL, 0);
VALUE(NB_OPT_U64, 1);
VALUE(NB_OPT_BYTES, 2);
VALUE(NB_OPT_TIME, 3);
VALUE(NB_OPT_CHOICE, 4);
VALUE(NB_OPT_REAL, 5);
VALUE(NB_OPT_TEXT, 6);
VALUE(NB_LOG_INFO, 0);
VALUE(NB_LOG_WARNING, 1);
VALUE(NB_REQ_GET, 0);
VALUE(NB_REQ_PUT, 1);
VALUE(NB_REQ_DEL, 2);
VALUE(NB_REQ_INSERT, 3);
VALUE(NB_REQ_MERGE, 4);
VALUE(NB_REQ_EXECUTE, 5);
VALUE(NB_STEP_GET, 0);
VALUE(NB_STEP_PUT, 1);
VALUE(NB_STEP_DEL, 2);
VALUE(NB_STEP_INSERT, 3);
VALUE(NB_STEP_MERGE, 4);
VALUE(NB_STEP_PUT_IF_NEWER, 5);
VALUE(NB_STEP_PREFIX_EMPTY, 6);
VALUE(NB_EXEC_ATOMIC, 1u);
VALUE(NB_EXEC_SNAPSHOT, 2u);
VALUE(NB_EXEC_READ_ONLY, 4u);
VALUE(NB_MERGE_ADD_U64, 0);
VALUE(NB_COLUMN_U64, 0);
VALUE(NB_COLUMN_U8, 1);
VALUE(NB_COLUMN_BYTES, 2);
VALUE(NB_SETTLE_FLUSH, 0);
VALUE(NB_SETTLE_COMPACT, 1);
VALUE(NB_STAT_COUNTER, 0);
VALUE(NB_STAT_GAUGE, 1);
VALUE(NB_DUR_BIT(NB_DUR_COMMIT), 8);

#if defined(__LP64__)

SIZE(nb_slice, 16);
FIELD(nb_slice, data, 0);
FIELD(nb_slice, size, 8);

SIZE(nb_option, 72);
FIELD(nb_option, name, 0);
FIELD(nb_option, def, 8);
FIELD(nb_option, choices, 16);
FIELD(nb_option, unit, 24);
FIELD(nb_option, help, 32);
FIELD(nb_option, min, 40);
FIELD(nb_option, max, 48);
FIELD(nb_option, type, 56);
FIELD(nb_option, spare_u32, 60);
FIELD(nb_option, spare_ptr, 64);

SIZE(nb_option_value, 16);
FIELD(nb_option_value, u64, 0);
FIELD(nb_option_value, real, 0);
FIELD(nb_option_value, text, 0);
FIELD(nb_option_value, is_set, 8);
FIELD(nb_option_value, spare_u32, 12);

SIZE(nb_host, 24);
FIELD(nb_host, size, 0);
FIELD(nb_host, abi, 4);
FIELD(nb_host, fail, 8);
FIELD(nb_host, log, 16);

SIZE(nb_open_args, 112);
FIELD(nb_open_args, size, 0);
FIELD(nb_open_args, flags, 4);
FIELD(nb_open_args, host, 8);
FIELD(nb_open_args, path, 16);
FIELD(nb_open_args, options, 24);
FIELD(nb_open_args, cache_bytes, 32);
FIELD(nb_open_args, records, 40);
FIELD(nb_open_args, key_size, 48);
FIELD(nb_open_args, value_size, 56);
FIELD(nb_open_args, sessions, 64);
FIELD(nb_open_args, durability, 68);
FIELD(nb_open_args, inflight_bytes, 72);
FIELD(nb_open_args, inflight_ops, 80);
FIELD(nb_open_args, target_count, 84);
FIELD(nb_open_args, targets, 88);
FIELD(nb_open_args, tables, 96);
FIELD(nb_open_args, table_count, 104);
FIELD(nb_open_args, spare_u32, 108);

SIZE(nb_scan_args, 32);
FIELD(nb_scan_args, size, 0);
FIELD(nb_scan_args, flags, 4);
FIELD(nb_scan_args, from, 8);
FIELD(nb_scan_args, limit, 24);

SIZE(nb_write, 40);
FIELD(nb_write, key, 0);
FIELD(nb_write, value, 16);
FIELD(nb_write, is_delete, 32);
FIELD(nb_write, spare_u32, 36);

SIZE(nb_column, 16);
FIELD(nb_column, name, 0);
FIELD(nb_column, type, 8);
FIELD(nb_column, size, 12);

SIZE(nb_table, 64);
FIELD(nb_table, name, 0);
FIELD(nb_table, prefix, 8);
FIELD(nb_table, key_columns, 24);
FIELD(nb_table, value_columns, 32);
FIELD(nb_table, key_column_count, 40);
FIELD(nb_table, value_column_count, 44);
FIELD(nb_table, rows, 48);
FIELD(nb_table, spare_ptr, 56);

SIZE(nb_step, 64);
FIELD(nb_step, key, 0);
FIELD(nb_step, value, 16);
FIELD(nb_step, operand, 32);
FIELD(nb_step, verb, 40);
FIELD(nb_step, table, 44);
FIELD(nb_step, skips, 48);
FIELD(nb_step, answer, 52);
FIELD(nb_step, spare_ptr, 56);

SIZE(nb_request, 88);
FIELD(nb_request, tag, 0);
FIELD(nb_request, key, 8);
FIELD(nb_request, value, 24);
FIELD(nb_request, steps, 40);
FIELD(nb_request, step_count, 48);
FIELD(nb_request, operand, 56);
FIELD(nb_request, verb, 64);
FIELD(nb_request, flags, 68);
FIELD(nb_request, table, 72);
FIELD(nb_request, spare_u32, 76);
FIELD(nb_request, spare_ptr, 80);

SIZE(nb_completion, 48);
FIELD(nb_completion, tag, 0);
FIELD(nb_completion, value, 8);
FIELD(nb_completion, error, 24);
FIELD(nb_completion, answer, 32);
FIELD(nb_completion, spare_u32, 36);
FIELD(nb_completion, spare_ptr, 40);

SIZE(nb_engine, 320);
FIELD(nb_engine, abi, 0);
FIELD(nb_engine, size, 4);
FIELD(nb_engine, name, 8);
FIELD(nb_engine, summary, 16);
FIELD(nb_engine, licence, 24);
FIELD(nb_engine, home, 32);
FIELD(nb_engine, build, 40);
FIELD(nb_engine, caps, 48);
FIELD(nb_engine, durabilities, 52);
FIELD(nb_engine, auto_durability, 56);
FIELD(nb_engine, spare_u32, 60);
FIELD(nb_engine, key_size_max, 64);
FIELD(nb_engine, value_size_max, 72);
FIELD(nb_engine, options, 80);
FIELD(nb_engine, version, 88);
FIELD(nb_engine, open, 96);
FIELD(nb_engine, close, 104);
FIELD(nb_engine, session_open, 112);
FIELD(nb_engine, session_close, 120);
FIELD(nb_engine, get, 128);
FIELD(nb_engine, release, 136);
FIELD(nb_engine, put, 144);
FIELD(nb_engine, del, 152);
FIELD(nb_engine, insert, 160);
FIELD(nb_engine, scan_open, 168);
FIELD(nb_engine, scan_next, 176);
FIELD(nb_engine, scan_close, 184);
FIELD(nb_engine, batch, 192);
FIELD(nb_engine, multi_get, 200);
FIELD(nb_engine, begin, 208);
FIELD(nb_engine, commit, 216);
FIELD(nb_engine, abort, 224);
FIELD(nb_engine, submit, 232);
FIELD(nb_engine, reap, 240);
FIELD(nb_engine, tick, 248);
FIELD(nb_engine, flush, 256);
FIELD(nb_engine, checkpoint, 264);
FIELD(nb_engine, stats, 272);
FIELD(nb_engine, variant, 280);
FIELD(nb_engine, auto_durability_at, 288);
FIELD(nb_engine, execute, 296);
FIELD(nb_engine, merge, 304);
FIELD(nb_engine, reset, 312);

/* Types that a size does not tell. */
#define TYPE(type, field, ...) \
	_Static_assert(__builtin_types_compatible_p( \
			       __typeof__(((struct type *)0)->field), __VA_ARGS__), \
		#type "." #field)

TYPE(nb_host, fail, int (*)(int, const char *, ...));
TYPE(nb_host, log, void (*)(uint32_t, const char *, ...));
TYPE(nb_engine, version, const char *(*)(void));
TYPE(nb_engine, open, int (*)(struct nb_db **, const struct nb_open_args *));
TYPE(nb_engine, close, int (*)(struct nb_db *));
TYPE(nb_engine, session_open, int (*)(struct nb_session **, struct nb_db *, uint32_t));
TYPE(nb_engine, session_close, int (*)(struct nb_session *));
TYPE(nb_engine, get, int (*)(struct nb_session *, struct nb_slice, struct nb_slice *));
TYPE(nb_engine, release, void (*)(struct nb_session *));
TYPE(nb_engine, put, int (*)(struct nb_session *, struct nb_slice, struct nb_slice));
TYPE(nb_engine, del, int (*)(struct nb_session *, struct nb_slice));
TYPE(nb_engine, insert, int (*)(struct nb_session *, struct nb_slice, struct nb_slice));
TYPE(nb_engine, scan_open, int (*)(struct nb_session *, const struct nb_scan_args *));
TYPE(nb_engine, scan_next, int (*)(struct nb_session *, struct nb_slice *, struct nb_slice *));
TYPE(nb_engine, scan_close, int (*)(struct nb_session *));
TYPE(nb_engine, batch, int (*)(struct nb_session *, const struct nb_write *, size_t, uint32_t));
TYPE(nb_engine, multi_get,
	int (*)(struct nb_session *, const struct nb_slice *, size_t, struct nb_slice *,
		int32_t *));
TYPE(nb_engine, begin, int (*)(struct nb_session *, uint32_t));
TYPE(nb_engine, commit, int (*)(struct nb_session *));
TYPE(nb_engine, abort, void (*)(struct nb_session *));
TYPE(nb_engine, submit,
	int (*)(struct nb_session *, const struct nb_request *, size_t, size_t *));
TYPE(nb_engine, reap,
	int (*)(struct nb_session *, struct nb_completion *, size_t, size_t *, uint64_t));
TYPE(nb_engine, tick, int (*)(struct nb_session *));
TYPE(nb_engine, flush, int (*)(struct nb_db *, uint32_t));
TYPE(nb_engine, checkpoint, int (*)(struct nb_db *));
TYPE(nb_engine, stats, void (*)(struct nb_db *, nb_stat_emit, void *));
TYPE(nb_engine, variant, const struct nb_engine *(*)(const struct nb_option_value *));
TYPE(nb_engine, auto_durability_at, uint32_t (*)(const char *));
TYPE(nb_engine, execute, int (*)(struct nb_session *, struct nb_step *, size_t, uint32_t));
TYPE(nb_engine, merge, int (*)(struct nb_session *, struct nb_slice, uint32_t, uint64_t));
TYPE(nb_engine, reset, int (*)(struct nb_db *));
TYPE(nb_step, answer, int32_t);
TYPE(nb_completion, answer, int32_t);
TYPE(nb_option_value, real, double);
_Static_assert(__builtin_types_compatible_p(nb_stat_emit,
		       void (*)(void *, const char *, const char *, uint32_t, uint64_t)),
	"nb_stat_emit");

#endif /* __LP64__ */

/* A translation unit must not be empty. */
extern const int abi_is_frozen;
const int abi_is_frozen = 1;
