/* Begun before anybody asks the server: whoever cannot have the port shall hear of it at once, and
 * not when everything else is up. */
#include "cli/run/up_page.h"

#include "cli/common/command.h"
#include "cli/kubectl/page.h"

#include <errno.h>

struct up_page {
	const struct up_page_flags *flags;
	char *kubeconfig;
	int64_t port;
	struct kubectl k;
	struct page page;
};

void up_page_flags_rows(struct up_page_flags *f, struct option *ret)
{
	const struct option rows[] = {
		OPTIONS_GROUP("Page"),
		FLAG("ui", OPTION_BOOL, &f->is_wanted, NULL,
			"Serve a page that shows in a browser what changed, and print a link to it."),
		{"ui-port", OPTION_INT, &f->port, "PORT", "The page's port on 127.0.0.1 and ::1; 0: any that is free.", 0,
			65535},
		FLAG("ui-write", OPTION_BOOL, &f->may_write, NULL, "Let the page undo and restore, each after a dry run."),
	};
	_Static_assert(ARRAY_SIZE(rows) <= UP_PAGE_FLAGS_MAX, "room for all rows");
	memcpy(ret, rows, sizeof(rows));
}

int up_page_flags_check(struct up_page_flags *f, struct buf *err)
{
	if (!f->is_wanted && (f->port || f->may_write)) {
		return command_refuse(err, "--ui-port and --ui-write need --ui");
	}
	return 0;
}

static int begin(struct up_page *p, struct buf *err)
{
	kubectl_init(&p->k);
	p->k.kubeconfig = p->kubeconfig;
	p->k.port = p->port;
	p->k.may_write = p->flags->may_write;
	if (kubectl_open(&p->k) || page_open(&p->page, &p->k)) {
		buf_add_str(err, buf_str(&p->k.err));
		buf_adds(err, p->flags->port ? ". Give the page another one with --ui-port, or none for any that is free" : "");
		return -EADDRNOTAVAIL;
	}
	p->port = ui_port(p->page.ui);
	return 0;
}

static void end(struct up_page *p)
{
	page_close(&p->page);
	kubectl_done(&p->k);
}

int up_page_new(struct up_page **ret, const struct datadir *dir, const struct up_page_flags *flags, struct buf *err)
{
	struct up_page *p = mem_new(struct up_page);
	p->flags = flags;
	p->kubeconfig = mem_printf("%s/kubeconfig", dir->path);
	p->port = flags->port;
	int r = begin(p, err);
	if (r) {
		up_page_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

struct up_page *up_page_free(struct up_page *p)
{
	if (p) {
		end(p);
		mem_free(p->kubeconfig);
		mem_free(p);
	}
	return NULL;
}

int up_page_renew(struct up_page *p, struct buf *err)
{
	end(p);
	return begin(p, err);
}

void up_page_print_link(struct up_page *p)
{
	page_print_link(&p->page, false);
}
