#include "arguments.h"

#include <charconv>

#include "defect.h"

namespace reference {
namespace {

struct Number {
  std::string_view option;
  Seconds Terms::*seconds = nullptr;
  int Terms::*count = nullptr;
};

constexpr Number numbers[] = {
    {.option = "--lease", .seconds = &Terms::lease_s},
    {.option = "--poll", .seconds = &Terms::poll_s},
    {.option = "--send-timeout", .seconds = &Terms::send_timeout_s},
    {.option = "--retry-delay", .seconds = &Terms::retry_delay_s},
    {.option = "--render", .seconds = &Terms::render_s},
    {.option = "--archive", .seconds = &Terms::archive_s},
    {.option = "--max-attempts", .count = &Terms::max_attempts},
    {.option = "--sweep-page", .count = &Terms::sweep_page},
};

bool set_number(Terms& terms, std::string_view option, std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return false;
  for (const Number& number : numbers) {
    if (number.option != option) continue;
    if (number.seconds != nullptr) terms.*number.seconds = value;
    if (number.count != nullptr) terms.*number.count = value;
    return true;
  }
  return false;
}

// What stands between the database and the options.
bool take_places(Arguments& arguments, const std::vector<std::string>& words, std::size_t& next) {
  const std::size_t places = arguments.role == "worker" ? 1 : arguments.role == "operator" ? 2 : 0;
  if (words.size() < next + places) return false;
  if (places == 1) arguments.url = words[next];
  if (places == 2) {
    arguments.action = words[next];
    arguments.key = words[next + 1];
  }
  next += places;
  return true;
}

// Who may meet a job in doubt must know what to do about it.
bool meets_doubt(const std::string& role) { return role == "worker" || role == "reaper"; }

bool is_role(const std::string& role) { return meets_doubt(role) || role == "scheduler" || role == "operator"; }

}  // namespace

std::optional<Arguments> parse_arguments(const std::vector<std::string>& words) {
  if (words.size() < 3 || !is_role(words[0])) return std::nullopt;
  Arguments arguments{
      .role = words[0], .name = words[1], .database = words[2], .url = {}, .action = {}, .key = {}, .terms = {}};
  std::size_t next = 3;
  if (!take_places(arguments, words, next)) return std::nullopt;
  bool chosen = !meets_doubt(arguments.role);
  for (; next + 1 < words.size(); next += 2) {
    const std::string& option = words[next];
    const std::string& value = words[next + 1];
    if (option == "--on-doubt" && (value == "retry" || value == "flag")) {
      arguments.terms.on_doubt = value == "flag" ? OnDoubt::flag : OnDoubt::retry;
      chosen = true;
    } else if (!(option == "--defect" && seed(value)) && !set_number(arguments.terms, option, value)) {
      return std::nullopt;
    }
  }
  if (next != words.size() || !chosen) return std::nullopt;
  if (has(Defect::lease_shorter_than_send)) arguments.terms.send_timeout_s = 100;
  return arguments;
}

}  // namespace reference
