/* The media types we read and write, the default first. For server/parse/negotiate*.c only. */
#ifndef SERVER_PARSE_MEDIA_TYPES_H
#define SERVER_PARSE_MEDIA_TYPES_H

#include "server/parse/negotiate.h"

enum { N_MEDIA_TYPES = 3 };

struct media_type {
	const char *type, *subtype;
	enum media_format format;
	bool streams; /* can carry a watch */
};
extern const struct media_type media_types[N_MEDIA_TYPES];

/* Of all: "application/json, application/yaml", and with streams those that can, as ";stream=watch". */
struct str media_type_names(struct arena *a, bool plain, bool streams);
/* Of the first n: "application/json, application/yaml, application/vnd.kubernetes.protobuf". */
struct str media_body_type_names(struct arena *a, size_t n);

#endif
