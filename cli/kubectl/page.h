/* The page to look at, with what the plugin's code works out for it: what `kubectl annals ui` and `annals up --ui` have in common. */
#ifndef CLI_KUBECTL_PAGE_H
#define CLI_KUBECTL_PAGE_H

#include "base/keyed_hash.h"
#include "cli/kubectl/kubectl.h"
#include "cli/ui/ui.h"

struct page {
	struct kubectl *k; /* whom the page asks as; connected. Only its client may be used by calls, and what never changes */
	struct ui *ui;
	struct keyed_hash proofs; /* of what dry runs have shown */
};

/* k->port, k->may_write; k stays until page_close(), which stops its client. 0; or -1 with a sentence in k->err. */
int page_open(struct page *p, struct kubectl *k);
void page_close(struct page *p);
/* Prints a new link, and may open it in a browser. */
void page_print_link(struct page *p, bool opens);

/* A call's own plugin, with the page's client, and with what the server serves at present. page_done_call() in any case. 0; or -1, and the
 * call has been refused. */
int page_init_call(const struct page *p, struct kubectl *k, struct ui_call *call);
void page_done_call(struct kubectl *k);
/* Refuses the call with what is in k->err: with the server's code, where it was the server who refused. */
void page_fail_call(struct kubectl *k, struct ui_call *call);

/* The object that a call is about; with no namespace, in the page's. 0; or -1 with a sentence in k->err. */
int page_find(struct kubectl *k, struct str type, struct str namespace, struct str name);

/* What `run` of ui_route is; ctx is the page. */
void page_about(void *ctx, struct ui_call *call);
void page_diff(void *ctx, struct ui_call *call);
void page_restore(void *ctx, struct ui_call *call);
void page_revisions(void *ctx, struct ui_call *call);
void page_undo(void *ctx, struct ui_call *call);

#endif
