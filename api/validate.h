/* Metadata rules of every kind: k8s.io/apimachinery/pkg/api/validation and pkg/util/validation v0.36, same texts and order. */
#ifndef API_VALIDATE_H
#define API_VALIDATE_H

#include "api/kind.h"

/* ValidateObjectMeta; with generateName but no name the prefix is checked (surprises.md 12). */
void validate_meta(const struct kind *kind, const struct meta *m, struct field_errors *errors);
/* ValidateObjectMetaUpdate and its repetitions (surprises.md 13). */
void validate_meta_update(const struct kind *kind, const struct meta *m, const struct meta *old, struct field_errors *errors);
/* Name as a path segment: NULL, or kube's text ("may not be '.'", ...). */
const char *validate_path_segment(struct str name);
/* NULL or the text: util/validation IsDNS1123Subdomain, IsDNS1123Label, IsQualifiedName (first message), IsValidLabelValue. */
const char *validate_dns_subdomain(struct str s);
const char *validate_dns_label(struct str s);
size_t validate_qualified_name(struct str s, struct arena *a, struct str ret[4]); /* number of messages */
const char *validate_label_value(struct str s, struct arena *a);

/* rest.BeforeCreate / BeforeUpdate for metadata: what the server owns (uid, timestamps, generation, ...). */
void meta_prepare_create(struct object *o, struct str ns, struct arena *a);       /* fills uid, creationTimestamp, clears the rest */
void meta_prepare_update(struct object *o, const struct object *old, struct arena *a);
/* name = generateName (cut to 58) + 5 random characters. */
void meta_generate_name(struct meta *m, struct arena *a);
/* Removes exact duplicate owner references; the Warning texts, if any, go to `warnings` (surprises.md 21). */
size_t meta_dedup_owners(struct meta *m, bool is_patch, struct arena *a, struct str warnings[2]);

#endif
