/* Formats of strings: k8s.io/kube-openapi/pkg/validation/strfmt, those that apiextensions-apiserver 0.36 supports. */
#ifndef API_SCHEMA_FORMAT_H
#define API_SCHEMA_FORMAT_H

#include "base/str.h"

enum format {
	FORMAT_NONE, /* none, or one that is not checked */
	FORMAT_INT32,
	FORMAT_INT64,
	FORMAT_FLOAT,
	FORMAT_DOUBLE,
	FORMAT_STRINGS, /* from here on those of strings, sorted by their names without dashes */
};

/* The format of that name for that type ("" or "string", "integer", "number"); FORMAT_NONE where validation ignores it. */
unsigned format_find(struct str name, struct str type);
bool format_accepts(unsigned format, struct str text);

#endif
