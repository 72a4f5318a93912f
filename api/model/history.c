/* The digest that an object shows is taken as it is: hashing a megabyte again for each look-up
 * would cost more than the look-up. Whether it is right is checked when it is written. */
#include "api/model/history.h"

#include "api/model/digest.h"
#include "api/model/kind.h"

struct str history_digest(const struct object *o, struct arena *a)
{
	struct str shown = json_text(json_get(o->meta.annotations, ANNOTATION_DIGEST));
	const struct json *data = json_gets(o->fields, "data");
	char digest[DIGEST_SIZE];

	if (shown.n > 0 || !data) {
		return shown;
	}
	digest_of(digest, data, a);
	return arena_dup(a, str_of(digest));
}

bool history_hides_digest(const struct object *o)
{
	return o->kind->history && !json_get(o->meta.annotations, ANNOTATION_DIGEST) &&
		json_is(json_gets(o->fields, "data"), JSON_OBJECT);
}

static bool is_shown_only(const struct object *o, const struct door *d)
{
	return o && history_hides_digest(o) && door_is_own(d, o->kind);
}

const struct object *history_shown(const struct object *o, const struct door *d, struct arena *a)
{
	if (!is_shown_only(o, d)) {
		return o;
	}
	struct object *copy = object_copy(o, a);
	meta_set_annotation(&copy->meta, a, ANNOTATION_DIGEST, json_string(a, history_digest(o, a)));
	return copy;
}

void history_take_back(struct object *o, const struct object *from, const struct door *d, struct arena *a)
{
	if (!is_shown_only(from, d) || !json_get(o->meta.annotations, ANNOTATION_DIGEST)) {
		return;
	}
	struct json *annotations = json_copy(a, o->meta.annotations);
	json_remove(annotations, ANNOTATION_DIGEST);
	o->meta.annotations = annotations->n > 0 ? annotations : NULL;
}

bool history_allows_duplicates(const struct object *o)
{
	return str_is(json_text(json_get(o->meta.annotations, ANNOTATION_DUPLICATES)), "true");
}
