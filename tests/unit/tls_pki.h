/* A throw-away certification authority for tests: PEM files NAME.crt and NAME.key in a folder of its own. */
#ifndef TESTS_UNIT_TLS_PKI_H
#define TESTS_UNIT_TLS_PKI_H

#include "base/base.h"

struct pki_spec {
	const char *name;   /* of the files */
	const char *issuer; /* whose files sign it; NULL: itself, and it is a CA */
	const char *common_name, *second_name; /* the second may be NULL */
	const char *organizations[3];
	unsigned n_groups;             /* more organizations: group-0, group-1, ... */
	bool is_server;                /* else for clients */
	bool is_for_all;               /* says nothing of what it may be used for */
	bool is_ca;                    /* also with an issuer */
	int64_t begins_in_s, ends_in_s; /* 0: three days ago, a day from now */
};

/* A new folder; its name is to be freed. */
char *pki_open(void);
void pki_close(char *folder); /* removes it with all that is in it */
void pki_make(const char *folder, const struct pki_spec *spec);
/* FOLDER/NAME.EXTENSION, to be freed. */
char *pki_path(const char *folder, const char *name, const char *extension);

#endif
