/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steps as statements.
 *
 * - A step that cannot be executed is detected before any part of its operation is sent.
 *   Examples are a too long key and a value that does not fit its columns.
 * - If all steps are gets, they become one statement for each table. This takes half the
 *   time of a statement for each get.
 * - Outside begin..commit, an execute sets its isolation with a first statement, and its
 *   transaction ends at its sync. BEGIN was rejected: after an error the transaction would
 *   continue, and requests that were sent after it would fail.
 * - If steps skip others, marks are sent between them; see statements.c.
 */
#include "internal.h"

#define EXEC_FLAGS (NB_EXEC_ATOMIC | NB_EXEC_SNAPSHOT | NB_EXEC_READ_ONLY)

/* Find the first number of a value, which is its age: *at becomes its offset. */
static bool
find_age(const struct nb_table *columns, size_t *at)
{
	*at = 0;
	for (uint32_t i = 0; i < columns->value_column_count; i++) {
		if (columns->value_columns[i].type == NB_COLUMN_U64)
			return true;
		*at += sql_column_size(&columns->value_columns[i]);
	}
	return false;
}

static const char *
check_age(const struct nb_step *step, const struct table *table)
{
	size_t at;
	if (step->operand > step->value.size || step->value.size - step->operand < 8)
		return "put-if-newer: the value ends before its age";
	if (!table->is_plain && (!find_age(table->columns, &at) || at != step->operand))
		return "put-if-newer: the age is not the first number of its table's values";
	return NULL;
}

static const char *
check_prefix(const struct nb_db *db, const struct nb_step *step, struct place *place)
{
	if (step->key.size > KEY_SIZE_MAX)
		return "prefix-empty: the prefix is longer than a key can be";
	const char *refusal = values_place(db, step->key, place);
	if (refusal == NULL && step->operand != 0 &&
		!sql_has_last_byte(place->table->columns, step->key))
		return "prefix-empty: a set of last bytes needs a last column of one byte";
	return refusal;
}

/* Returns NULL, or the reason why the step cannot be executed. */
static const char *
check_step(const struct nb_db *db, const struct nb_step *step, struct place *place)
{
	bool has_value = step->verb == NB_STEP_PUT || step->verb == NB_STEP_INSERT ||
		step->verb == NB_STEP_PUT_IF_NEWER;
	if (step->verb > NB_STEP_PREFIX_EMPTY)
		return "unknown step";
	if (step->verb == NB_STEP_PREFIX_EMPTY)
		return check_prefix(db, step, place);
	const char *refusal = values_check(
		db, step->key, has_value ? &step->value : NULL, place);
	if (refusal != NULL)
		return refusal;
	if (step->verb == NB_STEP_MERGE && place->table->statements[MERGE].text == NULL)
		return "merge: the values of the table are not one number";
	return step->verb == NB_STEP_PUT_IF_NEWER ? check_age(step, place->table) : NULL;
}

static void
add_age(struct parameters *to, const struct nb_step *step, const struct table *table)
{
	int64_t age;
	memcpy(&age, (const char *)step->value.data + step->operand, sizeof(age));
	if (table->is_plain)
		values_add_i32(to, (int32_t)step->operand);
	values_add_i64(to, age);
}

/* Buffers for the bounds of a prefix until they are sent. */
struct bounds {
	char low[KEY_SIZE_MAX + 1], high[KEY_SIZE_MAX + 1], above[KEY_SIZE_MAX + 1];
};

/*
 * The least bytes above all that begin with `prefix`. KEY_SIZE_MAX bytes 0xff are above
 * every key.
 */
static struct nb_slice
above(struct nb_slice prefix, char *room)
{
	size_t size = prefix.size;
	if (size != 0)
		memcpy(room, prefix.data, size);
	while (size > 0 && (unsigned char)room[size - 1] == 0xff)
		size--;
	if (size > 0)
		room[size - 1]++;
	else
		memset(room, 0xff, size = KEY_SIZE_MAX + 1);
	return (struct nb_slice){room, size};
}

static void
add_bound(struct parameters *to, const struct place *place, struct nb_slice rest,
	unsigned char fill, char *room)
{
	struct nb_slice parts[SQL_COLUMNS_MAX];
	const struct nb_table *columns = place->table->columns;
	sql_pad_key(columns, rest, fill, room, parts);
	for (uint32_t i = 0; i < columns->key_column_count; i++)
		values_add_column(to, &columns->key_columns[i], true, parts[i]);
}

/*
 * Append the bounds of the keys that begin with a prefix. If it is longer than a key, the
 * range is empty.
 */
static void
add_range(struct parameters *to, const struct place *place, struct bounds *room)
{
	const struct nb_table *columns = place->table->columns;
	size_t fixed = sql_fixed_size(columns->key_columns, columns->key_column_count);
	bool is_open = sql_is_open(columns->key_columns, columns->key_column_count);
	bool is_none = !is_open && place->rest.size > fixed;
	struct nb_slice none = {0};
	add_bound(to, place, is_none ? none : place->rest, is_none ? 0xff : 0, room->low);
	if (is_open)
		add_bound(to, place, above(place->rest, room->above), 0, room->high);
	else
		add_bound(to, place, is_none ? none : place->rest, is_none ? 0 : 0xff,
			room->high);
}

