/* A schema as a tree of nodes: private to the room, and common to what compiles, checks and applies schemas.
 *
 * Each node is one JSONSchemaProps. Nodes of a compiled schema (schema.h) forget their JSON; those that are read in order to judge a
 * definition keep it, since some rules look at members that mean nothing afterwards. */
#ifndef API_SCHEMA_NODE_H
#define API_SCHEMA_NODE_H

#include "api/schema/format.h"
#include "api/schema/pattern.h"
#include "api/schema/schema.h"

enum node_type {
	NODE_ANY, /* no type */
	NODE_STRING,
	NODE_NUMBER,
	NODE_INTEGER,
	NODE_BOOLEAN,
	NODE_ARRAY,
	NODE_OBJECT,
	NODE_ODD, /* none that there is */
};

enum node_list { NODE_LIST_NONE, NODE_LIST_ATOMIC, NODE_LIST_SET, NODE_LIST_MAP, NODE_LIST_ODD };
enum node_map { NODE_MAP_NONE, NODE_MAP_GRANULAR, NODE_MAP_ATOMIC, NODE_MAP_ODD };

struct node_property {
	struct str name;
	const struct node *node;
};

/* The schemas of allOf, anyOf or oneOf, in their order. */
struct node_list_of {
	const struct node **v;
	size_t n;
};

struct node_texts {
	struct str *v;
	size_t n;
};

enum {
	CHECK_MAXIMUM = 1 << 0,
	CHECK_MINIMUM = 1 << 1,
	CHECK_MULTIPLE = 1 << 2,
	CHECK_MAX_LENGTH = 1 << 3,
	CHECK_MIN_LENGTH = 1 << 4,
	CHECK_MAX_ITEMS = 1 << 5,
	CHECK_MIN_ITEMS = 1 << 6,
	CHECK_MAX_PROPERTIES = 1 << 7,
	CHECK_MIN_PROPERTIES = 1 << 8,
	CHECK_ABOVE_MINIMUM = 1 << 9,  /* exclusiveMinimum */
	CHECK_BELOW_MAXIMUM = 1 << 10, /* exclusiveMaximum */
	CHECK_UNIQUE = 1 << 11,
};

/* Value validation. Texts and items, lengths and properties exclude one another in no schema, so each has a place. */
struct node_checks {
	unsigned flags;
	double maximum, minimum, multiple;
	int64_t max_length, min_length, max_items, min_items, max_properties, min_properties;
	struct str format_text; /* as written, dashes included */
	struct str pattern_text;
	struct pattern *pattern;    /* NULL: none, or nobody asks for it */
	const struct json **values; /* enum */
	size_t n_values;
	struct node_texts required;
	struct node_list_of all, any, one;
	const struct node * not ;
};

struct node {
	uint8_t type, list, map, format; /* enum node_type, node_list, node_map, format */
	bool is_nullable, is_int_or_string, is_preserving, is_embedded;
	bool has_additional, allows_additional; /* allows: true or a schema */
	bool has_defaults;                      /* in or below it, additional ones included */
	bool has_embedded;                      /* likewise: embedded resources */
	bool has_lists;                         /* likewise: sets and maps */
	bool has_rules;                         /* likewise: x-kubernetes-validations, of nested schemas too */
	uint32_t n_properties;
	struct node_property *properties; /* sorted by name */
	const struct node *additional, *items;
	const struct json *preset;          /* default */
	const struct node_checks *checks;   /* NULL: none */
	const struct node_texts *list_keys; /* NULL: none */
	const struct json *json;            /* NULL in compiled schemas */
};

/* The node of a property, or NULL. hint: where the last one was found; 0 at first. */
const struct node *node_property(const struct node *n, struct str name, uint32_t *hint);
/* The node of a member: its property, otherwise that of additionalProperties, otherwise NULL. */
const struct node *node_member(const struct node *n, struct str name, uint32_t *hint);
const char *node_type_name(enum node_type type);

/* Texts of the members that CustomResourceDefinitions have and compiled schemas forget. */
struct node_reader {
	struct arena *arena;
	struct patterns *patterns; /* NULL: nobody asks for patterns */
	bool compiles;             /* the nodes outlive the JSON; otherwise they point to it */
	struct str error;          /* SCHEMA_UNSUPPORTED or SCHEMA_TOO_BIG: the first */
	enum schema_error kind;
};
/* Reads a schema; NULL after an error, which is in the reader. JSON of a wrong kind counts as absent: decoding has refused it. */
const struct node *node_read(struct node_reader *r, const struct json *schema);
/* Upstream's refusal to convert ("OpenAPIV3Schema 'id' is not supported"), the first one found, or NULL. Reading does not ask. */
const char *node_unsupported(const struct node *n);

/* Where a value or a schema is, innermost first: texts are made of it only when something is wrong. */
struct spot {
	const struct spot *up;
	struct str name; /* of a member */
	size_t index;    /* of an item, where is_item */
	enum { SPOT_ROOT, SPOT_MEMBER, SPOT_KEY, SPOT_ITEM } kind;
};

/* "spec.list[0].a"; keys of maps as members (field.Path has them in brackets, with `bracketed`). */
struct str spot_text(const struct spot *at, bool bracketed, struct arena *a);

/* Values as Go has them. */
enum value_kind { VALUE_NULL, VALUE_BOOL, VALUE_INT, VALUE_DOUBLE, VALUE_STRING, VALUE_ARRAY, VALUE_OBJECT };
struct value {
	enum value_kind kind;
	int64_t integer; /* VALUE_INT */
	double number;   /* VALUE_INT, VALUE_DOUBLE */
};
struct value value_of(const struct json *j);
/* reflect.DeepEqual of decoded JSON: 1 and 1.0 differ, order of members does not count. */
bool value_equal(const struct json *a, const struct json *b);
/* The value as messages show it: doubles by %v, objects with sorted members. */
const struct json *value_shown(const struct json *j, struct arena *a);
void go_print_value(struct buf *out, const struct json *j, struct arena *a); /* by %v */
/* A member by its last occurrence, and the members sorted, each once. */
void value_members(const struct json *object, struct arena *a, struct json_member **ret, uint32_t *ret_n);

#endif
