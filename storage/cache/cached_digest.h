/* Where a digest that is not stored is shown, and how long it is: for whoever makes a struct cached. */
#ifndef STORAGE_CACHE_CACHED_DIGEST_H
#define STORAGE_CACHE_CACHED_DIGEST_H

#include "storage/cache/cache.h"

/* p: at the opening quote of a string in JSON text. The closing one, or end. */
static inline const char *text_string_end(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++) {
		p += *p == '\\';
	}
	return MIN(p, end);
}

enum { CACHED_FIELDS = 3 }; /* of the pieces, the first that is part of managedFields */

/* The body without what is shared. */
static inline struct str cached_own(const struct cached *o)
{
	size_t n_slices = 2 * (size_t)o->n_labels + o->kind->n_selectable + o->n_computed;

	return (struct str){(const char *)(o + 1) + n_slices * sizeof(struct cached_slice), o->n_text};
}

/* Where in a body the digest goes, among the annotations or with a map of its own; 0: it is there, or cannot be put anywhere. */
size_t cached_digest_place(struct str body, bool *ret_opens_annotations);
size_t cached_digest_size(const struct cached *o); /* bytes of its text, made or not */

#endif
