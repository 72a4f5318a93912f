/* The questions that a server behind a kube-apiserver delegates to it. They concern owners of
 * bearer tokens, access rights, phases of namespaces, and verdicts of admission webhooks. The
 * server knows this interface; delegation/ implements it as a client of kube-apiserver; cli/ puts
 * them together.
 *
 * Asking never blocks. Each function that takes a question returns true if the answer is in it
 * already. Otherwise it calls question.done exactly once, later, from any thread, perhaps before
 * the function has returned. Until then the question, all it points to and its arena belong to the
 * answering side. Every question ends: when its time (deadline_ms) is up, or when the delegates are
 * stopped. A question without an answer says so (`failure`), and its asker fails closed.
 */
#ifndef API_MODEL_DELEGATES_H
#define API_MODEL_DELEGATES_H

#include "api/model/kind.h"
#include "api/model/user.h"
#include "base/arena.h"

struct question {
	void (*done)(struct question *q);
	void *ctx;           /* of done */
	struct arena *arena; /* for answers */
	int64_t deadline_ms; /* monotonic */
	struct str failure;  /* why there is no answer, for people; empty: there is one */
	bool is_turned_away; /* a failure: this source, or all together, ask too much at once; soon it may be asked again */
};

/* authentication.k8s.io/v1 TokenReview. */
struct token_question {
	struct question base;
	struct str token;
	struct str source; /* who shows it: an address. Of tokens that nobody knows, each source has its share */
	/* answer */
	bool is_known;
	struct user user; /* groups as the review has them */
};

/* authorization.k8s.io/v1 SubjectAccessReview. */
struct access_question {
	struct question base;
	struct authz_attributes what;
	/* answer */
	bool is_allowed, is_denied; /* neither: no opinion, which is no */
	struct str reason;
};

enum namespace_phase {
	NAMESPACE_UNKNOWN, /* this server keeps no namespaces: the one that does decides */
	NAMESPACE_ABSENT,
	NAMESPACE_ACTIVE,
	NAMESPACE_TERMINATING,
	NAMESPACE_UNDECIDED, /* unknown for now: the write stops here, and st says why */
};

enum { NAMESPACE_UID_SIZE = 64 };

/* Asks about one namespace. The answer comes from the server itself, not from a cache. */
struct namespace_question {
	struct question base;
	struct str name;
	/* answer */
	enum namespace_phase phase;
	char uid[NAMESPACE_UID_SIZE]; /* if it is there */
};

enum webhook_phase { WEBHOOKS_MUTATING, WEBHOOKS_VALIDATING };

/* All webhooks of one phase for one write: mutating ones one after the other, with reinvocation, validating ones at once. */
struct webhook_question {
	struct question base;
	enum webhook_phase phase;
	const char *operation; /* "CREATE", "UPDATE", "DELETE", "CONNECT" */
	const struct kind *kind;
	const struct version *version; /* the request's */
	const struct subresource *sub; /* NULL: none. Where it is a view, so are object, old and changed */
	struct str subresource, ns, name;
	const struct user *user;
	bool is_dry_run;
	const struct json *options;  /* CreateOptions, UpdateOptions, PatchOptions, DeleteOptions with kind and apiVersion, or NULL */
	const struct object *object; /* NULL: delete */
	const struct object *old;    /* NULL: create */
	struct str audit_id;
	/* answer */
	struct status st;           /* code 0: allowed; else the refusal (also when a webhook failed whose policy is Fail) */
	const struct json *changed; /* mutating: the whole object, as the request's version shows it; NULL: as it was */
	struct str *warnings;       /* for Warning headers */
	size_t n_warnings;
	struct user_extra *annotations; /* for the audit event */
	size_t n_annotations;
};

/* Converts objects of a kind with a hook (struct kind), all into one version. */
struct conversion_question {
	struct question base;
	const struct kind *kind;
	const struct version *to;
	const struct str *objects; /* whole ones, as JSON; none has that version */
	size_t n;
	/* answer, unless there is a failure: for each object in turn the whole one in the other form. It has the metadata that it had, but
	 * for labels and annotations, and is pruned and defaulted. */
	struct object **converted;
};

/* The part of a server that asks webhooks of definitions. */
struct converter {
	void *ctx;
	bool (*ask)(void *ctx, struct conversion_question *q); /* as those of struct delegates */
};

/* The authorities whose client certificates are trusted: given by flags, or followed in the ConfigMap kube-system/extension-apiserver-authentication
 * (k8s.io/apiserver pkg/server/options DelegatingAuthenticationOptions). */
struct trust {
	struct str client_ca; /* PEM; users' certificates. Empty: none is trusted */
	struct str front_ca;  /* PEM; certificates of front proxies. Empty: no header is trusted */
	/* Common names a front proxy may have; none: any that front_ca signed. */
	const struct str *front_names;
	size_t n_front_names;
	/* Headers that name the user, in the order in which they are looked at. */
	const struct str *user_headers, *uid_headers, *group_headers, *extra_prefixes;
	size_t n_user_headers, n_uid_headers, n_group_headers, n_extra_prefixes;
};

struct delegates {
	void *ctx;
	/* NULL functions: not delegated. */
	bool (*ask_token)(void *ctx, struct token_question *q);
	bool (*ask_access)(void *ctx, struct access_question *q);
	/* The phase in the cache of namespaces; ABSENT as long as the cache is not full. */
	enum namespace_phase (*namespace_phase)(void *ctx, struct str name);
	bool (*ask_namespace)(void *ctx, struct namespace_question *q);
	/* The uid of a namespace in that cache; empty: it has none. */
	struct str (*namespace_uid)(void *ctx, struct str name, struct arena *a);
	/* Would any webhook be asked about such a write (rules alone)? From memory; true as long as that is not known. */
	bool (*has_webhooks)(void *ctx, const struct webhook_question *q);
	bool (*ask_webhooks)(void *ctx, struct webhook_question *q);
	/* The trusted authorities; false until they have been read for the first time. */
	bool (*knows_trust)(void *ctx);
	/* For /readyz: what is still missing, one line for each, appended to out; nothing when all is there. */
	void (*write_missing)(void *ctx, struct buf *out);
};

#endif
