/* The order matters twice: messages name the types in it, and a wildcard in Accept gets the
 * first. */
#include "server/parse/media_types.h"

const struct media_type media_types[N_MEDIA_TYPES] = {
	{"application", "json", MEDIA_JSON, true},
	{"application", "yaml", MEDIA_YAML, false},
	{"application", "vnd.kubernetes.protobuf", MEDIA_PROTOBUF, true},
};

static struct str add_name(struct arena *a, struct str text, const struct media_type *t, const char *parameters)
{
	return arena_printf(a, STR_FMT "%s%s/%s%s", STR_ARG(text), text.n > 0 ? ", " : "", t->type, t->subtype, parameters);
}

struct str media_body_type_names(struct arena *a, size_t n)
{
	struct str text = {NULL, 0};

	for (size_t i = 0; i < n; i++) {
		text = add_name(a, text, &media_types[i], "");
	}
	return text;
}

struct str media_type_names(struct arena *a, bool plain, bool streams)
{
	struct str text = plain ? media_body_type_names(a, N_MEDIA_TYPES) : (struct str){NULL, 0};

	for (size_t i = 0; streams && i < N_MEDIA_TYPES; i++) {
		if (media_types[i].streams) {
			text = add_name(a, text, &media_types[i], ";stream=watch");
		}
	}
	return text;
}
