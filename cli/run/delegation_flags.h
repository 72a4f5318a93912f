/* The flags of a server that asks a kube-apiserver whom tokens name and who may do what: names and defaults are those of k8s.io/apiserver's
 * DelegatingAuthenticationOptions and DelegatingAuthorizationOptions. */
#ifndef CLI_RUN_DELEGATION_FLAGS_H
#define CLI_RUN_DELEGATION_FLAGS_H

#include "base/options.h"
#include "delegation/delegation.h"

/* Values point into argv. */
struct delegation_flags {
	const char *authentication_kubeconfig, *authorization_kubeconfig;
	int64_t token_ttl_ms, allowed_ttl_ms, not_allowed_ttl_ms;
	struct option_strings allowed_paths;
	/* worked out of the above by delegation_flags_check() */
	char **always_allow_paths; /* ends with NULL; each begins with a slash */
};

#define DELEGATION_FLAGS_MAX 7
void delegation_flags_init(struct delegation_flags *f);
void delegation_flags_done(struct delegation_flags *f);
/* Appends the rows to a table that has room for DELEGATION_FLAGS_MAX more; returns how many. */
size_t delegation_flags_rows(struct delegation_flags *f, struct option *ret);
/* 0, or -EINVAL with a sentence in err. */
int delegation_flags_check(struct delegation_flags *f, bool is_standalone, struct buf *err);

/* What the flags' files say; members that no file was given for are empty. */
struct delegation_configs {
	struct client_config core, tokens, access;
};
/* kubeconfig: --kubeconfig; NULL: the pod's. options, which may be NULL on failure, point into configs and flags. 0, or -errno with a sentence
 * in err; delegation_configs_done() in any case. */
int delegation_flags_load(const struct delegation_flags *f, const char *kubeconfig, struct delegation_configs *ret_configs,
	struct delegation_options *ret, struct buf *err);
void delegation_configs_done(struct delegation_configs *c);

#endif
