/* Without it a client could send an object of 100,000 members and have each looked up: quadratic
 * work for linear bytes. str_hash() is keyed, so nobody can choose names that collide either. */
#include "base/json_index.h"

/* Open addressing over member numbers plus one; 0 is free. Half of it stays free. */
struct json_index {
	uint32_t mask;
	uint32_t n_used;
	uint32_t slots[];
};

static uint32_t *find_slot(const struct json *object, struct json_index *index, struct str name)
{
	uint32_t at = (uint32_t)str_hash(name) & index->mask;
	while (index->slots[at] && !str_eq(object->members[index->slots[at] - 1].name, name)) {
		at = (at + 1) & index->mask;
	}
	return &index->slots[at];
}

static void index_put(const struct json *object, uint32_t member)
{
	uint32_t *slot = find_slot(object, object->index, object->members[member].name);
	object->index->n_used += *slot == 0;
	/* A later member of a name takes over its slot: the last one counts. */
	*slot = member + 1;
}

void json_index_build(struct arena *a, struct json *object)
{
	size_t n_slots = 64;
	while (n_slots < (size_t)object->n * 2 + 2) { /* room for one more, json_index_add() */
		n_slots *= 2;
	}
	object->index = arena_zalloc(a, sizeof(struct json_index) + n_slots * sizeof(uint32_t));
	object->index->mask = (uint32_t)(n_slots - 1);
	for (uint32_t i = 0; i < object->n; i++) {
		index_put(object, i);
	}
}

void json_index_add(struct arena *a, struct json *object)
{
	if ((size_t)object->index->n_used * 2 > object->index->mask) {
		json_index_build(a, object);
	} else {
		index_put(object, object->n - 1);
	}
}

struct json_member *json_find(const struct json *object, struct str name)
{
	if (object->index) {
		uint32_t slot = *find_slot(object, object->index, name);
		return slot ? &object->members[slot - 1] : NULL;
	}
	for (uint32_t i = object->n; i > 0; i--) {
		if (str_eq(object->members[i - 1].name, name)) {
			return &object->members[i - 1];
		}
	}
	return NULL;
}
