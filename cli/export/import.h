/* Shared by the files of `annals import`. There is one thread.
 *
 * The file is read several times. Memory holds about 150 bytes of each object: its place
 * in the file, and what identifies it. The first pass finds the definitions of custom
 * resources, in the file and in the store (import_definition.c). One checks the file
 * without the store (import_scan.c). One compares it with the store (import_stored.c), and
 * one writes (import_write.c). The last two go by levels, so that owners come before what
 * they own, and definitions before their objects. */
#ifndef CLI_EXPORT_IMPORT_H
#define CLI_EXPORT_IMPORT_H

#include "api/model/kind.h"
#include "base/file.h"
#include "base/hash_table.h"
#include "base/map.h"
#include "base/options.h"
#include "cli/common/terminal.h"
#include "storage/cache/bases.h"
#include "storage/engine/plan.h"
#include "storage/storage.h"

enum { PRINT_SIZE = 16 };

/* Half a SHA-256 stands for a text of any length. */
struct print {
	unsigned char bytes[PRINT_SIZE];
};

enum import_state {
	ENTRY_NEW,     /* the store has no object there */
	ENTRY_SAME,    /* the same object is stored already */
	ENTRY_REPLACE, /* another object is stored there, and will be replaced */
	ENTRY_SKIP,    /* another object is stored there, and stays */
	ENTRY_DONE,    /* written */
};

/* An object of the file. */
struct entry {
	struct hash_node key_node, uid_node;
	uint64_t offset;
	uint32_t length, line;
	struct print key, uid; /* uid: the one in the file */
	uint32_t level;
	uint16_t kind;         /* kind->index; from KIND_COUNT_MAX on the place of a definition in im->customs */
	uint8_t version;       /* that the object has in the file */
	uint8_t state;         /* enum import_state */
	bool has_uid, is_told; /* is_told: the newest revision of a History, which is written with it */
	bool is_met;           /* an object that this import has not made is stored in its place, and keeps its uid */
};

/* An object that must be written first (print), and the entry that needs it. */
struct edge {
	struct print print; /* of a uid, or of a key */
	uint32_t entry;
	bool is_key, is_told; /* is_told: the entry is a History, and this the revision that it names */
};

/* From one entry to another, by their positions. */
struct way {
	uint32_t from, to;
};

enum on_conflict { CONFLICT_REFUSE, CONFLICT_SKIP, CONFLICT_REPLACE };

struct rename {
	struct str from, to;
};

/* --rename-namespace may be given 255 times; each object is compared with all of them. */
enum { RENAMES_MAX = 256, SALT_SIZE = 16, TROUBLES_SHOWN = 20 };

struct import_options {
	struct storage *storage;
	struct str prefix;
	bool is_exact, is_rehearsal, creates_namespaces;
	enum on_conflict on_conflict;
	struct rename renames[RENAMES_MAX];
	size_t n_renames;
	bool wants[KIND_COUNT_MAX];              /* built-in kinds, by kind->index */
	const struct option_strings *resources;  /* none: all */
	const struct option_strings *namespaces; /* as the file has them; none: all */
};

/* A definition of the file or the store. */
struct import_custom {
	struct str name;          /* RESOURCE.GROUP */
	const struct kind *names; /* the kind without its schemas; NULL: the definition is not established */
	const struct kind *kind;  /* NULL: it is made when an object needs it */
	struct entry entry;       /* of the definition in the file, if that one is in force; length 0: the stored one is */
	int64_t revision;         /* mod revision of the stored definition; 0: there is none yet */
	uint64_t bytes;           /* of its text */
};

struct import_counts {
	uint64_t created, same, replaced, skipped;
};

