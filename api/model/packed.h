/* Stored texts in compressed form. Recorded states, and the lists of changes of Histories, repeat
 * what was recorded before. So their text is stored as a frame of zstd, which may continue an earlier
 * text of the same history: its base.
 *
 *   {"kind":"History","apiVersion":"annals.dev/zstd","base":"0a1b2c3d4e5f6071","zstd":"KLUv/SQ..."}
 *
 * This is an object in an unknown version for programs that do not know the form. So they neither show
 * nor overwrite it (docs/explanation/storage.md). Without a base, the frame continues a fixed text of
 * common words, which is a part of the form and never changes.
 *
 * A base is named by a hash of its content and never changes. It has a key of its own
 * (storage/keys.h). The bases of a process are in one table, from which any thread may take
 * references. Each user holds one: the table itself keeps nothing. */
#ifndef API_MODEL_PACKED_H
#define API_MODEL_PACKED_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/hash_table.h"

enum {
	PACKED_TEXT_MAX = 2 << 20, /* bytes of a text: etcd accepts 1.5 MiB. Frames of larger texts are refused unseen */
	BASE_NAME_SIZE = 16,       /* hexadecimal digits */
	BASE_GROUP_MAX = 2048,     /* bytes */
};
#define PACKED_FORM STR("annals.dev/zstd") /* the name of the form: as an apiVersion, and in registrations */

/* ---- bases ---- */

struct base {
	_Atomic uint32_t refs;
	/* private */
	struct hash_node node; /* by name */
	char name[BASE_NAME_SIZE];
	uint32_t n_group, n_frame;
	char data[]; /* the group, then the frame */
};

static inline struct str base_name(const struct base *b)
{
	return (struct str){b->name, BASE_NAME_SIZE};
}
/* The key, behind the prefix, that is written whenever an object begins to use the base; or, if it
 * ends with a slash, the directory of such keys. While it is unchanged, nobody has begun to. */
static inline struct str base_group(const struct base *b)
{
	return (struct str){b->data, b->n_group};
}
struct base *base_ref(struct base *b);
struct base *base_unref(struct base *b);
DEFINE_CLEANUP(struct base *, base_unref)
size_t base_size(const struct base *b); /* bytes of the allocation; NULL: 0 */
/* Returns a reference to the base of that name; NULL: nobody holds it. */
struct base *base_find(struct str name);
/* Reads the value of a base's key. NULL: it is damaged, or the base of another name. */
struct base *base_read(struct str name, struct str value);
/* Makes a base of a text, and writes the value of its key. */
struct base *base_make(struct str group, struct str text, struct buf *ret_value);

/* ---- values ---- */

bool packed_is(struct str value);
/* The name of the value's base; empty: it has none, or it is no value in this form. */
struct str packed_base_name(struct str value);

/* A value taken apart. */
struct packed_value {
	struct str frame;  /* in the arena */
	struct base *base; /* a reference, or NULL */
};
/* Returns 0; -ENOENT: its base is not in the table; or -EBADMSG: it is damaged. */
int packed_value_read(struct packed_value *ret, struct str value, struct arena *a);
void packed_value_done(struct packed_value *c);
/* Returns 0 with the text in the arena, or -EBADMSG. */
int packed_text(struct str *ret, struct str frame, const struct base *base, struct arena *a);
/* Both: returns the text of any stored value, which is the value itself unless it is in this form. */
int packed_open(struct str *ret, struct str value, struct arena *a);

/* Writes a frame. Returns false if the text is too long for one. base: NULL, or what it continues. */
bool packed_make_frame(struct buf *out, struct str text, const struct base *base);
void packed_write(struct buf *out, const char *kind, struct str frame, const struct base *base);

#endif
