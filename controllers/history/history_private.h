/* What the files of this room share. */
#ifndef CONTROLLERS_HISTORY_HISTORY_PRIVATE_H
#define CONTROLLERS_HISTORY_HISTORY_PRIVATE_H

#include "controllers/history/history.h"

/* `<` is six bytes in data: nothing that a server has accepted comes to this. */
enum { HISTORY_DATA_MAX = 64 << 20 /* bytes */ };
#define HISTORY_DATA_LIMITS ((struct json_limits){.depth = 1024, .values = SIZE_MAX})

/* The members of an object sorted by name, of equal names the last; mem_free() them. */
struct history_member {
	struct str name;
	const struct json *value;
};
/* extra: one more, or NULL. How many. */
size_t history_members(struct history_member **ret, const struct json *object, const struct history_member *extra);

/* metadata of a new revision: its name, its labels, annotations where there are any, and the
 * owner as its controller. */
struct json *history_metadata(
	const struct history_owner *o, struct str name, struct json *labels, struct json *annotations, struct arena *a);
/* What every carrier has in the same place: all of a revision but number, generation and state. */
struct revision history_read_metadata(const struct json *object);
/* A label that is the number of a generation: digits alone, above 0, without zeros before them. */
bool history_read_generation(const struct json *labels, int64_t *ret);
struct json *history_text_of_number(int64_t number, struct arena *a);

bool history_is_controlled(const struct history_owner *o, const struct json *object);

/* A state that is compared with others. */
struct history_sample {
	const struct history_owner *owner;
	const struct json *state, *normal; /* normal: made when it is needed */
	bool is_normal_known;
	struct arena *arena;
};
bool history_sample_equals(struct history_sample *s, const struct json *state);
/* As a digest sees them: where emptiness always says nothing. */
bool history_look_equal(const struct json *a, const struct json *b);

#endif
