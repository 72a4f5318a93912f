/* How one object of the cache is made: cached.c makes whole ones, cached_packed.c those that are kept as
 * etcd has them, in compressed form. */
#ifndef STORAGE_CACHE_CACHED_PRIVATE_H
#define STORAGE_CACHE_CACHED_PRIVATE_H

#include "api/model/packed.h"
#include "storage/cache/cache_private.h"

enum {
	CACHED_SCRATCH = 16 * 1024, /* decoding an object of the usual size stays within the stack */
	/* Bytes that decoding takes: etcd takes 1.5 MiB, a tree thirty times as much. */
	CACHED_DECODE_CEILING = 512 * 1024 * 1024,
};

/* Stored text, taken apart: {"kind":K,"apiVersion":V, and the parts that are kept. */
struct layout {
	struct str api_version;
	struct str body;     /* `"metadata":{` to the end */
	struct str metadata; /* within body */
	const char *uid_end; /* behind metadata.uid; NULL: it has none */
	struct str fields;   /* managedFields with the comma before it, where resourceVersion goes before that; or empty */
};

/* A copy of text in which one place is replaced, and perhaps another behind it. */
struct splice {
	struct str from;
	size_t at, cut; /* these bytes of `from` are replaced by ... */
	struct str insert;
	size_t at_fields, cut_fields; /* cut_fields 0: no second place; otherwise these bytes are replaced by ... */
	struct str times;
};

/* A struct cached without its text; its slices still point to their sources. */
struct draft {
	struct cached o;
	struct str *slices; /* as behind a struct cached */
	struct str key, beyond;
	/* what etcd has, if it is in compressed form: the frame, and a reference to its base */
	struct str frame;
	struct base *base;
	bool keeps_fields; /* managedFields stay in the text */
};

/* Copies all members but the atomic ones. */
static inline void cached_copy(struct cached *to, const struct cached *from)
{
	size_t at = offsetof(struct cached, kind);

	memcpy((char *)to + at, (const char *)from + at, sizeof(*to) - at);
}

static inline size_t n_slices(const struct cached *o)
{
	return 2 * (size_t)o->n_labels + o->kind->n_selectable + o->n_computed;
}

/* Returns the body's own bytes, without the shared ones; of a packed object the frame. */
static inline struct str cached_own(const struct cached *o)
{
	return (struct str){(const char *)(o + 1) + n_slices(o) * sizeof(struct cached_slice), o->n_text};
}

/* Takes the text apart. Returns false when object_encode_stored() would have spelled it
 * otherwise. */
bool layout_read(struct layout *l, const struct kind *kind, struct str text);
/* Returns where in a body the digest goes; 0: it is there, or has no place. */
size_t cached_digest_place(struct str body, bool *ret_opens_annotations);
/* Builds the object. It takes over the draft's references. */
struct cached *draft_build(const struct draft *d, const struct splice *s);
/* The same, of the text with resourceVersion in it. */
struct cached *draft_with_revision(struct draft *d, const struct layout *l, struct arena *a);
size_t cached_digest_size(const struct cached *o); /* bytes of the digest's text, whether it has been made or not */

/* ---- cached_packed.c ---- */

/* Replaces a whole object by one that keeps the draft's frame. */
struct cached *cached_pack(struct cached *whole, struct draft *d);
/* cached_gone() of a packed object. */
struct cached *cached_gone_packed(const struct cached *o, int64_t revision);

#endif
