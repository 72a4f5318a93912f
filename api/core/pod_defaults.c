/* Defaults of pods that the schema cannot state: SetDefaults_PodSpec and its kin of k8s.io/kubernetes/pkg/apis/core/v1. They are set while
 * decoding, because they count for the ownership of fields. The default of imagePullPolicy needs the tag of an image's name. */
#include "api/core/pod_defaults.h"

#include "api/upstream/upstream.h"

/* ---- names of images, as github.com/distribution/reference reads them: one that cannot be parsed is never "latest" ---- */

/* The library's limits. 64 hexadecimal digits are an identifier, which it takes for no name. */
enum { NAME_MAX_LENGTH = 255, TAG_MAX_LENGTH = 128, ID_LENGTH = 64 };

static bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return is_lower(c) || (c >= 'A' && c <= 'Z');
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f');
}

static bool is_word(char c)
{
	return is_letter(c) || is_digit(c) || c == '_';
}

static bool are_all(struct str s, bool (*good)(char))
{
	for (size_t i = 0; i < s.n; i++) {
		if (!good(s.p[i])) {
			return false;
		}
	}
	return s.n > 0;
}

/* Letters and digits, with one '.', one or two '_', or any number of '-' between them. */
static bool is_path_component(struct str s)
{
	for (size_t i = 0, n_between = 0; i < s.n; i++) {
		char c = s.p[i];
		if (is_lower(c) || is_digit(c)) {
			n_between = 0;
			continue;
		}
		bool is_first = i == 0 || n_between == 0, is_same = !is_first && s.p[i - 1] == c;
		n_between++;
		bool is_allowed =
			is_first ? c == '.' || c == '_' || c == '-' : is_same && (c == '-' || (c == '_' && n_between == 2));
		if (i == 0 || i + 1 == s.n || !is_allowed) {
			return false;
		}
	}
	return s.n > 0;
}

static bool is_path(struct str s)
{
	struct str component;
	bool more;
	do {
		more = str_cut(s, '/', &component, &s);
		if (!is_path_component(component)) {
			return false;
		}
	} while (more);
	return true;
}

static bool is_domain_component(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		bool is_inner = i > 0 && i + 1 < s.n;
		if (!is_letter(s.p[i]) && !is_digit(s.p[i]) && !(is_inner && s.p[i] == '-')) {
			return false;
		}
	}
	return s.n > 0;
}

static bool is_address_character(char c)
{
	return is_hex(c) || (c >= 'A' && c <= 'F') || c == ':';
}

static bool is_host(struct str s)
{
	struct str component;
	bool more;
	if (s.n > 2 && s.p[0] == '[' && s.p[s.n - 1] == ']') {
		return are_all((struct str){s.p + 1, s.n - 2}, is_address_character);
	}
	do {
		more = str_cut(s, '.', &component, &s);
		if (!is_domain_component(component)) {
			return false;
		}
	} while (more);
	return true;
}

static size_t find_last(struct str s, char c)
{
	size_t i = s.n;
	while (i > 0 && s.p[i - 1] != c) {
		i--;
	}
	return i; /* behind it; 0: not there */
}

static bool is_domain(struct str s)
{
	size_t port = find_last(s, ':');
	bool has_port = port && s.p[s.n - 1] != ']';
	if (has_port && !are_all((struct str){s.p + port, s.n - port}, is_digit)) {
		return false;
	}
	return is_host(has_port ? (struct str){s.p, port - 1} : s);
}

/* Returns whether the text before the first slash is a domain rather than the beginning of the
 * path. */
static bool looks_like_domain(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '.' || s.p[i] == ':' || (s.p[i] >= 'A' && s.p[i] <= 'Z')) {
			return true;
		}
	}
	return str_is(s, "localhost");
}

static bool is_tag_character(char c)
{
	return is_word(c) || c == '.' || c == '-';
}

static bool is_tag(struct str s)
{
	return s.n && s.n <= TAG_MAX_LENGTH && is_word(s.p[0]) && are_all(s, is_tag_character);
}

