/* Blocking requests: one thread, one call, one answer. Never on the client's own thread.
 *
 * Objects are JSON trees without types. An answer of 429 or 503 with Retry-After is waited for and asked again, ten times at most, as
 * client-go does: both say that nothing was done. Everything else comes back at once. */
#ifndef CLIENT_REST_H
#define CLIENT_REST_H

#include "base/json.h"
#include "client/client.h"

/* A resource as it stands in URLs. */
struct resource {
	struct str group, version, plural; /* group "" is the core one */
};

/* One object, a list (no name), or a subresource. */
struct target {
	const struct resource *resource;
	struct str namespace, name; /* namespace "": cluster-scoped, or all namespaces */
	const char *subresource;    /* NULL: none */
};

enum rest_error {
	REST_STATUS = 1,  /* the server said no: answer.code, .reason, .message, .body */
	REST_UNREACHABLE, /* no answer; a write may have been carried out: answer.message says what went wrong */
	REST_GARBLED,     /* an answer that is no JSON */
	REST_TOO_BIG,     /* an answer beyond the ceiling */
	REST_STOPPED,     /* client_stop() was called */
};

struct answer {
	int code;
	struct str reason, message; /* of a Status; else what the transport says */
	struct str content_type;
	int64_t retry_after_s; /* -1: none */
	struct json *body;     /* NULL when there is none; frozen */
	struct arena arena;    /* holds all of the above */
};

/* Each call below takes an answer_init()ed answer, empties it first, and leaves it to be answer_done()d. 0 (2xx), or a rest_error. */
void answer_init(struct answer *a);
void answer_done(struct answer *a);
bool answer_is(const struct answer *a, int code, const char *reason); /* reason NULL: any */
struct str answer_version(const struct answer *a);                    /* metadata.resourceVersion of the body */

struct rest_call {
	const char *method, *path;         /* path with the query, escaped */
	const char *accept, *content_type; /* NULL: application/json */
	struct str body;
	int64_t timeout_ms; /* of each try; 0: 30 s */
	bool is_single;     /* one try: 429 and 503 come back too */
};
int rest_do(struct client *c, const struct rest_call *call, struct answer *ret);

int rest_get(struct client *c, const struct target *t, struct answer *ret);
int rest_get_metadata(struct client *c, const struct target *t, struct answer *ret); /* PartialObjectMetadata */
int rest_create(struct client *c, const struct target *t, const struct json *object, struct answer *ret);
int rest_update(struct client *c, const struct target *t, const struct json *object, struct answer *ret);
#define PATCH_JSON "application/json-patch+json"
#define PATCH_MERGE "application/merge-patch+json"
#define PATCH_STRATEGIC "application/strategic-merge-patch+json"
int rest_patch(struct client *c, const struct target *t, const char *content_type, struct str patch, struct answer *ret);

struct delete_options {
	struct str uid, resource_version; /* preconditions */
	const char *propagation;          /* "Background", "Foreground", "Orphan"; NULL: the server's */
	int64_t grace_s;                  /* -1: the server's */
	struct str label_selector;        /* of collections */
};
#define DELETE_OPTIONS_DEFAULT ((struct delete_options){.grace_s = -1})
/* The object, or with no name the whole collection. options may be NULL. */
int rest_delete(struct client *c, const struct target *t, const struct delete_options *options, struct answer *ret);

enum { LIST_PAGE = 500 };
struct list_options {
	struct str label_selector, field_selector;
	struct str resource_version, resource_version_match; /* empty: the latest */
	struct str continue_token;
	int64_t limit; /* 0: all at once */
	bool metadata_only;
};
/* One page. list_continue() of the answer is the token of the next, or empty. */
int rest_list(struct client *c, const struct target *t, const struct list_options *options, struct answer *ret);
struct str list_continue(const struct json *list);
/* Calls each() for every object of the list, page after page, while it answers true. ret is the latest page, or the refusal of one. */
int rest_each(struct client *c, const struct target *t, bool metadata_only, bool (*each)(void *ctx, const struct json *object),
	void *ctx, struct answer *ret);

/* ---- the pieces, for others that make requests ---- */

/* /api/v1/namespaces/NS/pods/NAME/status, escaped. False when out is full. */
bool target_path(struct buf *out, const struct target *t);
/* "?" or "&" as it fits, then name=value, escaped; nothing when the value is empty. */
bool query_add(struct buf *out, const char *name, struct str value);
/* Reason and message of a Status body, into the answer. */
void answer_read_status(struct answer *a);

#endif
