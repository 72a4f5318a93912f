#include "tests/contract/certs.h"

#include "base/base.h"
#include "tests/unit/check.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <time.h>

enum { VALID_S = 3600 };

struct key_pair {
	gnutls_x509_crt_t cert;
	gnutls_x509_privkey_t key;
};

#define CHECK(call) assert_int_equal((call), GNUTLS_E_SUCCESS)

static void key_pair_init(struct key_pair *p, const char *name)
{
	static unsigned char serial;
	CHECK(gnutls_x509_privkey_init(&p->key));
	CHECK(gnutls_x509_privkey_generate(p->key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0));
	CHECK(gnutls_x509_crt_init(&p->cert));
	CHECK(gnutls_x509_crt_set_version(p->cert, 3));
	serial++;
	CHECK(gnutls_x509_crt_set_serial(p->cert, &serial, sizeof(serial)));
	CHECK(gnutls_x509_crt_set_activation_time(p->cert, time(NULL) - VALID_S));
	CHECK(gnutls_x509_crt_set_expiration_time(p->cert, time(NULL) + VALID_S));
	CHECK(gnutls_x509_crt_set_key(p->cert, p->key));
	CHECK(gnutls_x509_crt_set_dn_by_oid(p->cert, GNUTLS_OID_X520_COMMON_NAME, 0, name, (unsigned)strlen(name)));
}

static void key_pair_done(struct key_pair *p)
{
	gnutls_x509_crt_deinit(p->cert);
	gnutls_x509_privkey_deinit(p->key);
}

static void key_pair_init_ca(struct key_pair *p, const char *name)
{
	key_pair_init(p, name);
	CHECK(gnutls_x509_crt_set_basic_constraints(p->cert, 1, -1));
	CHECK(gnutls_x509_crt_set_key_usage(p->cert, GNUTLS_KEY_KEY_CERT_SIGN));
	CHECK(gnutls_x509_crt_sign2(p->cert, p->cert, p->key, GNUTLS_DIG_SHA256, 0));
}

static void key_pair_init_leaf(struct key_pair *p, const char *name, const char *purpose, const struct key_pair *ca)
{
	static const unsigned char loopback[] = {127, 0, 0, 1};
	key_pair_init(p, name);
	CHECK(gnutls_x509_crt_set_key_usage(p->cert, GNUTLS_KEY_DIGITAL_SIGNATURE));
	CHECK(gnutls_x509_crt_set_key_purpose_oid(p->cert, purpose, 0));
	/* etcd's gateway presents its own server certificate to itself, as a client. */
	CHECK(gnutls_x509_crt_set_key_purpose_oid(p->cert, GNUTLS_KP_TLS_WWW_CLIENT, 0));
	CHECK(gnutls_x509_crt_set_subject_alt_name(p->cert, GNUTLS_SAN_IPADDRESS, loopback, sizeof(loopback), GNUTLS_FSAN_SET));
	CHECK(gnutls_x509_crt_set_subject_alt_name(p->cert, GNUTLS_SAN_DNSNAME, "localhost", 9, GNUTLS_FSAN_APPEND));
	CHECK(gnutls_x509_crt_sign2(p->cert, ca->cert, ca->key, GNUTLS_DIG_SHA256, 0));
}

static char *write_pem(const char *dir, const char *name, gnutls_datum_t *pem)
{
	char *path = mem_printf("%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(pem->data, 1, pem->size, f), pem->size);
	assert_int_equal(fclose(f), 0);
	gnutls_free(pem->data);
	return path;
}

static char *write_cert(const char *dir, const char *name, const struct key_pair *p)
{
	gnutls_datum_t pem;
	CHECK(gnutls_x509_crt_export2(p->cert, GNUTLS_X509_FMT_PEM, &pem));
	return write_pem(dir, name, &pem);
}

static char *write_key(const char *dir, const char *name, const struct key_pair *p)
{
	gnutls_datum_t pem;
	CHECK(gnutls_x509_privkey_export2(p->key, GNUTLS_X509_FMT_PEM, &pem));
	return write_pem(dir, name, &pem);
}

void certs_init(struct certs *c, const char *dir)
{
	struct key_pair ca, stranger, server, client, other;
	key_pair_init_ca(&ca, "test authority");
	key_pair_init_ca(&stranger, "another authority");
	key_pair_init_leaf(&server, "etcd", GNUTLS_KP_TLS_WWW_SERVER, &ca);
	key_pair_init_leaf(&client, "annals", GNUTLS_KP_TLS_WWW_SERVER, &ca);
	key_pair_init_leaf(&other, "annals", GNUTLS_KP_TLS_WWW_SERVER, &stranger);
	*c = (struct certs){
		.ca = write_cert(dir, "ca.crt", &ca),
		.server_cert = write_cert(dir, "server.crt", &server),
		.server_key = write_key(dir, "server.key", &server),
		.client_cert = write_cert(dir, "client.crt", &client),
		.client_key = write_key(dir, "client.key", &client),
		.stranger_ca = write_cert(dir, "stranger.crt", &stranger),
		.stranger_cert = write_cert(dir, "other.crt", &other),
		.stranger_key = write_key(dir, "other.key", &other),
	};
	key_pair_done(&other);
	key_pair_done(&client);
	key_pair_done(&server);
	key_pair_done(&stranger);
	key_pair_done(&ca);
}

void certs_done(struct certs *c)
{
	mem_free(c->ca);
	mem_free(c->server_cert);
	mem_free(c->server_key);
	mem_free(c->client_cert);
	mem_free(c->client_key);
	mem_free(c->stranger_ca);
	mem_free(c->stranger_cert);
	mem_free(c->stranger_key);
}
