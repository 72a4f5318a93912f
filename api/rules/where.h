/* The current place of validation, and the errors there. It becomes a path only when there is an
 * error, and costs nothing until then. */
#ifndef API_RULES_WHERE_H
#define API_RULES_WHERE_H

#include "api/model/status.h"

struct where {
	const struct where *up;
	struct str name; /* of a member; empty: an item, or a key of a map */
	struct str key;
	size_t index;
};

/* Extends a path by one step; the result lives as long as the block. */
#define WHERE(parent, member) (&(const struct where){.up = (parent), .name = STR(member)})
#define WHERE_NAMED(parent, member) (&(const struct where){.up = (parent), .name = str_of(member)})
#define WHERE_ITEM(parent, i) (&(const struct where){.up = (parent), .index = (i)})
#define WHERE_KEY(parent, k) (&(const struct where){.up = (parent), .key = (k)})

struct str where_path(const struct where *at, struct arena *a);

/* Entries of field_errors. Messages are static texts, "" where kube says nothing more. */
void refuse_invalid(struct field_errors *e, const struct where *at, const struct json *bad, const char *message);
void refuse_text(struct field_errors *e, const struct where *at, struct str bad, const char *message);
void refuse_absent(struct field_errors *e, const struct where *at, const char *message);
void refuse_forbidden(struct field_errors *e, const struct where *at, const char *message);
void refuse_duplicate(struct field_errors *e, const struct where *at, struct str bad);
void refuse_unknown(struct field_errors *e, const struct where *at, struct str bad);
/* supported ends with NULL. */
void refuse_unsupported(struct field_errors *e, const struct where *at, struct str bad, const char *const *supported);
void refuse_unsupported_value(
	struct field_errors *e, const struct where *at, const struct json *bad, const char *const *supported);

/* Rules that many fields share. Each adds its errors, if any, with the path of `at`. */
typedef size_t text_rule(struct str s, const char **ret_messages);
void check_text(struct field_errors *e, const struct where *at, struct str s, text_rule *rule);
void check_present(struct field_errors *e, const struct where *at, struct str s);
/* Requires one of the supported texts. Where is_needed, an empty text is reported as absent rather
 * than unsupported. */
void check_choice(struct field_errors *e, const struct where *at, struct str s, const char *const *supported, bool is_needed);
void check_range(struct field_errors *e, const struct where *at, const struct json *number, int64_t from, int64_t to,
	const char *message);
void check_not_negative(struct field_errors *e, const struct where *at, const struct json *number);
void check_labels(struct field_errors *e, const struct where *at, const struct json *labels);
void check_label_selector(struct field_errors *e, const struct where *at, const struct json *selector);
/* Refuses ".." in a path. is_relative: refuses one from the root, too. */
void check_path(struct field_errors *e, const struct where *at, struct str path, bool is_relative);
/* Checks a named amount: not negative, and whole unless thousandths make sense. */
void check_amount(struct field_errors *e, const struct where *at, struct str resource, const struct json *amount);

#endif
