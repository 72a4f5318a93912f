/* Reads words as options_parse() would, but for the last one, of which only the beginning is there. */
#include "cli/kubectl/complete_plan.h"

/* A flag's name, with what is behind it; or nothing. */
static struct str flag_of(const char *word)
{
	if (word[0] != '-' || !word[1]) {
		return STR("");
	}
	return str_of(word + (word[1] == '-' ? 2 : 1));
}

/* TYPE/NAME, or TYPE and NAME. */
static void note_word(struct complete_plan *p, struct str word, size_t at)
{
	if (at == 0) {
		p->is_joined = str_cut(word, '/', &p->type, &p->name);
	} else if (at == 1 && !p->is_joined) {
		p->name = word;
	}
}

/* The words between the command and the last one. Returns how many are no flags; *ret_open: a flag whose value is the last word. */
static size_t read_words(
	struct complete_plan *p, const struct option *flags, char *const *words, size_t n, const struct option **ret_open)
{
	size_t n_words = 0;
	*ret_open = NULL;
	for (size_t i = 1; i + 1 < n; i++) {
		struct str name, value, flag = flag_of(words[i]);
		if (!flag.n) {
			note_word(p, str_of(words[i]), n_words++);
			continue;
		}
		bool has_value = str_cut(flag, '=', &name, &value);
		const struct option *o = options_find(flags, name);
		if (o && !has_value && o->type != OPTION_BOOL) {
			i++; /* its value */
			*ret_open = i + 1 == n ? o : NULL;
		}
	}
	return n_words;
}

static void plan_flag(struct complete_plan *p, const struct option *flags, struct str word)
{
	struct str name, value;
	p->what = COMPLETE_FLAGS;
	p->prefix = word;
	if (str_cut(word, '=', &name, &value)) {
		struct str flag = flag_of(word.p), rest;
		str_cut(flag, '=', &name, &rest);
		p->flag = options_find(flags, name);
		p->what = p->flag ? COMPLETE_VALUES : COMPLETE_NOTHING;
		p->prefix = value;
	}
}

static void plan_object(struct complete_plan *p, size_t n_words, struct str word)
{
	struct str type, name;
	if (n_words == 0 && str_cut(word, '/', &type, &name)) {
		*p = (struct complete_plan){.what = COMPLETE_NAMES, .type = type, .prefix = name, .is_joined = true};
	} else if (n_words == 0) {
		*p = (struct complete_plan){.what = COMPLETE_TYPES, .prefix = word};
	} else if (n_words == 1 && !p->is_joined) {
		p->what = COMPLETE_NAMES;
		p->prefix = word;
	}
}

void complete_plan_make(struct complete_plan *ret, const struct option *flags, char *const *words, size_t n)
{
	struct str word = str_of(words[n - 1]);
	const struct option *open;
	*ret = (struct complete_plan){0};
	if (n == 1) {
		ret->what = COMPLETE_COMMANDS;
		ret->prefix = word;
		return;
	}
	size_t n_words = read_words(ret, flags, words, n, &open);
	if (open) {
		ret->what = COMPLETE_VALUES;
		ret->flag = open;
		ret->prefix = word;
	} else if (word.n && word.p[0] == '-') {
		plan_flag(ret, flags, word);
	} else {
		plan_object(ret, n_words, word);
	}
}
