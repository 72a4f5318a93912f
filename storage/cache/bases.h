/* The bases (api/model/packed.h) that etcd has, and how many objects of the cache use each. One
 * thread at a time changes it: the cache's writer. Any thread may ask. */
#ifndef STORAGE_CACHE_BASES_H
#define STORAGE_CACHE_BASES_H

#include "api/model/packed.h"
#include "base/list.h"
#include "base/map.h"
#include "storage/storage.h"

#include <pthread.h>

struct bases {
	/* private */
	pthread_mutex_t lock;
	struct map places; /* name -> struct base_place */
	struct map groups; /* base_group() -> struct base_places */
	struct list unused;
	size_t n_bytes;
	uint64_t generation; /* of loads */
};

void bases_init(struct bases *b);
void bases_done(struct bases *b);

/* Takes a base from etcd. Returns false if the value is damaged. */
bool bases_put(struct bases *b, struct str name, struct str value, int64_t mod_revision);
void bases_remove(struct bases *b, struct str name, int64_t revision); /* unless it was written again since */
/* Around a load, which puts all bases that there are: the others go, and users are counted anew. */
void bases_load_begin(struct bases *b);
void bases_load_end(struct bases *b);
/* Counts an object that has come to use the base, or (false) does not any more. NULL: nothing. */
void bases_count(struct bases *b, const struct base *base, bool is_used);

/* Returns a reference to the latest base of the group, with its mod revision; NULL: there is none. */
struct base *bases_newest(struct bases *b, struct str group, int64_t *ret_mod_revision);
int64_t bases_revision(struct bases *b, struct str name); /* its mod revision; 0: etcd does not have it */
size_t bases_size(struct bases *b);                       /* bytes */

/* A base that no object has used for a while. */
struct base_unused {
	struct base *base; /* a reference */
	int64_t mod_revision;
};
size_t bases_unused(struct bases *b, int64_t for_ms, struct base_unused *ret, size_t max);

/* ---- reading etcd without a cache ---- */

/* Holds the bases of the values that a tool reads, the last few of them. It blocks. */
enum { BASE_SHELF_MAX = 64 };
struct base_shelf {
	struct storage *storage;
	struct str prefix;
	/* private */
	struct base *held[BASE_SHELF_MAX];
	size_t next;
};
void base_shelf_done(struct base_shelf *s);
/* Reads the base that the value continues, if there is one. Call it before the value is decoded. at_revision: that
 * of the value; 0: the newest. Returns 0; -ENOENT: it is not in etcd; -EBADMSG: it is damaged; or -EIO, and nothing is
 * known. */
int base_shelf_fetch(struct base_shelf *s, struct str value, int64_t at_revision);

#endif
