/* The address of the API server, and the client's identity there. */
#ifndef CLIENT_CONFIG_H
#define CLIENT_CONFIG_H

#include "base/buf.h"

/* All text is owned by the struct, and may be NULL. */
struct client_config {
	char *server;     /* https://host:port[/path]; http:// works too */
	char *ca;         /* PEM; NULL: the system's */
	char *cert, *key; /* PEM, of the client */
	char *token;      /* bearer */
	char *token_file; /* used instead of token; read again after a minute, as client-go does */
	char *user_agent; /* NULL: annals/VERSION */
	char *namespace;  /* of the context; NULL: default */
	char *context;    /* its name; NULL: no kubeconfig was used */
	char *as;         /* the user to impersonate; never read from a kubeconfig */
	char *as_groups;  /* that user's groups, each ended by a line feed */
	/* of each try of each blocking request (client/rest.h), in place of its own; 0: each
	 * request has its own */
	int64_t request_timeout_ms;
	bool is_insecure; /* the server's certificate is not checked */
};

/* Loads the named context of a kubeconfig file (NULL: the current one). Paths in it are relative
 * to the file. Unsupported entries are refused: exec, auth-provider, username, tls-server-name,
 * proxy-url, as and others. Returns 0, or -EINVAL or -errno with a sentence in err. */
int client_config_load(struct client_config *ret, const char *path, const char *context, struct buf *err);
/* Finds the configuration as kubectl does (clientcmd.ClientConfigLoadingRules). It reads the
 * file at that path; if the path is NULL or empty, the files of $KUBECONFIG; if that is empty,
 * ~/.kube/config. $KUBECONFIG separates its files with colons, and some may be missing. The
 * first file with a context, a cluster, a user or a current-context decides on it. When no
 * context has been chosen, the configuration of the pod is used. Returns CLIENT_CONFIG_NONE,
 * with a sentence in err, when none of these exists. */
enum { CLIENT_CONFIG_NONE = 1 };
int client_config_find(
	struct client_config *ret, const char *path, const char *context, const char *pod_folder, struct buf *err);
/* Does the same as client_config_load(), with the text given; relative paths begin at folder. */
int client_config_parse(struct client_config *ret, struct str text, const char *folder, const char *context, struct buf *err);
/* Reads a file of certificates; the caller frees *ret. Returns 0, or -errno with a sentence in
 * err. */
int client_config_load_text(const char *path, char **ret, struct buf *err);
/* Loads the configuration that every process in a pod has (client-go's InClusterConfig). The
 * address comes from the environment, the identity from the folder of the service account,
 * POD_FOLDER. Returns 0, or -errno with a sentence in err. */
#define POD_FOLDER "/var/run/secrets/kubernetes.io/serviceaccount"
bool client_config_is_in_pod(void);
int client_config_load_pod(struct client_config *ret, const char *folder, struct buf *err);
void client_config_copy(struct client_config *to, const struct client_config *from);
void client_config_done(struct client_config *c);

#endif
