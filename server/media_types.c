#include "server/media_types.h"

const struct media_type media_types[N_MEDIA_TYPES] = {
	{"application", "json", MEDIA_JSON, true},
	{"application", "yaml", MEDIA_YAML, false},
};

struct str media_type_names(struct arena *a, bool plain, bool streams)
{
	struct str text = {NULL, 0};

	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < N_MEDIA_TYPES; i++) {
			const struct media_type *s = &media_types[i];
			if (pass == 0 ? !plain : !streams || !s->streams) {
				continue;
			}
			text = arena_printf(a, STR_FMT "%s%s/%s%s", STR_ARG(text), text.n > 0 ? ", " : "", s->type, s->subtype,
				pass == 0 ? "" : ";stream=watch");
		}
	}
	return text;
}
