/* The meaning of a plain YAML 1.1 scalar, by the rules of go.yaml.in/yaml/v2. For base/yaml*.c
 * only. */
#ifndef BASE_YAML_SCALAR_H
#define BASE_YAML_SCALAR_H

#include "base/arena.h"

enum yaml_scalar_kind {
	YAML_STRING,
	YAML_NULL,
	YAML_BOOL,
	YAML_INT,
	YAML_FLOAT,
	YAML_TIMESTAMP, /* stays a string, but has to be quoted to stay one */
};

struct yaml_scalar {
	enum yaml_scalar_kind kind;
	bool boolean;      /* YAML_BOOL */
	double number;     /* YAML_FLOAT; may be infinite or not a number */
	struct str lexeme; /* YAML_INT, finite YAML_FLOAT: the exact value as a JSON number */
};

void yaml_scalar_resolve(struct yaml_scalar *ret, struct str text, struct arena *a);

/* As strconv.FormatFloat(d, 'g', -1, 32 or 64), and as encoding/json. d is finite. */
struct str yaml_format_float(double d, bool is_float32, struct arena *a);
struct str yaml_format_json_float(double d, struct arena *a);

#endif