struct import {
	const struct import_options *options;
	int fd;
	struct file_stamp stamp;
	bool is_export; /* written by annals export */
	struct entry *entries;
	size_t n, cap;
	struct edge *edges;
	size_t n_edges, cap_edges;
	uint32_t *order;     /* of entries, by level */
	struct way *told_of; /* from a History to the revision that it names; sorted */
	size_t n_told;
	struct hash_table by_key, by_uid; /* of entries */
	struct map histories;             /* NAMESPACE/NAME, as the file has them: the new name, where a namespace is renamed */
	struct map present_uids;          /* from a uid in the file to the uid of the object stored in its place */
	struct map namespaces;            /* of objects, as they will be: NAMESPACE_... by name */
	/* objects need an existing Namespace; false: a kube-apiserver in front keeps Namespaces
	 * */
	bool has_namespaces;
	unsigned char digest[32];      /* of the whole file */
	unsigned char salt[SALT_SIZE]; /* new uids are derived from it */
	bool has_salt;
	struct arena names; /* of the maps */
	struct base_shelf shelf; /* of what stored values continue */
	struct import_custom *customs;
	size_t n_customs, cap_customs;
	struct map customs_by_name, customs_by_kind; /* RESOURCE.GROUP, and GROUP/KIND: places in customs, from 1 */
	uint64_t kinds_bytes;                        /* of kinds that have been made */
	int64_t definitions_seen; /* the revision that the customs are of, or of our own last definition; 0: none were needed */
	uint64_t n_troubles;
	struct progress progress;
	struct import_counts counts;
	struct buf *err;
};

/* object_decode_stored() of a value that etcd has, which may continue a base. Returns 0, or another number: it cannot be read. */
int import_decode(struct import *im, struct object **ret, const struct kind *k, const struct storage_kv *kv, struct arena *a);

/* ---- import.c: the input ---- */

/* Bytes of a copy without a name, on a disk that others need, too. */
#define IMPORT_COPY_MAX ((uint64_t)64 << 30)

/* A descriptor of the input that can be read again and again: of the file itself, or of a copy that has no name. -errno with a sentence
 * in err. */
int import_file_open(const char *path, struct buf *err);
int import_file_temporary(struct buf *err);
/* The digest of the whole file, and that of its first `upto` bytes. */
int import_file_digest(int fd, uint64_t upto, unsigned char all[32], unsigned char part[32], struct buf *err);
/* The bytes of an entry, in the arena. */
int import_file_read(struct import *im, const struct entry *e, struct arena *a, struct str *ret);

/* The objects of another cluster as a file of lines; a descriptor, or -errno with a sentence in err. */
int import_fetch(const char *kubeconfig, const char *context, const struct option_strings *resources,
	const struct option_strings *namespaces, struct buf *err);

/* Imports the objects of the input, which it closes. 0; -EBUSY: some objects changed meanwhile, and all others are there; or another
 * -errno. With a sentence in err. */
int import_run(const struct import_options *options, int fd, struct import_counts *ret, struct buf *err);

/* ---- import_definition.c ---- */

bool import_is_definition(const struct object *o);
void import_definitions_done(struct import *im);
/* Reads all definitions of the store, once. 0, or -errno with a sentence in err. */
int import_definitions_load(struct import *im);
/* Takes a definition of the file, and settles it: is it in force, or the stored one of its name? 0, or -errno with a sentence in err. */
int import_definition_take(struct import *im, const struct entry *e, struct object *o, struct arena *a);
bool import_knows_definition(struct import *im, struct str name);
/* Gives the definition the status that a server would give it. present: the stored one, which it replaces. */
void import_settle_definition(struct import *im, struct object *o, const struct object *present, struct arena *a);
/* Why a settled definition describes no kind; empty: it does. */
struct str import_refused_names(const struct object *o);
/* Notes that the definition is stored now. is_ours: this import wrote it, under the guard that no definition had changed. */
void import_definition_written(struct import *im, struct str name, int64_t revision, bool is_ours);
/* Sets the kind and the version of an entry. false: no definition describes them. */
bool import_find_custom(struct import *im, struct str kind, struct str api_version, struct entry *ret);
/* The kind of an entry. It lives until import_kinds_trim(). NULL with the reason in why: its definition cannot be read any more. */
const struct kind *import_kind(struct import *im, const struct entry *e, struct buf *why);
/* The same, perhaps without its schemas: for names. */
const struct kind *import_kind_names(struct import *im, const struct entry *e);
bool import_entry_is_namespace(const struct entry *e);
bool import_entry_is_definition(const struct entry *e);
/* Kinds take too much memory: no object of theirs is in use at import_kinds_trim(). */
bool import_kinds_are_full(const struct import *im);
void import_kinds_trim(struct import *im);

