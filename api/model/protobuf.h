/* Bodies in Kubernetes' protobuf: client-go's typed clients write kinds that are Kubernetes' own in no other form.
 *
 * Such a body is "k8s\0" and a runtime.Unknown, which says kind and apiVersion and holds the object as a
 * message of its own. Members are known by number (FIELD_NUMBER of the schema); numbers that no field has are
 * skipped, as Go does, so this form knows no unknown fields. Opaque members (RawExtension, FieldsV1) are JSON
 * text inside. Only the schemas of definitions are messages (struct type's message).
 *
 * The result is the tree that the same object's JSON would give. But empty members that Go's JSON leaves out
 * are still there: decoding (api/model/schema.h) drops them. */
#ifndef API_MODEL_PROTOBUF_H
#define API_MODEL_PROTOBUF_H

#include "api/model/schema.h"

/* Have all members a number, but for kind and apiVersion? Only then can an object of the type come in this form. */
bool protobuf_knows(const struct type *type);

/* The body, which must outlive the tree, as an object of that kind and type, which protobuf_knows(). A body that claims to be of
 * another kind gives a tree of kind and apiVersion alone. 0; or an object_error (api/model/object.h) with the sentence in *ret_error:
 * OBJECT_UNRECOGNIZED, or OBJECT_MISMATCH with the tree of kind and apiVersion. */
int protobuf_decode(
	struct json **ret, const char *kind, const struct type *type, struct str body, struct arena *a, struct str *ret_error);

#endif