static bool is_digest(struct str s)
{
	static const struct {
		const char *algorithm;
		size_t n;
	} known[] = {{"sha256", 64}, {"sha384", 96}, {"sha512", 128}};
	struct str algorithm, hex;
	str_cut(s, ':', &algorithm, &hex);
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (str_is(algorithm, known[i].algorithm)) {
			return hex.n == known[i].n && are_all(hex, is_hex);
		}
	}
	return false;
}

static bool is_name(struct str s)
{
	struct str domain, path;
	if (!str_cut(s, '/', &domain, &path) || !looks_like_domain(domain)) {
		static const char implied[] = "docker.io/library/";
		return is_path(s) && s.n + sizeof(implied) - 1 <= NAME_MAX_LENGTH;
	}
	return is_domain(domain) && is_path(path) && s.n <= NAME_MAX_LENGTH;
}

bool image_is_latest(struct str image)
{
	struct str name, digest, tag = {0};
	bool has_digest = str_cut(image, '@', &name, &digest);
	size_t colon = find_last(name, ':');
	bool has_tag = colon && !memchr(name.p + colon, '/', name.n - colon);
	if (has_tag) {
		tag = (struct str){name.p + colon, name.n - colon};
		name.n = colon - 1;
	}
	bool is_id = name.n == ID_LENGTH && !has_tag && !has_digest && are_all(name, is_hex);
	if (is_id || !is_name(name) || (has_tag && !is_tag(tag)) || (has_digest && !is_digest(digest))) {
		return false;
	}
	return has_tag ? str_is(tag, "latest") : !has_digest;
}

/* ---- defaults ---- */

static struct json *pull_policy(const char *image, const struct json *of, struct arena *a)
{
	bool is_latest = image_is_latest(json_text(json_gets(of, image)));
	return json_string(a, is_latest ? STR("Always") : STR("IfNotPresent"));
}

static void default_containers(const struct json *spec, const char *list, const struct type *type, struct arena *a)
{
	const struct json *containers = json_gets(spec, list);
	for (uint32_t i = 0; json_is(containers, JSON_ARRAY) && i < containers->n; i++) {
		const struct json *c = containers->items[i];
		if (!json_gets(c, "imagePullPolicy")) {
			containers->items[i] = schema_with(type, c, "imagePullPolicy", pull_policy("image", c, a), a);
		}
	}
}

/* A volume that says nothing but its name is an empty folder. */
static struct json *default_volume(struct json *volume, struct arena *a)
{
	struct json *image = json_gets(volume, "image");
	if (volume->n == 1) {
		return schema_with(&type_volume, volume, "emptyDir", json_object(a), a);
	}
	if (image && !json_gets(image, "pullPolicy")) {
		json_add(a, image, STR("pullPolicy"), pull_policy("reference", image, a));
	}
	return volume;
}

/* serviceAccount is the older name of serviceAccountName, which is right where they differ. */
static struct json *mirror_service_account(struct json *spec, struct arena *a)
{
	struct json *name = json_gets(spec, "serviceAccountName"), *older = json_gets(spec, "serviceAccount");
	name = name ? name : older;
	if (!name) {
		return spec;
	}
	spec = schema_with(&type_pod_spec, spec, "serviceAccountName", name, a);
	return schema_with(&type_pod_spec, spec, "serviceAccount", name, a);
}

struct json *pod_spec_defaults(struct json *spec, struct arena *a)
{
	struct json *volumes = json_gets(spec, "volumes");
	for (uint32_t i = 0; volumes && i < volumes->n; i++) {
		volumes->items[i] = default_volume(volumes->items[i], a);
	}
	default_containers(spec, "initContainers", &type_container, a);
	default_containers(spec, "containers", &type_container, a);
	default_containers(spec, "ephemeralContainers", &type_ephemeral_container, a);
	return mirror_service_account(spec, a);
}

struct json *pod_template_defaults(const struct json *template, struct arena *a)
{
	struct json *spec = json_gets(template, "spec");
	return spec ? schema_with(&type_pod_template_spec, template, "spec", pod_spec_defaults(spec, a), a)
		    : json_copy(a, template);
}
