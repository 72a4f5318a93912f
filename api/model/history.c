/* The digest that an object shows is taken as it is: hashing a megabyte again for each look-up
 * would cost more than the look-up. Whether it is right is checked when it is written. */
#include "api/model/history.h"

#include "api/model/digest.h"

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

bool history_allows_duplicates(const struct object *o)
{
	return str_is(json_text(json_get(o->meta.annotations, ANNOTATION_DUPLICATES)), "true");
}
