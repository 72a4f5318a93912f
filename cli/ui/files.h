/* The page's files, which are in the program itself (tools/embed-page.py). They have no data of any user. */
#ifndef CLI_UI_FILES_H
#define CLI_UI_FILES_H

#include "base/str.h"

struct page_file {
	const char *name, *type; /* "views/timeline.js", "text/javascript; charset=utf-8" */
	const char *etag, *packed_etag;
	struct str plain, packed; /* packed: by gzip */
};

extern const struct page_file page_files[];
extern const size_t n_page_files;

#endif
