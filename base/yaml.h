/* YAML 1.1 as sigs.k8s.io/yaml reads and writes it, on libyaml.
 *
 * Only the first document is read. Keys become strings; `y`, `on`, `010` have their YAML 1.1
 * meaning; `<<` merges; of repeated keys the last counts. Numbers keep their value at any size:
 * where Go's float64 would lose something, the number stays as it was written. Aliases are
 * expanded, within the limits: a text of a few KiB cannot become gigabytes.
 */
#ifndef BASE_YAML_H
#define BASE_YAML_H

#include "base/json.h"

struct yaml_limits {
	unsigned depth; /* collections within collections */
	size_t values;  /* scalars and collections, after aliases are expanded */
};
#define YAML_LIMITS_DEFAULT ((struct yaml_limits){.depth = 512, .values = 1000000})

/* Appends the document as compact JSON text, keys sorted; out's ceiling bounds what aliases may expand to. 0; or 1 with a
 * sentence in *ret_error ("yaml: line 3: did not find expected key"). *ret_repeated, which may be NULL: what strict decoding
 * has against repeated keys, worded as Go does ("yaml: unmarshal errors:\n  line 3: key \"a\" already set in map"), or empty. */
int yaml_to_json(struct buf *out, struct str yaml, struct yaml_limits limits, struct arena *a, struct str *ret_error,
	struct str *ret_repeated);

/* Appends j as a YAML document, keys sorted as Go's yaml sorts them. False when out's ceiling was reached. */
bool yaml_from_json(struct buf *out, const struct json *j);

/* Likewise in slices, for threads that have others to serve. The tree and out stay until the writer is freed. */
struct yaml_writer;
enum yaml_progress {
	YAML_UNFINISHED,
	YAML_WRITTEN,
	YAML_FAILED, /* out's ceiling was reached */
};
struct yaml_writer *yaml_writer_new(struct buf *out, const struct json *j);
struct yaml_writer *yaml_writer_free(struct yaml_writer *w);
/* Goes on for about so many values. No step follows YAML_WRITTEN or YAML_FAILED. */
enum yaml_progress yaml_writer_step(struct yaml_writer *w, size_t n_values);

/* The same document for a terminal (visible.h): a string with something to be escaped is between double quotes, and emoji stay. */
bool yaml_from_json_visible(struct buf *out, const struct json *j);

#endif
