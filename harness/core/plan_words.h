// Words of the plan grammar that its printer and its parser share. Private to core.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "harness/core/text.h"

namespace halfsent {

inline constexpr std::string_view for_word = "for";
inline constexpr std::string_view downstream_word = "downstream";
inline constexpr std::string_view ledger_word = "ledger";
inline constexpr std::string_view announced_prefix = "at:";  // of boundaries that a worker announces

// In the order of KillScope, of RestartMode and of IoError.
inline constexpr std::array<std::string_view, 4> kill_scope_names = {"tree", "process", "child", "root"};
inline constexpr std::array<std::string_view, 3> restart_mode_names = {"after", "never", "while_peer_lives"};
inline constexpr std::array<std::string_view, 2> io_error_names = {"EIO", "ENOSPC"};

// May stand in a plan without quotes.
constexpr bool is_bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == ':' || c == '.' ||
         c == '_' || c == '-';
}

// A pasted word as a message shows it: printable and not too long.
inline std::string shorten(std::string_view word) {
  constexpr std::size_t longest = 60;
  return word.size() <= longest ? printable(word) : printable(word.substr(0, longest)) + "...";
}

}  // namespace halfsent
