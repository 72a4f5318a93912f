/* Names of container images: [DOMAIN/]PATH[:TAG][@DIGEST], as github.com/distribution/reference reads them. */
#ifndef API_POD_IMAGE_H
#define API_POD_IMAGE_H

#include "base/str.h"

/* Would an image of this name be the latest one: its tag is "latest", or it has neither tag nor digest? False also where it is no name. */
bool image_is_latest(struct str image);

#endif