/* ---- import_scan.c ---- */

struct print print_of(struct str text);
/* The position of the entry with that key or uid, or -1. */
int64_t import_find(const struct import *im, bool is_key, const struct print *print);
/* Once all entries and edges are known: levels, the order, and the entries to report. */
void import_arrange(struct import *im);
/* The revision that goes with a History, or -1. */
int64_t import_told(const struct import *im, size_t history);

/* ---- import_object.c ---- */

/* Gives the object as it will be stored: renamed, and without --exact with its new uid. is_final
 * false: as far as it is known before the whole file has been read. Returns 0, or -EINVAL with the
 * reason in why. */
int import_object(struct import *im, const struct entry *e, struct str text, bool is_final, struct arena *a,
	struct object **ret, struct buf *why);
/* Gives the object as it is in the file. */
int import_object_raw(
	struct import *im, const struct entry *e, struct str text, struct arena *a, struct object **ret, struct buf *why);
struct str import_renamed(const struct import *im, struct str ns);
struct str import_key(struct import *im, const struct object *o, struct arena *a);
/* The key of the revision that a History names; empty if the object names none or is not a
 * History. */
struct str import_told_key(struct import *im, const struct object *o, struct str *ret_name, struct arena *a);
/* Is the stored object the same, except for what an import without --exact renews? */
bool import_is_same(const struct import *im, const struct object *wanted, const struct object *present, struct arena *a);

/* ---- a batch of entries: what the last two passes work on ---- */

/* Objects that are judged and written together; BATCH_BYTES bounds their bytes. */
enum { BATCH_MAX = 64 };

struct item {
	size_t at; /* in im->entries */
	struct object *object;
	struct str key;
};

struct batch {
	struct item items[BATCH_MAX];
	size_t n;
	struct arena arena; /* holds everything about this object */
};

void batch_init(struct batch *b);
void batch_done(struct batch *b);
/* Reads the next entries of one level that `wants` accepts, from *at of im->order on. Returns 0,
 * also if none are left; or -errno with a sentence in im->err. */
int batch_fill(struct import *im, struct batch *b, size_t *at, bool (*wants)(const struct entry *e));
int batch_add(struct import *im, struct batch *b, size_t at);

/* Decides what happens to the object that is stored in an entry's place (NULL: none). Sets e->state, and reports troubles. */
void import_decide(struct import *im, struct entry *e, struct object *wanted, const struct object *present, struct arena *a);
/* Makes `wanted` the object that replaces the stored one. Returns false if the rules of the kind do not allow it: why says so. */
bool import_replace(struct import *im, struct object *wanted, const struct object *present, struct arena *a, struct buf *why);
/* The key of the salt. */
struct str import_salt_key(const struct import *im, struct arena *a);

/* ---- the passes ---- */

enum { NAMESPACE_THERE = 1, NAMESPACE_IN_FILE, NAMESPACE_TO_MAKE, NAMESPACE_MISSING };

/* A trouble with the object that begins on that line; printed, and counted. */
void import_trouble(struct import *im, uint64_t line, const struct object *o, struct str text);
struct str import_title(const struct object *o, struct arena *a);

/* Each returns 0, or -errno with a sentence in err if the import cannot go on. Problems of
 * objects are counted separately. */
int import_scan(struct import *im);
int import_compare(struct import *im);
int import_write(struct import *im);

#endif
