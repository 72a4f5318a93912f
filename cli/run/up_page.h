/* The page of `annals up --ui`: the plugin's, asking the server within as its administrator. */
#ifndef CLI_RUN_UP_PAGE_H
#define CLI_RUN_UP_PAGE_H

#include "base/options.h"
#include "cli/common/datadir.h"

struct up_page;

struct up_page_flags {
	bool is_wanted, may_write; /* --ui, --ui-write */
	int64_t port;              /* --ui-port; 0: any */
};
#define UP_PAGE_FLAGS_MAX 4
/* Appends the rows to a table that has room for UP_PAGE_FLAGS_MAX more, and for its end. */
void up_page_flags_rows(struct up_page_flags *f, struct option *ret);
/* 0, or -EINVAL with a sentence in err. */
int up_page_flags_check(struct up_page_flags *f, struct buf *err);

/* Listens; asks nothing yet. flags stay. 0, or -errno with a sentence in err. */
int up_page_new(struct up_page **ret, const struct datadir *dir, const struct up_page_flags *flags, struct buf *err);
struct up_page *up_page_free(struct up_page *p);
/* The administrator's certificate is another one: begins again at the same port, without anybody who was let in. The same. */
int up_page_renew(struct up_page *p, struct buf *err);
void up_page_print_link(struct up_page *p);

#endif
