/* What the tests of histories share: owners, revisions as a server would keep them, and a kind
 * whose states have defaults. */
#ifndef TESTS_UNIT_HISTORY_WORLD_H
#define TESTS_UNIT_HISTORY_WORLD_H

#include "tests/unit/check.h"

#include "controllers/kit/history.h"

static const struct carrier *const carriers[] = {&carrier_controllerrevisions, &carrier_podtemplates};
#define FOR_EACH_CARRIER(c) for (size_t i_ = 0; i_ < ARRAY_SIZE(carriers) && ((c) = carriers[i_]); i_++)

struct json *parsed(struct arena *a, const char *text);
struct str encoded(struct arena *a, const struct json *j);

/* What a history is made from and kept in: a list of objects with what a server adds to them. */
struct history_world {
	struct arena arena;
	const struct carrier *carrier;
	struct history_owner owner;
	struct label_selector selector; /* the owner's */
	const struct json **objects;
	size_t n, cap;
	size_t n_writes, n_problems;
	struct str problem; /* the last one */
	struct history history;
};

void world_init(struct history_world *w, const struct carrier *c, const char *name);
void world_done(struct history_world *w);
void world_select(struct history_world *w, const char *selector);
/* The owner's state from now on; its generation rises, as a server raises it. */
void world_set_state(struct history_world *w, const struct json *state);
void world_set(struct history_world *w, const char *state);
void world_add(struct history_world *w, const struct json *object); /* as it is */
void world_remove(struct history_world *w, struct str name);
/* The objects in another order, seeded. */
void world_shuffle(struct history_world *w, unsigned seed);
struct history *world_reconstruct(struct history_world *w);
/* One pass of a controller: reconstructs, chooses, and carries the choice out. The action. */
enum history_action world_pass(struct history_world *w, struct revision *ret);
/* The object with one member of its metadata replaced; NULL takes it away. */
struct json *with_meta(struct arena *a, const struct json *object, const char *name, struct json *value);
struct json *with_label(struct arena *a, const struct json *object, const char *name, struct json *value);
/* metadata.ownerReferences with one controller of that uid. */
struct json *controlled_by(struct arena *a, const char *uid);

/* The defaults of the kind of these tests: restartPolicy "Always", and amounts under "requests"
 * in one spelling. */
struct json *normal_state(const struct json *state, struct arena *a);

#endif
