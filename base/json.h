/* JSON as an arena-allocated tree that forgets nothing.
 *
 * Why not jansson: it re-spells numbers, refuses integers beyond int64, drops duplicate members silently, and costs ten times as
 * much; `data` of a ControllerRevision must come back byte for byte and strict field validation must name every
 * duplicate in order. So: a validating parser that keeps, beside each value, the text it came from.
 *
 * Rules
 *  - A parsed node is immutable, and so is all below it. `source` is its exact text, inside the parsed buffer, which must outlive
 *    the tree. A built node has no source and may be changed while its maker alone holds it.
 *  - To change a parsed tree, make shallow copies on the way down (json_copy), which have no source; untouched children are shared.
 *  - Encoding a node that has a source emits that text, compacted (blanks outside strings dropped; <, >, & and U+2028/9
 *    escaped as Go's encoding/json does), so numbers, escapes, member order and duplicates survive. Nodes without are synthesised.
 *  - Numbers are their lexeme. Comparison (json_equal) is by value, exact at any size: 1 = 1.0e0, 2^64 != 2^64+1.
 *  - Objects keep members in order with duplicates; look-up returns the last one, as Go and jansson do. Big objects carry an index,
 *    so that looking up every member of one stays linear whoever wrote it.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/arena.h"
#include "base/buf.h"

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_member {
	struct str name; /* unescaped */
	struct json *value;
};

struct json_index;

struct json {
	enum json_kind kind;
	bool boolean;   /* JSON_BOOL */
	bool is_frozen; /* parsed, or shared: must not be changed */
	uint32_t n;     /* bytes of text, items, or members */
	uint32_t cap;   /* of built arrays and objects */
	union {
		const char *text;            /* JSON_NUMBER: lexeme; JSON_STRING: unescaped UTF-8, may contain NUL */
		struct json **items;         /* JSON_ARRAY */
		struct json_member *members; /* JSON_OBJECT */
	};
	struct str source;        /* empty for built nodes */
	struct json_index *index; /* private: of big objects, or NULL */
};

struct json_limits {
	unsigned depth; /* containers within containers */
	size_t values;  /* values in the whole text */
};
#define JSON_LIMITS_DEFAULT ((struct json_limits){.depth = 512, .values = 1000000})

enum json_error {
	JSON_E_SYNTAX = 1, /* positive: conditions of json_parse */
	JSON_E_UTF8,
	JSON_E_DEPTH,
	JSON_E_VALUES,
	JSON_E_EOF,
	JSON_E_FULL, /* the arena's ceiling, or a text of 4 GiB */
};

/* Parses exactly one value (blanks around it allowed). 0, or a json_error with *ret_at the byte offset. Lone surrogate escapes
 * decode to U+FFFD (Go); invalid UTF-8 is JSON_E_UTF8; a raw NUL or control byte in a string is JSON_E_SYNTAX. Non-recursive. */
int json_parse(struct json **ret, struct arena *a, struct str text, struct json_limits limits, size_t *ret_at);
/* The sentence Go's encoding/json would use where it has one: "invalid character '}' looking for beginning of value",
 * "unexpected end of JSON input", ...; otherwise ours. NUL-terminated, in the arena. */
const char *json_error_text(struct arena *a, int error, struct str text, size_t at);

/* Building. */
struct json *json_null(struct arena *a);
struct json *json_bool(struct arena *a, bool b);
struct json *json_int(struct arena *a, int64_t n);
struct json *json_number(struct arena *a, struct str lexeme); /* lexeme must live as long as the arena */
struct json *json_string(struct arena *a, struct str s);      /* s is not copied */
struct json *json_array(struct arena *a);
struct json *json_object(struct arena *a);
struct json *json_copy(struct arena *a, const struct json *j); /* shallow, changeable, without source */
void json_append(struct arena *a, struct json *array, struct json *value);
void json_insert(struct arena *a, struct json *array, uint32_t at, struct json *value);
void json_remove_at(struct json *array, uint32_t at);
/* Replaces the last member of that name, or appends. name is not copied. */
void json_set(struct arena *a, struct json *object, struct str name, struct json *value);
void json_add(struct arena *a, struct json *object, struct str name, struct json *value); /* appends without looking */
void json_add_text(struct arena *a, struct json *object, struct str name, struct str text); /* a string, left out when empty */
bool json_remove(struct json *object, struct str name);                                     /* all of that name */

/* Looking. All take NULL for j and answer NULL, false, or 0 then. */
struct json *json_get(const struct json *j, struct str name); /* NULL also when j is no object */
struct json *json_gets(const struct json *j, const char *name);
bool json_is(const struct json *j, enum json_kind kind);
bool json_is_utf8(struct str s);                             /* may it be the text of a string? */
const char *json_kind_name(enum json_kind kind);             /* "null", "bool", ... as Go's decoder calls them */
struct str json_text(const struct json *j);             /* of a string or number; else empty */
bool json_to_int64(const struct json *j, int64_t *ret); /* a number whose lexeme is a plain integer in range */
/* By JSON value; of duplicates the last counts; null is not absent. */
bool json_equal(const struct json *a, const struct json *b);
/* Exact comparison of two lexemes by value: <0, 0, >0. Linear in their length, allocates nothing, whatever the exponents. */
int json_number_cmp(struct str a, struct str b);

/* Writing. Both return false when b's ceiling was reached. */
bool json_encode(struct buf *b, const struct json *j); /* compact, Go's escaping */
bool json_encode_string(struct buf *b, struct str s);  /* quoted */
/* In JSON that was added from `from` on, escapes U+007F to U+009F, which terminals may obey and JSON lets through. The meaning is the same. */
bool json_escape_controls(struct buf *b, size_t from);
/* As json.Marshal copies a RawMessage: blanks outside strings dropped, <, >, & and U+2028/9 in strings escaped. The text must be
 * valid JSON. */
bool json_compact(struct buf *b, struct str text);
/* As json.Indent with no prefix: `{}` and `[]` stay closed, tokens stay as they are. The text must be valid JSON. */
bool json_indent(struct buf *b, struct str text, unsigned spaces);
/* Likewise in slices. Its maker fills in out, rest (the whole text) and spaces. */
struct json_indenter {
	struct buf *out;
	struct str rest;
	unsigned spaces;
	/* private */
	unsigned depth;
	bool is_just_open; /* the container's first token, or its end, is still to come */
};
/* Goes on for about so many bytes of out. True: there is more to come. */
bool json_indenter_step(struct json_indenter *in, size_t n_bytes);

/* Where an object's members are, by name: private to the json_*.c files.
 *
 * Small objects have none: looking at 32 names in a row is as fast as hashing one. An index knows the last member of each name. It
 * belongs to the object's arena, and is complete or dropped, never stale. */

enum { JSON_INDEX_ABOVE = 32 }; /* members */

/* Makes object->index, new. */
void json_index_build(struct arena *a, struct json *object);
/* Adds the member just appended to an existing index. */
void json_index_add(struct arena *a, struct json *object);
/* The last member of that name, or NULL. Works without an index, too, in linear time. */
struct json_member *json_find(const struct json *object, struct str name);

#endif
