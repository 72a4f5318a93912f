/* Blocking requests: one thread, one call, one answer. They must not be called on the client's own
 * thread.
 *
 * Objects are JSON trees without types. After 429 or 503 with Retry-After, the call waits and
 * asks again, ten times at most, as client-go does. Both codes say that nothing was done. Every
 * other answer is returned at once. */
#ifndef CLIENT_REST_H
#define CLIENT_REST_H

#include "base/json.h"
#include "client/client.h"

/* A resource as it stands in URLs. */
struct resource {
	struct str group, version, plural; /* group "" is the core one */
};

/* The target of a request: one object, a list (no name), or a subresource. */
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
	struct str reason, message; /* from the Status; otherwise the transport's words */
	struct str content_type;
	int64_t retry_after_s; /* -1: none */
	struct json *body;     /* NULL when there is none; frozen */
	struct arena arena;    /* holds all of the above */
};

/* Each call below takes an answer on which answer_init() was called, and empties it first. The
 * caller calls answer_done(). Calls return 0 (2xx) or a rest_error. */
void answer_init(struct answer *a);
void answer_done(struct answer *a);
bool answer_is(const struct answer *a, int code, const char *reason); /* reason NULL: any */
struct str answer_version(const struct answer *a);                    /* metadata.resourceVersion of the body */
/* Returns true when the answer is an API server's Status, not a proxy's error page. Webhooks may
 * leave out its reason. */
bool answer_is_status(const struct answer *a);

struct rest_call {
	const char *method, *path;         /* path with the query, escaped */
	const char *accept, *content_type; /* NULL: application/json */
	struct str body;
	int64_t timeout_ms; /* of each try; 0: 30 s */
	bool is_single;     /* tries once: 429 and 503 are returned, too */
};
int rest_do(struct client *c, const struct rest_call *call, struct answer *ret);

/* Returns REST_GARBLED for a 2xx answer that is not the object with that name. */
int rest_get(struct client *c, const struct target *t, struct answer *ret);
int rest_get_metadata(struct client *c, const struct target *t, struct answer *ret); /* PartialObjectMetadata */

/* The meaning of an answer about one object. A 404 alone proves nothing: proxies, ingresses, and
 * servers whose resources are still being registered answer it for every path. After
 * REST_UNKNOWN, a caller tries again later, and must not treat the object as absent. */
enum rest_found {
	REST_FOUND,
	REST_ABSENT,  /* answer_is_absent() */
	REST_UNKNOWN, /* anything else */
};
enum rest_found rest_find(struct client *c, const struct target *t, struct answer *ret);
enum rest_found rest_find_metadata(struct client *c, const struct target *t, struct answer *ret);
/* Returns true for a 404 Status whose details name the object of `t`, as every server built on
 * k8s.io/apiserver sends it. Also works for writes. */
bool answer_is_absent(const struct answer *a, const struct target *t);
/* Does the same for the namespace: creating an object in a missing namespace is answered like
 * this. */
bool answer_is_without_namespace(const struct answer *a, struct str namespace);

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
/* Deletes the object, or without a name the whole collection. options may be NULL. */
int rest_delete(struct client *c, const struct target *t, const struct delete_options *options, struct answer *ret);

enum { LIST_PAGE = 500 };
struct list_options {
	struct str label_selector, field_selector;
	struct str resource_version, resource_version_match; /* empty: the latest */
	struct str continue_token;
	int64_t limit; /* 0: all at once */
	bool metadata_only;
};
/* Reads one page. list_continue() of the answer is the token of the next page, or empty. */
int rest_list(struct client *c, const struct target *t, const struct list_options *options, struct answer *ret);
struct str list_continue(const struct json *list);
/* Calls each() for every object of the list, page after page, until it returns false. ret is the
 * last page, or the refusal of one. */
int rest_each(struct client *c, const struct target *t, bool metadata_only, bool (*each)(void *ctx, const struct json *object),
	void *ctx, struct answer *ret);

/* ---- pieces for other code that makes requests ---- */

/* Writes /api/v1/namespaces/NS/pods/NAME/status, escaped. Returns false when out is full. */
bool target_path(struct buf *out, const struct target *t);
/* Appends "?" or "&", then name=value, escaped. Appends nothing when the value is empty. */
bool query_add(struct buf *out, const char *name, struct str value);
/* Copies reason and message of a Status body into the answer. */
void answer_read_status(struct answer *a);

#endif
