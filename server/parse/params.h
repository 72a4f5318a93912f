/* Query parameters, and the option objects that kube makes of them: ListOptions, CreateOptions,
 * UpdateOptions, PatchOptions, DeleteOptions. Parsing follows Go's net/url: pairs that cannot be
 * unescaped, or contain ';', are dropped; of repeated parameters the first counts. */
#ifndef SERVER_PARSE_PARAMS_H
#define SERVER_PARSE_PARAMS_H

#include "api/model/status.h"

struct param {
	struct str name, value;      /* unescaped */
};

struct params {
	struct param *v;
	size_t n;
};

#define PARAMS_MAX 1024              /* pairs; more is a 400 */

/* query: the text after '?', may be empty. Returns false when there are too many pairs. */
bool params_parse(struct params *ret, struct str query, struct arena *a);
bool params_has(const struct params *p, const char *name);
struct str params_get(const struct params *p, const char *name);      /* first, or empty */
size_t params_all(const struct params *p, const char *name, struct arena *a, struct str **ret);
/* Percent-decodes a path (plus_is_space false) or query text. Returns false for a malformed
 * escape. */
bool url_unescape(struct str s, bool plus_is_space, struct arena *a, struct str *ret);
/* As in kube-apiserver, anything but "", "0" and "false" in any case is true. */
bool params_bool(const struct params *p, const char *name);
/* Reads an option that upstream holds as a pointer to a boolean: there, an empty text is true
 * (Convert_Slice_string_To_Pointer_bool). Returns false when it is not given. */
bool params_optional_bool(const struct params *p, const char *name, bool *ret);

enum version_match { MATCH_UNSET, MATCH_EXACT, MATCH_NOT_OLDER_THAN };

struct list_options {
	struct str label_selector, field_selector;
	bool watch, allow_bookmarks;
	bool has_send_initial, send_initial;
	struct str resource_version;         /* as sent */
	int64_t version;                     /* parsed; 0 for "" and "0" */
	enum version_match match;
	int64_t limit;                       /* <= 0: none */
	struct str match_text;               /* of resourceVersionMatch */
	struct str continue_token;
	int64_t timeout_s;                   /* -1: not given */
};

/* Upstream reads the options' types first, then the selectors, then checks which options fit
 * together, and the version last: the order decides which mistake is reported. Each returns 0,
 * or 1 with 400 or 422 in st. is_watch: also with the deprecated /watch/ paths. */
int list_options_parse(struct list_options *ret, const struct params *p, bool is_watch, struct status *st);
int list_options_validate(struct list_options *o, struct arena *a, struct status *st);
int list_version_parse(struct list_options *o, bool is_watch, struct status *st);

enum field_validation { VALIDATE_WARN, VALIDATE_STRICT, VALIDATE_IGNORE };

struct write_options {
	bool dry_run, force, has_force;
	struct str field_manager;            /* empty: from the User-Agent */
	enum field_validation field_validation;
};
/* options_kind: "CreateOptions", "UpdateOptions" or "PatchOptions" (for messages and which parameters are allowed);
 * is_apply: fieldManager is required, force is allowed. 0, or 1 with 422 in st. */
int write_options_parse(struct write_options *ret, const struct params *p, const char *options_kind, bool is_apply, struct arena *a,
			struct status *st);

enum propagation { PROPAGATE_DEFAULT, PROPAGATE_BACKGROUND, PROPAGATE_FOREGROUND, PROPAGATE_ORPHAN };

struct delete_options {
	bool dry_run;
	enum propagation propagation;
	bool has_orphan_dependents, orphan_dependents;
	bool has_grace_period;
	int64_t grace_period_s;              /* as sent, maybe negative */
	bool has_uid, has_version;           /* preconditions */
	struct str uid, version;
};
/* body: parsed DeleteOptions; NULL: the query counts. Returns 0, or 1 with 400 or 422 in st. */
int delete_options_parse(struct delete_options *ret, const struct params *p, const struct json *body, struct arena *a, struct status *st);

#endif
