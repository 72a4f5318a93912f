/* The digest of what was created through a door that has none (docs/reference/digest.md). It is not in the body, which all doors share: its own doors
 * put it in between. Most objects are never shown there, so it is made for the first who is, and kept. */
#include "storage/cache/cached_digest.h"

#include "api/model/digest.h"
#include "storage/cache/cached_fields.h"

#include <assert.h>
#include <stdatomic.h>

enum {
	SCRATCH_SIZE = 16 * 1024,
	ARENA_CEILING = 512 * 1024 * 1024, /* it was decoded when it came, so it can be again */
};

/* ---- its place ---- */

struct text_member {
	struct str name, value;
};

/* p: behind the name of a member. What ends it: a comma, or the object's closing brace. */
static const char *value_end(const char *p, const char *end)
{
	unsigned depth = 0;

	for (; p < end; p++) {
		if (*p == '"') {
			p = text_string_end(p, end);
		} else if (*p == '{' || *p == '[') {
			depth++;
		} else if (depth == 0 && (*p == ',' || *p == '}')) {
			break;
		} else if (*p == '}' || *p == ']') {
			depth--;
		}
	}
	return MIN(p, end);
}

/* The next member of an object without blanks. *p: at its opening brace, then at what ended the member before. */
static bool member_next(const char **p, const char *end, struct text_member *ret)
{
	const char *name = *p + 1;

	if (name >= end || *name != '"') {
		return false;
	}
	const char *name_end = text_string_end(name, end), *value = MIN(name_end + 2, end);
	*p = value_end(value, end);
	ret->name = (struct str){name + 1, (size_t)(name_end - name) - 1};
	ret->value = (struct str){value, (size_t)(*p - value)};
	return true;
}

/* at: of an object, what member_next() began from. */
static const char *place_at(const char *at)
{
	return *at == '{' ? at + 1 : at;
}

/* Sorted, as Go's encoder writes maps. NULL: it is there already. */
static const char *place_among(struct str annotations)
{
	const char *p = annotations.p, *end = p + annotations.n, *at = p, *place = NULL;
	struct text_member m;

	for (; member_next(&p, end, &m); at = p) {
		int order = str_cmp(m.name, ANNOTATION_DIGEST);
		if (order == 0) {
			return NULL;
		}
		if (order > 0 && !place) {
			place = place_at(at);
		}
	}
	return place ? place : place_at(p);
}

static bool comes_behind_annotations(struct str name)
{
	return str_is(name, "ownerReferences") || str_is(name, "finalizers") || str_is(name, "managedFields");
}

size_t cached_digest_place(struct str body, bool *ret_opens_annotations)
{
	const char *p = body.p + strlen("\"metadata\":"), *end = body.p + body.n, *at = p, *place = NULL;
	struct text_member m;

	*ret_opens_annotations = true;
	for (; member_next(&p, end, &m); at = p) {
		if (str_is(m.name, "annotations")) {
			*ret_opens_annotations = false;
			place = str_starts(m.value, STR("{")) ? place_among(m.value) : NULL;
			return place ? (size_t)(place - body.p) : 0;
		}
		if (!place && comes_behind_annotations(m.name)) {
			place = place_at(at);
		}
	}
	return (size_t)((place ? place : place_at(p)) - body.p);
}

bool cached_body_hides_digest(const struct kind *kind, struct str body, const struct door *d)
{
	bool opens;

	return kind->history && door_is_own(d, kind) && cached_digest_place(body, &opens) > 0;
}

/* ---- its text ---- */

/* What is around it. */
struct frame {
	struct str before, behind;
};

static struct frame frame_of(const struct cached *o)
{
	const char *at = cached_own(o).p + o->digest_at;
	/* What is shared begins with a comma. */
	bool is_first = at[-1] == '{' || at[-1] == ',', is_last = *at == '}' && !(o->fields && o->digest_at == o->fields_at);
	const char *before = is_first ? "\"" : ",\"", *behind = is_first && !is_last ? "\"," : "\"";

	if (o->opens_annotations) {
		before = is_first ? "\"annotations\":{\"" : ",\"annotations\":{\"";
		behind = is_first && !is_last ? "\"}," : "\"}";
	}
	return (struct frame){str_of(before), str_of(behind)};
}

size_t cached_digest_size(const struct cached *o)
{
	if (o->digest_at == 0) {
		return 0;
	}
	struct frame f = frame_of(o);

	return f.before.n + ANNOTATION_DIGEST.n + strlen("\":\"") + DIGEST_SIZE - 1 + f.behind.n;
}

static char *make_text(const struct cached *o)
{
	struct frame f = frame_of(o);
	_cleanup_(arena_done) struct arena a;
	char scratch[SCRATCH_SIZE];
	struct object *object;

	arena_init_with(&a, ARENA_CEILING, scratch, sizeof(scratch));
	bool is_read = cached_object(&object, o, &a) == 0;
	assert(is_read);
	(void)is_read;
	struct str text = arena_printf(&a, STR_FMT STR_FMT "\":\"" STR_FMT STR_FMT, STR_ARG(f.before),
		STR_ARG(ANNOTATION_DIGEST), STR_ARG(history_digest(object, &a)), STR_ARG(f.behind));
	assert(text.n == cached_digest_size(o));
	return mem_dup(text.p, text.n);
}

/* Of two threads that make it the first one's stays. */
static struct str text_of(const struct cached *o)
{
	struct cached *keeper = (struct cached *)(uintptr_t)o;
	char *text = atomic_load_explicit(&keeper->digest, memory_order_acquire);

	if (!text) {
		char *made = make_text(o);
		if (atomic_compare_exchange_strong(&keeper->digest, &text, made)) {
			text = made;
		} else {
			mem_free(made);
		}
	}
	return (struct str){text, cached_digest_size(o)};
}

/* ---- what is shown ---- */

static bool is_added(const struct cached *o, const struct door *d)
{
	return o->digest_at > 0 && door_is_own(d, o->kind);
}

size_t cached_pieces(const struct cached *o, const struct door *d)
{
	return o->fields ? CACHED_FIELDS + 2 * o->fields->n_times + 2 : is_added(o, d) ? CACHED_FIELDS : 1;
}

/* Parts of what is shared, times between them, and all that follows. */
static struct str piece_of_fields(const struct cached *o, size_t i)
{
	struct str own = cached_own(o);
	size_t n_times = o->fields->n_times, at = o->fields_at + FIELDS_TIME_SIZE * MIN(i / 2, n_times);

	if (i > 2 * n_times) {
		return i == 2 * n_times + 1 ? (struct str){own.p + at, own.n - at} : STR("");
	}
	return i % 2 == 0 ? fields_part(o->fields, i / 2) : (struct str){own.p + at, FIELDS_TIME_SIZE};
}

struct str cached_piece(const struct cached *o, const struct door *d, size_t i)
{
	struct str own = cached_own(o);
	const size_t n_before = o->fields ? o->fields_at : own.n;

	if (i >= CACHED_FIELDS) {
		return o->fields ? piece_of_fields(o, i - CACHED_FIELDS) : STR("");
	}
	if (!is_added(o, d)) {
		return i == 0 ? (struct str){own.p, n_before} : STR("");
	}
	return i == 0    ? (struct str){own.p, o->digest_at}
		: i == 1 ? text_of(o)
			 : (struct str){own.p + o->digest_at, n_before - o->digest_at};
}

size_t cached_shown_size(const struct cached *o, const struct door *d)
{
	return cached_body_size(o) + (is_added(o, d) ? cached_digest_size(o) : 0);
}
