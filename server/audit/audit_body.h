/* The bodies of a request and its answer, as the audit log shows them. Pure. */
#ifndef SERVER_AUDIT_AUDIT_BODY_H
#define SERVER_AUDIT_AUDIT_BODY_H

#include "base/json.h"

/* Without metadata.managedFields, also of the items of a list and of the objects in a table. The parsed tree stays as it is. */
struct json *audit_without_managed_fields(struct arena *a, struct json *j);
/* A patch as JSON; one that is none as a string (kube loses such an event). */
void audit_patch_body(struct buf *out, struct str body, bool is_yaml, struct arena *a);
/* Upstream shows its internal form, members in the order of the struct. */
struct json *audit_delete_options(struct arena *a, const struct json *body);

#endif
