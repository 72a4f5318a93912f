/* Where the API server is and who we are there. */
#ifndef CLIENT_CONFIG_H
#define CLIENT_CONFIG_H

#include "base/buf.h"

/* All text is owned and may be NULL. */
struct client_config {
	char *server;     /* https://host:port[/path]; http:// works too */
	char *ca;         /* PEM; NULL: the system's */
	char *cert, *key; /* PEM, of the client */
	char *token;      /* bearer */
	char *token_file; /* goes before token: read again when a minute has passed, as client-go does */
	char *user_agent; /* NULL: annals/VERSION */
	char *namespace;  /* of the context; NULL: default */
	char *context;    /* its name; NULL: it is of no kubeconfig */
	char *as;         /* the user to be instead (impersonation); never of a kubeconfig */
	char *as_groups;  /* that user's groups, each ended by a line feed */
	int64_t request_timeout_ms; /* of each try of each blocking request (client/rest.h), whatever it says itself; 0: as it says */
	bool is_insecure; /* does not look at the server's certificate */
};

/* The current context, or the one named (NULL: the current one), of a kubeconfig file; paths in it are relative to the file.
 * What it asks for and we cannot do (exec, auth-provider, username, tls-server-name, proxy-url, as...) is refused. 0, or -EINVAL or
 * -errno with a sentence in err. */
int client_config_load(struct client_config *ret, const char *path, const char *context, struct buf *err);
/* The same from the text; folder is what relative paths begin at. */
int client_config_parse(struct client_config *ret, struct str text, const char *folder, const char *context, struct buf *err);
/* A file of certificates; *ret is to be freed. 0, or -errno with a sentence in err. */
int client_config_load_text(const char *path, char **ret, struct buf *err);
/* A pod's, as every process within has it (client-go's InClusterConfig): where, from the environment; as whom, from its service account's
 * folder, POD_FOLDER. 0, or -errno with a sentence in err. */
#define POD_FOLDER "/var/run/secrets/kubernetes.io/serviceaccount"
bool client_config_is_in_pod(void);
int client_config_load_pod(struct client_config *ret, const char *folder, struct buf *err);
void client_config_copy(struct client_config *to, const struct client_config *from);
void client_config_done(struct client_config *c);

#endif
