/* The file that `annals export` writes and `annals import` reads (docs/reference/export-format.md): lines of JSON, a header first, then an object
 * each, and a trailer last, without which the file has been cut. */
#ifndef CLI_EXPORT_EXPORT_FORM_H
#define CLI_EXPORT_EXPORT_FORM_H

#include "api/model/kind.h"

#define EXPORT_API_VERSION "export.annals.dev/v1"
#define EXPORT_HEADER "ExportHeader"
#define EXPORT_TRAILER "ExportTrailer"

enum { EXPORT_LINE_MAX = 16 << 20 }; /* bytes: more than etcd accepts, even if the line has been indented */

/* Do objects of the kind only describe what processes are doing right now? Old ones would
 * mislead them. */
bool export_is_momentary(const struct kind *k);

static inline bool export_is_namespace(const struct kind *k)
{
	return !k->life && strcmp(k->kind, "Namespace") == 0;
}

/* A built-in kind as people call it: its resource in any of its versions' groups, with the group behind a dot or alone where that is
 * enough. NULL: none. */
const struct kind *export_find_kind(struct str name);
/* May a definition have that name, RESOURCE.GROUP? The store knows whether one has. */
bool export_may_be_defined(struct str name);

#endif
