/* What the history of an object is called. Whoever makes or looks for one computes the same name. */
#ifndef API_RECORD_NAMES_H
#define API_RECORD_NAMES_H

#include "base/arena.h"

/* Room for "-" and ten characters of a digest: names of revisions begin with the history's. */
enum { HISTORY_NAME_MAX = 242, HISTORY_DIGEST_LENGTH = 10 };

/* On revisions: the name of their history, where it may be a label's value. */
#define HISTORY_LABEL STR("annals.dev/history")

/* Whose history it is. Versions do not matter, and a cluster-scoped subject has no namespace. */
struct history_subject {
	struct str group, kind, namespace, name;
};

/* The kind in small letters, ".", the name as a DNS subdomain, "-", and a digest of the subject: the
 * name alone could be that of others, too. */
struct str history_name(const struct history_subject *subject, struct arena *a);
/* May the name be a label's value? */
bool history_name_fits_label(struct str name);

#endif
