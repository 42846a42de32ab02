// Text that may hold any bytes: to JSON strings and back, and to a terminal.
//
// Bytes that are not valid UTF-8 are written as "\udcXX" (Python's surrogateescape), so that reading gives the same
// bytes back. Pure; thread-compatible.
#pragma once

#include <string>
#include <string_view>

#include "harness/core/error.h"

namespace halfsent {

// Appends `bytes` as a JSON string in quotes. Controls (C0, DEL, C1), line separators and bidirectional overrides are
// escaped as \uXXXX, so that the result is safe on a terminal; other valid UTF-8 stays as it is.
void append_json_string(std::string& out, std::string_view bytes);

// The bytes of one JSON string in quotes. Errors: ExitCode::usage, without a position.
Result<std::string> parse_json_string(std::string_view json);

// JSON text in which each lone escape \udc80 ... \udcff is replaced by its raw byte: what a JSON parser that lets
// invalid UTF-8 pass needs. Pairs of surrogates stay as they are.
std::string restore_escaped_bytes(std::string_view json);

bool is_valid_utf8(std::string_view bytes);

// One line for people: what append_json_string escapes is shown as \n, \t, \r, \xNN or \u{NNNN}. Not reversible.
std::string printable(std::string_view bytes);

// `text` with every `what`, which is not empty, replaced.
std::string replace_all(std::string text, std::string_view what, std::string_view with);

}  // namespace halfsent
