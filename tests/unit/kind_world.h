/* What the tests of kinds share: the rules, cells and selectable fields of one object. */
#ifndef TESTS_UNIT_KIND_WORLD_H
#define TESTS_UNIT_KIND_WORLD_H

#include "tests/unit/api_world.h"

/* What `rule` finds, or validate where it is NULL. */
static inline struct field_errors errors_of(struct api_world *w, const struct object *o,
	void (*rule)(const struct object *o, const struct object *old, struct field_errors *errors))
{
	struct field_errors e;
	field_errors_init(&e, &w->a);
	if (rule) {
		rule(o, o, &e);
	} else {
		o->kind->validate(o, &e);
	}
	return e;
}

static inline void assert_cell(const struct object *o, const char *column, const char *expected)
{
	for (size_t i = 0; i < o->kind->n_columns; i++) {
		if (strcmp(o->kind->columns[i].name, column) == 0) {
			struct buf cell;
			buf_init(&cell, 4096);
			o->kind->columns[i].cell(o, 1577836800, &cell);
			assert_str(buf_str(&cell), expected);
			buf_done(&cell);
			return;
		}
	}
	fail_msg("no column %s", column);
}

static inline void assert_selects(struct api_world *w, const struct object *o, const char *path, const char *expected)
{
	for (size_t i = 0; i < o->kind->n_selectable; i++) {
		if (strcmp(o->kind->selectable[i].path, path) == 0) {
			assert_str(o->kind->selectable[i].value(o, &w->a), expected);
			return;
		}
	}
	fail_msg("no field %s", path);
}

/* One object that is to have this error and no other, or none where field is NULL. */
struct invalid_row {
	const char *object, *field, *detail;
};

static inline void assert_row(const struct invalid_row *row, const struct field_errors *e)
{
	if (e->n != (row->field ? 1 : 0)) {
		fail_msg("%zu errors: %s", e->n, row->object);
	}
	if (row->field) {
		assert_str(e->v[0].path, row->field);
		assert_str(e->v[0].detail, row->detail);
	}
}

/* The rows against validate of the kind at that version. */
static inline void assert_rows(struct api_world *w, const char *path, const struct invalid_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct field_errors e = errors_of(w, world_decode(w, path, rows[i].object), NULL);
		assert_row(&rows[i], &e);
	}
}

/* The rows against validate_update, from what `old` is. */
static inline void assert_update_rows(
	struct api_world *w, const char *path, const char *old_text, const struct invalid_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct object *o = world_decode(w, path, rows[i].object), *old = world_decode(w, path, old_text);
		struct field_errors e;
		if (o->kind->is_namespaced) {
			o->meta.ns = old->meta.ns = o->meta.ns.n ? o->meta.ns : STR("default");
		}
		field_errors_init(&e, &w->a);
		o->kind->validate_update(o, old, &e);
		assert_row(&rows[i], &e);
	}
}

#endif
