/* Metadata rules of every kind: k8s.io/apimachinery/pkg/api/validation and pkg/util/validation v0.36, same texts and order. */
#ifndef API_RULES_VALIDATE_H
#define API_RULES_VALIDATE_H

#include "api/model/kind.h"

/* ValidateObjectMeta; with generateName but no name the prefix is checked. */
void validate_meta(const struct kind *kind, const struct meta *m, struct field_errors *errors);
/* ValidateObjectMetaUpdate, twice as upstream has it. A third time, with the rules of new objects, is the matter of
 * the kinds that do so: their validate_update calls validate_meta(). */
void validate_meta_update(const struct kind *kind, const struct meta *m, const struct meta *old, struct field_errors *errors);
/* Checks one finalizer. Wrong characters are reported at `path`, a missing domain at `item_path`
 * (they differ in metadata). */
void validate_finalizer(struct str path, struct str item_path, struct str name, struct field_errors *errors);
/* Checks keys and values of metadata.labels. */
void validate_labels(const struct json *labels, struct field_errors *errors);
/* All keys and values together are at most 256 KiB. */
bool validate_annotations_fit(const struct json *annotations);
/* Checks keys and size of annotations, also of templates. */
void validate_annotations(struct str path, const struct json *annotations, struct field_errors *errors);
/* Checks the name of a field manager: as an option of a request, and in managedFields. */
void validate_field_manager(struct str path, struct str manager, struct field_errors *errors);
/* util/validation IsDNS1123Subdomain, IsDNS1123Label, IsDNS1035Label, IsQualifiedName, IsValidLabelValue. They
 * return the number of messages, which are static texts. */
#define VALIDATE_MESSAGES_MAX 4 /* Room for the messages that one value can get. */
size_t validate_dns_subdomain(struct str s, const char *ret[VALIDATE_MESSAGES_MAX]);
size_t validate_dns_label(struct str s, const char *ret[VALIDATE_MESSAGES_MAX]);
size_t validate_dns1035_label(struct str s, const char *ret[VALIDATE_MESSAGES_MAX]);
size_t validate_qualified_name(struct str s, const char *ret[VALIDATE_MESSAGES_MAX]);
size_t validate_label_value(struct str s, const char *ret[VALIDATE_MESSAGES_MAX]);
/* Rules of names: without them an object could not be found again. "may not be '.'", "may not
 * contain '/'" ... */
size_t validate_path_segment(struct str s, const char *ret[VALIDATE_MESSAGES_MAX]);

/* The rule of keys in ConfigMaps and Secrets: util/validation IsConfigMapKey, of one key and of all
 * in the map at `path`. */
size_t validate_data_key(struct str key, const char *ret[VALIDATE_MESSAGES_MAX]);
void validate_data_keys(const struct json *data, const char *path, struct field_errors *errors);
/* Refuses changes of `immutable`, data and binaryData once `immutable` is true. */
void validate_immutable_data(const struct object *o, const struct object *old, struct field_errors *errors);
/* Bytes of all values of a map of texts, and of one of bytes in normal form. NULL: 0. */
size_t data_text_size(const struct json *data);
size_t data_bytes_size(const struct json *data);

/* rest.BeforeCreate / BeforeUpdate for metadata: the fields that the server owns (uid, timestamps,
 * generation, ...). */
void meta_prepare_create(struct object *o, struct str ns, struct arena *a); /* fills uid, creationTimestamp, clears the rest */
void meta_prepare_update(struct object *o, const struct object *old, struct arena *a);
/* name = generateName (cut to 58) + 5 random characters. */
void meta_generate_name(struct meta *m, struct arena *a);
/* Removes exact duplicate owner references; the Warning texts, if any, go to `warnings`. */
size_t meta_dedup_owners(struct meta *m, bool is_patch, struct arena *a, struct str warnings[2]);

#endif