/* Send a mark: if the step will miss, it and the steps that it skips have no effect. */
static int
send_mark(struct nb_session *session, struct flying *op, size_t i, const struct place *place)
{
	const struct nb_step *step = &op->steps[i];
	struct parameters with;
	with.count = 0;
	struct bounds room;
	uint32_t statement = step->verb == NB_STEP_INSERT ? MARK_HAVE
		: step->verb == NB_STEP_PUT_IF_NEWER      ? MARK_NEWER
		: step->verb == NB_STEP_PREFIX_EMPTY      ? MARK_EMPTY
							  : MARK_LACK;
	if (step->verb == NB_STEP_PREFIX_EMPTY)
		add_range(&with, place, &room);
	else
		values_add_key(&with, place);
	values_add_text(&with, i + step->skips);
	values_add_i32(&with, (int32_t)i);
	if (step->verb == NB_STEP_PUT_IF_NEWER)
		add_age(&with, step, place->table);
	else if (step->verb == NB_STEP_PREFIX_EMPTY)
		values_add_i64(&with, (int64_t)step->operand);
	return pipeline_send(session, op, place->table, statement, &with);
}

/* `has_marks`: the list has skips, so a write needs a condition. */
static int
send_step(struct nb_session *session, struct flying *op, size_t i, const struct place *place,
	bool has_marks)
{
	const struct nb_step *step = &op->steps[i];
	struct parameters with;
	with.count = 0;
	struct bounds room;
	uint32_t statement = GET + step->verb;
	if (step->verb == NB_STEP_PREFIX_EMPTY) {
		add_range(&with, place, &room);
		values_add_i64(&with, (int64_t)step->operand);
		return pipeline_send(session, op, place->table, EMPTY, &with);
	}
	values_add_key(&with, place);
	if (step->verb == NB_STEP_MERGE)
		values_add_value(
			&with, place, (struct nb_slice){&step->operand, sizeof(step->operand)});
	else if (step->verb != NB_STEP_GET && step->verb != NB_STEP_DEL)
		values_add_value(&with, place, step->value);
	if (step->verb == NB_STEP_PUT_IF_NEWER)
		add_age(&with, step, place->table);
	if (has_marks && step->verb != NB_STEP_GET) {
		statement = UNLESS_PUT + step->verb - NB_STEP_PUT;
		values_add_i32(&with, (int32_t)i);
	}
	return pipeline_send(session, op, place->table, statement, &with);
}

/* An operation that cannot be executed is not sent; it is answered when its turn comes. */
static bool
refuse(struct flying *op, const char *refusal)
{
	op->answer = NB_UNSUPPORTED;
	op->error = refusal;
	return refusal != NULL;
}

/*
 * Whether an execute needs its own isolation level. At `serializable`, the session's level
 * suffices.
 */
static bool
needs_level(const struct nb_session *session, const struct flying *op, bool has_marks)
{
	enum isolation isolation = session->db->isolation;
	return session->txn == NO_TXN && isolation != SERIALIZABLE &&
		(isolation == REPEATABLE_READ || has_marks ||
			(op->flags & NB_EXEC_SNAPSHOT) != 0);
}

static int
send_lead(struct nb_session *session, struct flying *op, bool needs_level, bool has_marks)
{
	int rc = pipeline_lead(session, op);
	if (rc == NB_OK && needs_level) {
		op->leads++;
		rc = pipeline_send_common(session, op, SET_LEVEL);
	}
	if (rc == NB_OK && has_marks) {
		op->leads++;
		rc = pipeline_send_common(session, op, SKIP_NONE);
	}
	return rc;
}

/* Send the steps one after the other. */
static int
send_each(struct nb_session *session, struct flying *op, bool has_marks)
{
	int rc = NB_OK;
	for (size_t i = 0; i < op->step_count && rc == NB_OK; i++) {
		struct place place;
		struct nb_step *step = &op->steps[i];
		bool is_marked = has_marks && pipeline_is_marked(step);
		check_step(session->db, step, &place);
		if (is_marked)
			rc = send_mark(session, op, i, &place);
		if (rc == NB_OK && (!is_marked || step->verb != NB_STEP_PREFIX_EMPTY))
			rc = send_step(session, op, i, &place, has_marks);
	}
	return rc;
}

/* A single statement has one snapshot at any isolation level. */
static int
send_gets(struct nb_session *session, struct flying *op)
{
	int rc = send_lead(session, op,
		session->db->table_count > 1 && needs_level(session, op, false), false);
	op->are_gets = true;
	for (size_t i = 0; i < op->step_count; i++)
		op->steps[i].answer = NB_NOT_FOUND;
	return rc != NB_OK ? rc
			   : many_send(session, op, &op->steps[0].key, sizeof(op->steps[0]),
				     op->step_count);
}

int
steps_send(struct nb_session *session, struct flying *op)
{
	struct place place;
	bool has_marks = sql_have_skips(op->steps, op->step_count),
	     are_gets = op->step_count > 1;
	bool is_short = op->step_count == 1 && !has_marks;
	bool is_snapshot = has_marks || (op->flags & NB_EXEC_SNAPSHOT) != 0;
	if ((op->flags & ~EXEC_FLAGS) != 0 && refuse(op, "unknown flag"))
		return NB_OK;
	if (is_snapshot && session->txn != NO_TXN && session->db->isolation == READ_COMMITTED &&
		refuse(op, "a transaction at read-committed has no snapshot"))
		return NB_OK;
	for (size_t i = 0; i < op->step_count; i++) {
		const char *refusal = check_step(session->db, &op->steps[i], &place);
		if (refusal != NULL && refuse(op, refusal))
			return NB_OK;
		are_gets = are_gets && op->steps[i].verb == NB_STEP_GET;
	}
	if (are_gets && !has_marks)
		return send_gets(session, op);
	int rc = send_lead(
		session, op, !is_short && needs_level(session, op, has_marks), has_marks);
	return rc == NB_OK ? send_each(session, op, has_marks) : rc;
}
