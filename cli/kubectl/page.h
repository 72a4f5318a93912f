/* The page of `kubectl annals ui` and `annals up --ui`: its server (cli/ui), and the calls that need the plugin's code. */
#ifndef CLI_KUBECTL_PAGE_H
#define CLI_KUBECTL_PAGE_H

#include "base/keyed_hash.h"
#include "cli/kubectl/kubectl.h"
#include "cli/ui/ui.h"

struct page {
	struct kubectl *k; /* connected. Calls use only its client, and members that never change */
	struct ui *ui;
	struct keyed_hash proofs; /* sign the results of dry runs */
};

/* Uses k->port and k->may_write. k lives until page_close(), which stops its client. 0; or -1 with a sentence in k->err. */
int page_open(struct page *p, struct kubectl *k);
void page_close(struct page *p);
/* Prints a new link, and may open it in a browser. */
void page_print_link(struct page *p, bool opens);

/* Makes a struct kubectl for a call, with the page's client and a fresh discovery. page_done_call() in any case. 0; or -1, and
 * the call has been refused. */
int page_init_call(const struct page *p, struct kubectl *k, struct ui_call *call);
void page_done_call(struct kubectl *k);
/* Refuses the call with the sentence in k->err, and with the server's code if the server refused. */
void page_fail_call(struct kubectl *k, struct ui_call *call);

/* Sets the object of a call. Without a namespace it is in the page's. 0; or -1 with a sentence in k->err. */
int page_find(struct kubectl *k, struct str type, struct str namespace, struct str name);

/* Calls of page_write.c; ctx is the page. */
void page_restore(void *ctx, struct ui_call *call);
void page_undo(void *ctx, struct ui_call *call);

#endif
