/* The flags that say whose client certificates are believed: names and defaults are those of k8s.io/apiserver's
 * RequestHeaderAuthenticationOptions and DelegatingAuthenticationOptions, with --client-ca-file apart. */
#ifndef CLI_RUN_TRUST_FLAGS_H
#define CLI_RUN_TRUST_FLAGS_H

#include "api/model/delegates.h"
#include "base/options.h"

/* Values point into argv. */
struct trust_flags {
	const char *front_ca_file;
	struct option_strings front_names, user_headers, uid_headers, group_headers, extra_prefixes;
	bool skips_lookup, tolerates_failure;
	/* worked out of the above by trust_flags_check() */
	struct trust front; /* names and headers; its lists are owned */
};

#define TRUST_FLAGS_MAX 9
void trust_flags_done(struct trust_flags *f);
/* Appends the rows to a table that has room for TRUST_FLAGS_MAX more; returns how many. */
size_t trust_flags_rows(struct trust_flags *f, struct option *ret);
/* 0, or -EINVAL with a sentence in err. Beforehand: all zero, and what the rows have set. */
int trust_flags_check(struct trust_flags *f, bool is_standalone, struct buf *err);
/* What is allowed, but hardly meant: a sentence, or nothing. */
void trust_flags_warn(const struct trust_flags *f, struct buf *out);

#endif
