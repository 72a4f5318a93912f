/* The wrapper around RE2 (pattern.h). */
#include "api/schema/pattern.h"

#include <re2/re2.h>

#include <cstdio>
#include <new>
#include <string>

namespace
{
/* Go's names of the same errors (regexp/syntax). */
const char *error_text(RE2::ErrorCode code)
{
	switch (code) {
	case RE2::ErrorBadEscape:
		return "invalid escape sequence";
	case RE2::ErrorBadCharClass:
		return "invalid character class";
	case RE2::ErrorBadCharRange:
		return "invalid character class range";
	case RE2::ErrorMissingBracket:
		return "missing closing ]";
	case RE2::ErrorMissingParen:
		return "missing closing )";
	case RE2::ErrorUnexpectedParen:
		return "unexpected )";
	case RE2::ErrorTrailingBackslash:
		return "trailing backslash at end of expression";
	case RE2::ErrorRepeatArgument:
		return "missing argument to repetition operator";
	case RE2::ErrorRepeatSize:
		return "invalid repeat count";
	case RE2::ErrorRepeatOp:
		return "invalid nested repetition operator";
	case RE2::ErrorBadPerlOp:
		return "invalid or unsupported Perl syntax";
	case RE2::ErrorBadUTF8:
		return "invalid UTF-8";
	case RE2::ErrorBadNamedCapture:
		return "invalid named capture";
	case RE2::ErrorPatternTooLarge:
		return "expression too large";
	default:
		return "regexp/syntax: internal error";
	}
}
}

struct regexp {
	RE2 re;
	int64_t memory;
	regexp(const re2::StringPiece &text, const RE2::Options &options) : re(text, options), memory(options.max_mem()) {}
};

namespace
{
/* Most expressions need little. RE2 takes for its automaton what it is given, and one whose program
 * does not fit is tried again with more. NULL: out of memory. */
regexp *compile(const re2::StringPiece &text)
{
	static const int64_t sizes[] = {64 * 1024, 512 * 1024, REGEXP_MEMORY_MAX};
	RE2::Options options;
	regexp *r = nullptr;
	options.set_log_errors(false);
	for (const int64_t size : sizes) {
		delete r;
		options.set_max_mem(size);
		r = new (std::nothrow) regexp(text, options);
		if (r == nullptr || r->re.error_code() != RE2::ErrorPatternTooLarge) {
			break;
		}
	}
	return r;
}
}

struct regexp *regexp_new(const char *text, size_t n, char error[REGEXP_ERROR_SIZE])
{
	regexp *r = compile(re2::StringPiece(text, n));
	if (r == nullptr) {
		std::snprintf(error, REGEXP_ERROR_SIZE, "out of memory");
		return nullptr;
	}
	if (!r->re.ok()) {
		const bool is_bare = r->re.error_code() == RE2::ErrorTrailingBackslash;
		const std::string &arg = r->re.error_arg();
		std::snprintf(error, REGEXP_ERROR_SIZE, "error parsing regexp: %s: `%.*s`", error_text(r->re.error_code()),
			static_cast<int>(is_bare ? 0 : arg.size()), arg.data());
		delete r;
		return nullptr;
	}
	return r;
}

struct regexp *regexp_free(struct regexp *r)
{
	delete r;
	return nullptr;
}

bool regexp_matches(const struct regexp *r, const char *text, size_t n)
{
	const re2::StringPiece subject(text, n);
	return r->re.Match(subject, 0, n, RE2::UNANCHORED, nullptr, 0);
}

size_t regexp_length(const struct regexp *r)
{
	return static_cast<size_t>(r->re.ProgramSize());
}

size_t regexp_memory(const struct regexp *r)
{
	return static_cast<size_t>(r->memory);
}
