/* Bodies of writes: read, decoded, and compared with the names in the path. */
#ifndef SERVER_WRITE_WRITE_BODY_H
#define SERVER_WRITE_WRITE_BODY_H

#include "server/request/request.h"

struct body {
	struct json *json;
	struct str repeated; /* media_repeated_keys() */
};

/* Warnings of body.repeated. */
void write_warn_repeated(struct request *q, struct str repeated);
/* Body to JSON for POST and PUT: media type, syntax. 0, or 1 with q->st. */
int write_read_body(struct request *q, struct body *ret);
/* JSON to object for POST and PUT: kind, types, strict fields. 0, or 1 with q->st. */
int write_decode(struct request *q, const struct body *body, enum field_validation validation, const struct object *stored,
	struct object **ret);
/* The namespace of a body must be empty or that of the path; it is the path's afterwards. 0, or 1 with q->st. */
int write_match_namespace(struct request *q, struct object *o);
/* The body must have the name of the path. 0, or 1 with q->st. */
int write_match_name(struct request *q, const struct object *o);
/* The store's 409 for an object of another uid or version than was meant (what: "UID", "ResourceVersion"). resource: as the error calls it. 1. */
int write_refuse_precondition(struct request *q, struct str resource, struct str name, const char *what, struct str wanted, struct str present);
/* kube's 400 for a body without a name. */
void write_refuse_nameless(struct request *q);

#endif
