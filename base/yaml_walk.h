/* Finds the value that each line of a YAML text is about. The text must come from yaml_from_json():
 * one document, without aliases.
 *
 * The walk keeps only the current path in memory, so a text may have any length.
 */
#ifndef BASE_YAML_WALK_H
#define BASE_YAML_WALK_H

#include "base/str.h"

struct yaml_walk;

/* From a collection to a value in it. */
struct yaml_step {
	bool is_item; /* of a list, at `index`; else a member */
	uint32_t index;
	struct str name; /* valid until the walk goes on */
};

struct yaml_walk *yaml_walk_new(struct str text); /* not copied */
struct yaml_walk *yaml_walk_free(struct yaml_walk *w);

/* Goes on to a line, which is counted from 0; never back. The line is about the value that begins there last,
 * or else about the one that began last before it. False: the text cannot be read. */
bool yaml_walk_to(struct yaml_walk *w, size_t line);
/* The way from the root to that value: how many steps. */
size_t yaml_walk_path(const struct yaml_walk *w, const struct yaml_step **ret);

#endif
