// The one table of what a scenario may say. Validation, documentation and suggestions all come from it.
//
// A rule's type is the type of the function that takes its value, so that the two cannot disagree.
// Private to this folder. Threads: one. Values carry their place in the file (line and column from 1).
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "harness/core/error.h"
#include "harness/core/plan.h"
#include "harness/scenario/scenario.h"

namespace halfsent {

struct Place {
  int line = 0;
  int column = 0;
};

template <class T>
struct At {
  T value{};
  Place at = {};
};

using Text = At<std::string>;
using Duration = At<Nanoseconds>;
using Truth = At<bool>;
using Number = At<std::int64_t>;
using Texts = At<std::vector<Text>>;
using TextTable = At<std::vector<std::pair<Text, Text>>>;
using NumberTable = At<std::vector<std::pair<Text, Number>>>;
using TextsTable = At<std::vector<std::pair<Text, Texts>>>;

// A scenario while it is being read. Mistakes are collected, so that the most telling one can be shown.
class Draft {
 public:
  // `file`: absolute; paths of the scenario are relative to its folder.
  explicit Draft(const std::filesystem::path& file);

  void fail(Place at, std::string message, std::string mend = {});
  // Something that is not there: shown only when nothing that is there is wrong (a misspelt key is both).
  void miss(Place at, std::string message, std::string mend = {});

  // The scenario, or the first mistake in the file.
  Result<Scenario> finish() &&;

  // Makes the path of a scenario absolute; ${BIN} is the folder of the running program.
  [[nodiscard]] std::filesystem::path resolve(const std::string& path) const;

  Scenario scenario;
  std::set<std::string> actor_names;
  std::set<std::string> inherited_actors;  // of the system under a drill, not changed by it yet
  Place honours_key_place = {1, 1};
  Place horizon_place = {1, 1};
  std::vector<Text> failed_words;
  std::string setup_file;  // content; setup_sql follows it
  std::string setup_sql;
  bool overlay = false;  // what is read now changes a system that was read before: nothing need be there

 private:
  struct Mistake {
    bool missing;
    Error error;
  };
  std::vector<Mistake> mistakes_;
};

using Apply =
    std::variant<void (*)(Draft&, const Text&), void (*)(Draft&, const Duration&), void (*)(Draft&, const Truth&),
                 void (*)(Draft&, const Number&), void (*)(Draft&, const Texts&), void (*)(Draft&, const TextTable&),
                 void (*)(Draft&, const TextsTable&), void (*)(Draft&, const NumberTable&)>;

struct Rule {
  std::string_view table;
  std::string_view key;
  bool required;
  std::string_view summary;
  Apply apply;
};

// In the order in which a scenario is best written.
std::span<const Rule> rules();

// Those of schema_drill.cc, which rules() ends with.
std::span<const Rule> drill_rules();

// "string", "duration", ...: what a value of this rule is.
std::string_view type_name(const Apply& apply);

// Checks that need more than one value.
void check_whole(Draft& draft);

// Whether a plan can have the word without quotes.
bool is_bare(std::string_view word);

// The word in double quotes with every control byte escaped, fit for a terminal.
std::string shown(std::string_view word);

// "did you mean X" when a candidate is near, else "expected one of A, B, C".
std::string suggestion(std::string_view word, std::span<const std::string> candidates);

// The meaning of the word; one that is not among the choices is reported.
template <class T>
std::optional<T> pick(Draft& draft, std::string_view what, const Text& word,
                      std::initializer_list<std::pair<std::string_view, T>> choices) {
  std::vector<std::string> names;
  for (const auto& [name, meaning] : choices) {
    if (name == word.value) return meaning;
    names.emplace_back(name);
  }
  draft.fail(word.at, std::string(what) + " knows no " + shown(word.value), suggestion(word.value, names));
  return std::nullopt;
}

// Reads "header NAME", "json MEMBER" or "path TEMPLATE"; what is none of them is reported.
std::optional<KeySource> read_key_source(Draft& draft, std::string_view what, const Text& text);

// Replaces every ${BIN} by the folder of the running program.
std::string expand_bin(std::string text);

}  // namespace halfsent
