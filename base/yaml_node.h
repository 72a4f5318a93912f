/* A YAML document as a graph of nodes, in which an alias is a pointer. For base/yaml_*.c only. */
#ifndef BASE_YAML_NODE_H
#define BASE_YAML_NODE_H

#include "base/yaml.h"

enum node_kind { NODE_SCALAR, NODE_SEQUENCE, NODE_MAPPING, NODE_ALIAS };

struct node {
	enum node_kind kind;
	bool is_plain;             /* scalar without quotes or tag */
	bool is_open;              /* for walkers: meeting a node inside of itself */
	size_t line;               /* from 1 */
	struct str tag, value;     /* value: of scalars, and the name of aliases */
	struct node *target;       /* NODE_ALIAS; never an alias itself */
	struct node *first, *last; /* items; of mappings key, value, key, value */
	struct node *next;
};

/* The first document; *ret_root is NULL where there is none. 0, or 1 with a sentence in *ret_error. */
int yaml_load(struct node **ret_root, struct str yaml, struct yaml_limits limits, struct arena *a, struct str *ret_error);

static inline int yaml_fail(struct str *ret_error, struct str sentence)
{
	*ret_error = sentence;
	return 1;
}

#endif
