/* One event of the audit log as JSON: audit.k8s.io/v1 Event, members in the order of kube-apiserver's. Pure. */
#ifndef SERVER_AUDIT_AUDIT_EVENT_H
#define SERVER_AUDIT_AUDIT_EVENT_H

#include "base/buf.h"
#include "server/audit/audit_policy.h"

/* objectRef; empty texts are left out. */
struct audit_object {
	struct str resource, ns, name, uid, group, version, resource_version, subresource;
};

/* The rest is reserved for annals' own annotations. */
enum { AUDIT_ANNOTATIONS_OF_WEBHOOKS_MAX = 32, AUDIT_ANNOTATIONS_MAX = AUDIT_ANNOTATIONS_OF_WEBHOOKS_MAX + 8 };
#define AUDIT_TRUNCATED "audit.k8s.io/truncated" /* the annotation of an event whose objects were too long */

struct audit_event {
	enum audit_level level;
	enum audit_stage stage;
	struct str id, uri, verb;
	const struct user *user, *impersonated; /* NULL: nobody was recognized; nobody was impersonated */
	const struct str *source_ips;
	size_t n_source_ips;
	struct str user_agent;
	const struct audit_object *object; /* NULL: not about a resource */
	bool has_status;
	unsigned code;
	struct str status; /* JSON of members between metadata and code, each with a comma behind it; may be empty */
	struct str request_object, response_object; /* JSON; empty: none */
	int64_t received_us, stage_us;              /* wall clock */
	struct audit_annotation {
		const char *key;
		struct str value;
	} annotations[AUDIT_ANNOTATIONS_MAX]; /* sorted by key */
	size_t n_annotations;
};

/* A line with its end. False when out's ceiling was reached. */
bool audit_event_encode(struct buf *out, const struct audit_event *e);
/* Adds an annotation in sorted order; an existing one stays. There is room for all known
 * annotations. */
void audit_event_annotate(struct audit_event *e, const char *key, struct str value);

/* Returns kube's sourceIPs: X-Forwarded-For, X-Real-Ip, the peer; unreadable ones are left out.
 * peer: "127.0.0.1:4000". */
size_t audit_source_ips(const struct str **ret, struct str forwarded_for, struct str real_ip, struct str peer, struct arena *a);
/* The request's target as Go's net/url writes it again: the path's odd bytes escaped. */
struct str audit_uri(struct str target, struct arena *a);

#endif
