#include "cli/certs/key_pair.h"
#include "tests/unit/check.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

enum { KEYS = 1000, VALUE_AT = 36, VALUE_SIZE = 32, DER_SIZE = 138, ID_SIZE = 32 };

static gnutls_x509_privkey_t key_new(void)
{
	gnutls_x509_privkey_t key;
	assert_int_equal(gnutls_x509_privkey_init(&key), 0);
	return key;
}

static gnutls_x509_privkey_t generate(gnutls_pk_algorithm_t algorithm, unsigned bits)
{
	gnutls_x509_privkey_t key = key_new();
	assert_int_equal(gnutls_x509_privkey_generate(key, algorithm, bits, 0), 0);
	return key;
}

/* The key as a file, and what is in the file. */
struct file {
	gnutls_datum_t pem, der;
};

static void file_make(struct file *f, gnutls_x509_privkey_t key)
{
	assert_int_equal(private_key_export(key, &f->pem), 0);
	assert_int_equal(gnutls_pem_base64_decode2("PRIVATE KEY", &f->pem, &f->der), 0);
}

static void file_done(struct file *f)
{
	gnutls_free(f->pem.data);
	gnutls_free(f->der.data);
}

static struct str pem_of(const struct file *f)
{
	return (struct str){(const char *)f->pem.data, f->pem.size};
}

static void assert_same(gnutls_x509_privkey_t a, const struct file *f)
{
	unsigned char id_a[ID_SIZE], id_b[ID_SIZE];
	size_t n_a = ID_SIZE, n_b = ID_SIZE;
	gnutls_x509_privkey_t b = key_new();
	assert_int_equal(gnutls_x509_privkey_import2(b, &f->pem, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN), 0);
	assert_int_equal(gnutls_x509_privkey_verify_params(b), 0); /* the public point is the private value's */
	assert_int_equal(gnutls_x509_privkey_get_key_id(a, GNUTLS_KEYID_USE_SHA256, id_a, &n_a), 0);
	assert_int_equal(gnutls_x509_privkey_get_key_id(b, GNUTLS_KEYID_USE_SHA256, id_b, &n_b), 0);
	assert_memory_equal(id_a, id_b, ID_SIZE);
	gnutls_x509_privkey_deinit(b);
}

/* Half of them have their highest bit set, and four or so begin with a zero. */
static void test_private_key__a_thousand_have_32_octets_each(void **state _unused_)
{
	unsigned n_high = 0;
	for (unsigned i = 0; i < KEYS; i++) {
		struct file f;
		gnutls_x509_privkey_t key = generate(GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1));
		file_make(&f, key);
		assert_int_equal(f.der.size, DER_SIZE);
		assert_int_equal(f.der.data[VALUE_AT - 2], 0x04);
		assert_int_equal(f.der.data[VALUE_AT - 1], VALUE_SIZE);
		assert_false(private_key_is_misshapen(pem_of(&f)));
		assert_same(key, &f);
		n_high += f.der.data[VALUE_AT] >= 0x80;
		file_done(&f);
		gnutls_x509_privkey_deinit(key);
	}
	assert_in_range(n_high, KEYS / 4, KEYS * 3 / 4);
}

/* The curve's generator: the public point of the private value 1. */
static unsigned char generator_x[] = {0x6b, 0x17, 0xd1, 0xf2, 0xe1, 0x2c, 0x42, 0x47, 0xf8, 0xbc, 0xe6, 0xe5, 0x63, 0xa4, 0x40,
	0xf2, 0x77, 0x03, 0x7d, 0x81, 0x2d, 0xeb, 0x33, 0xa0, 0xf4, 0xa1, 0x39, 0x45, 0xd8, 0x98, 0xc2, 0x96};
static unsigned char generator_y[] = {0x4f, 0xe3, 0x42, 0xe2, 0xfe, 0x1a, 0x7f, 0x9b, 0x8e, 0xe7, 0xeb, 0x4a, 0x7c, 0x0f, 0x9e,
	0x16, 0x2b, 0xce, 0x33, 0x57, 0x6b, 0x31, 0x5e, 0xce, 0xcb, 0xb6, 0x40, 0x68, 0x37, 0xbf, 0x51, 0xf5};

static void test_private_key__short_values_are_padded(void **state _unused_)
{
	static const unsigned char one[VALUE_SIZE] = {[VALUE_SIZE - 1] = 1};
	unsigned char value = 1;
	struct file f;
	gnutls_x509_privkey_t key = key_new();
	const gnutls_datum_t x = {generator_x, sizeof(generator_x)}, y = {generator_y, sizeof(generator_y)}, k = {&value, 1};
	assert_int_equal(gnutls_x509_privkey_import_ecc_raw(key, GNUTLS_ECC_CURVE_SECP256R1, &x, &y, &k), 0);
	file_make(&f, key);
	assert_int_equal(f.der.size, DER_SIZE);
	assert_memory_equal(f.der.data + VALUE_AT, one, VALUE_SIZE);
	assert_memory_equal(f.der.data + DER_SIZE - 2 * VALUE_SIZE, generator_x, VALUE_SIZE);
	assert_memory_equal(f.der.data + DER_SIZE - VALUE_SIZE, generator_y, VALUE_SIZE);
	assert_same(key, &f);
	file_done(&f);
	gnutls_x509_privkey_deinit(key);
}

/* Somebody's own CA may have such a key, and is written again when it grows old. */
static void test_private_key__other_kinds_are_written_too(void **state _unused_)
{
	static const struct {
		gnutls_pk_algorithm_t algorithm;
		unsigned bits;
	} kinds[] = {
		{GNUTLS_PK_RSA, 2048},
		{GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP384R1)},
		{GNUTLS_PK_EDDSA_ED25519, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_ED25519)},
	};
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct file f;
		gnutls_x509_privkey_t key = generate(kinds[i].algorithm, kinds[i].bits);
		file_make(&f, key);
		assert_false(private_key_is_misshapen(pem_of(&f)));
		assert_same(key, &f);
		file_done(&f);
		gnutls_x509_privkey_deinit(key);
	}
}

static void test_private_key__text_that_is_no_key_is_not_misshapen(void **state _unused_)
{
	static const char *const texts[] = {"", "garbage", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
		"-----BEGIN PRIVATE KEY-----\nBggqhkjOPQMBBwIBAQQ=\n-----END PRIVATE KEY-----\n"}; /* ends before the length */
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_false(private_key_is_misshapen(str_of(texts[i])));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_private_key__a_thousand_have_32_octets_each),
		TEST(test_private_key__short_values_are_padded),
		TEST(test_private_key__other_kinds_are_written_too),
		TEST(test_private_key__text_that_is_no_key_is_not_misshapen),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
