/* The media types we read and write, the default first. For server/negotiate*.c only. */
#ifndef SERVER_MEDIA_TYPES_H
#define SERVER_MEDIA_TYPES_H

#include "server/negotiate.h"

enum { N_MEDIA_TYPES = 2 };

struct media_type {
	const char *type, *subtype;
	enum media_format format;
	bool streams; /* can carry a watch */
};
extern const struct media_type media_types[N_MEDIA_TYPES];

/* "application/json, application/yaml", and with streams those that can, as ";stream=watch". */
struct str media_type_names(struct arena *a, bool plain, bool streams);

#endif
