/* Shared by the files of this folder. */
#ifndef CONTROLLERS_KIT_HISTORY_PRIVATE_H
#define CONTROLLERS_KIT_HISTORY_PRIVATE_H

#include "controllers/kit/history.h"

/* Escaping makes six bytes of a `<`: even so, no object that a server has accepted reaches this. */
enum { HISTORY_DATA_MAX = 64 << 20 /* bytes */ };
#define HISTORY_DATA_LIMITS ((struct json_limits){.depth = 1024, .values = SIZE_MAX})

/* A member of an object. Lists of them are sorted by name; of equal names the last counts. Free
 * them with mem_free(). */
struct history_member {
	struct str name;
	const struct json *value;
};
/* extra: one more member, or NULL. Returns how many. */
size_t history_members(struct history_member **ret, const struct json *object, const struct history_member *extra);

/* The metadata of a new revision: name, labels, annotations if any, and the owner as controller. */
struct json *history_metadata(
	const struct history_owner *o, struct str name, struct json *labels, struct json *annotations, struct arena *a);
/* Reads what every carrier has in the same place: all but number, generation and state. */
struct revision history_read_metadata(const struct json *object);
/* Reads the label with a generation: only digits, above 0, without leading zeros. */
bool history_read_generation(const struct json *labels, int64_t *ret);
struct json *history_text_of_number(int64_t number, struct arena *a);

bool history_is_controlled(const struct history_owner *o, const struct json *object);

/* A state that is compared with several others. */
struct history_sample {
	const struct history_owner *owner;
	const struct json *state, *normal; /* normal: made on first use */
	bool is_normal_known;
	struct arena *arena;
};
bool history_sample_equals(struct history_sample *s, const struct json *state);
/* Compares states as digests do: every empty value counts as absent. */
bool history_look_equal(const struct json *a, const struct json *b);

#endif
