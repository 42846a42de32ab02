#include "harness/scenario/scenario.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <system_error>
#include <tuple>

#include "harness/core/text.h"
#include "harness/scenario/schema.h"

namespace halfsent {
namespace {

namespace fs = std::filesystem;

Place place_of(const toml::source_region& region) {
  return {static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
}
Place place_of(const toml::node& node) { return place_of(node.source()); }

std::string_view kind_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a number with a fraction";
    case toml::node_type::boolean:
      return "a boolean";
    case toml::node_type::array:
      return node.is_array_of_tables() ? "a list of tables" : "a list";
    case toml::node_type::table:
      return "a table";
    default:
      return "a date or time";
  }
}

// Reads values of one kind out of nodes; reports a value of another kind.
class Reader {
 public:
  Reader(Draft& draft, std::string what) : draft_(draft), what_(std::move(what)) {}

  std::optional<Text> text(const toml::node& node) const {
    if (const auto* value = node.as_string()) return Text{value->get(), place_of(node)};
    return wrong(node, "a string");
  }

  std::optional<Duration> duration(const toml::node& node) const {
    const auto* value = node.as_string();
    if (!value)
      return wrong(node, "a duration in quotes", R"(write a whole number and one of ns us ms s min h: "60s")");
    const Result<Nanoseconds> parsed = parse_duration(value->get());
    if (!parsed) {
      draft_.fail(place_of(node), fmt::format("{}: {} is no duration", what_, shown(value->get())),
                  R"(write a whole number and one of ns us ms s min h: "60s")");
      return std::nullopt;
    }
    return Duration{*parsed, place_of(node)};
  }

  std::optional<Truth> truth(const toml::node& node) const {
    if (const auto* value = node.as_boolean()) return Truth{value->get(), place_of(node)};
    return wrong(node, "true or false");
  }

  std::optional<Number> number(const toml::node& node) const {
    if (const auto* value = node.as_integer()) return Number{value->get(), place_of(node)};
    return wrong(node, "a whole number");
  }

  std::optional<Texts> texts(const toml::node& node) const {
    const toml::array* list = node.as_array();
    if (!list) return wrong(node, "a list of strings", R"(write ["..."])");
    Texts all{{}, place_of(node)};
    for (const toml::node& element : *list) {
      std::optional<Text> one = text(element);
      if (!one) return std::nullopt;
      all.value.push_back(std::move(*one));
    }
    return all;
  }

  std::optional<TextTable> text_table(const toml::node& node) const {
    return table_of<TextTable>(node, "a table of strings",
                               [](const Reader& r, const toml::node& n) { return r.text(n); });
  }

  std::optional<NumberTable> number_table(const toml::node& node) const {
    return table_of<NumberTable>(node, "a table of whole numbers",
                                 [](const Reader& r, const toml::node& n) { return r.number(n); });
  }

  std::optional<TextsTable> texts_table(const toml::node& node) const {
    return table_of<TextsTable>(node, "a table of lists of strings",
                                [](const Reader& r, const toml::node& n) { return r.texts(n); });
  }

 private:
  template <class Table, class ReadOne>
  std::optional<Table> table_of(const toml::node& node, std::string_view kind, ReadOne read_one) const {
    const toml::table* table = node.as_table();
    if (!table) return wrong(node, kind);
    Table all{{}, place_of(node)};
    for (const auto& [key, value] : *table) {
      const std::string name(key.str());
      auto one = read_one(Reader(draft_, what_ + "." + quote_key(name)), value);
      if (!one) return std::nullopt;
      all.value.emplace_back(Text{name, place_of(key.source())}, std::move(*one));
    }
    return all;
  }

  std::nullopt_t wrong(const toml::node& node, std::string_view wanted, std::string mend = {}) const {
    draft_.fail(place_of(node), fmt::format("{} must be {}, not {}", what_, wanted, kind_of(node)), std::move(mend));
    return std::nullopt;
  }

  Draft& draft_;
  std::string what_;
};

struct ApplyValue {
  Draft& draft;
  const Reader& reader;
  const toml::node& node;

  template <class T>
  void give(void (*apply)(Draft&, const T&), std::optional<T> value) const {
    if (value) apply(draft, *value);
  }
  void operator()(void (*apply)(Draft&, const Text&)) const { give(apply, reader.text(node)); }
  void operator()(void (*apply)(Draft&, const Duration&)) const { give(apply, reader.duration(node)); }
  void operator()(void (*apply)(Draft&, const Truth&)) const { give(apply, reader.truth(node)); }
  void operator()(void (*apply)(Draft&, const Number&)) const { give(apply, reader.number(node)); }
  void operator()(void (*apply)(Draft&, const Texts&)) const { give(apply, reader.texts(node)); }
  void operator()(void (*apply)(Draft&, const TextTable&)) const { give(apply, reader.text_table(node)); }
  void operator()(void (*apply)(Draft&, const TextsTable&)) const { give(apply, reader.texts_table(node)); }
  void operator()(void (*apply)(Draft&, const NumberTable&)) const { give(apply, reader.number_table(node)); }
};

std::vector<std::string> table_names() {
  std::vector<std::string> names;
  for (const Rule& rule : rules()) {
    if (names.empty() || names.back() != rule.table) names.emplace_back(rule.table);
  }
  return names;
}

bool is_list_of_tables(std::string_view table) { return table == "actor" || table == "run"; }

std::string header_of(std::string_view table) {
  return is_list_of_tables(table) ? fmt::format("[[{}]]", table) : fmt::format("[{}]", table);
}

// Where a key that is unknown here belongs, or the nearest key of this table.
std::string where_it_belongs(std::string_view table, const std::string& key) {
  for (const Rule& rule : rules()) {
    if (rule.key == key) return fmt::format("{} belongs in {}", rule.key, header_of(rule.table));
  }
  std::vector<std::string> keys;
  for (const Rule& rule : rules()) {
    if (rule.table == table) keys.emplace_back(rule.key);
  }
  return suggestion(key, keys);
}

void read_table(Draft& draft, std::string_view name, const toml::table& table) {
  for (const auto& [key, value] : table) {
    const std::string word(key.str());
    const bool known = std::any_of(rules().begin(), rules().end(),
                                   [&](const Rule& rule) { return rule.table == name && rule.key == word; });
    if (known) continue;
    draft.fail(place_of(key.source()), fmt::format("{} has no key {}", header_of(name), shown(word)),
               where_it_belongs(name, word));
  }
  for (const Rule& rule : rules()) {
    if (rule.table != name) continue;
    if (const toml::node* node = table.get(rule.key)) {
      const Reader reader(draft, fmt::format("{}.{}", rule.table, rule.key));
      std::visit(ApplyValue{draft, reader, *node}, rule.apply);
    } else if (rule.required && (!draft.overlay || name == "run")) {
      draft.miss(place_of(table), fmt::format("{} needs the key {}", header_of(name), rule.key),
                 fmt::format("{}: {}", type_name(rule.apply), rule.summary));
    }
  }
}

// The actor that this table is about: a drill may change one of its system's, anything else is a new one. It stands
// last while it is read; `back_to` is where it belongs.
void read_actor(Draft& draft, const toml::table& table) {
  std::vector<ActorConfig>& actors = draft.scenario.actors;
  const std::string name = table["name"].value_or(std::string());
  const auto known = std::find_if(actors.begin(), actors.end(), [&](const ActorConfig& a) { return a.name == name; });
  if (draft.overlay && known != actors.end() && draft.inherited_actors.erase(name) > 0) {
    const auto back_to = std::distance(actors.begin(), known);
    draft.actor_names.erase(name);
    std::rotate(known, known + 1, actors.end());
    read_table(draft, "actor", table);
    std::rotate(actors.begin() + back_to, actors.end() - 1, actors.end());
    return;
  }
  const bool overlay = std::exchange(draft.overlay, false);
  actors.emplace_back();
  read_table(draft, "actor", table);
  draft.overlay = overlay;
}

void read_list(Draft& draft, const std::string& name, const toml::node& node) {
  const toml::array* list = node.as_array();
  if (!list || (!list->empty() && !node.is_array_of_tables())) {
    draft.fail(place_of(node), fmt::format("{} must be a list of tables, not {}", name, kind_of(node)),
               fmt::format("write [[{}]]", name));
    return;
  }
  for (const toml::node& element : *list) {
    if (name == "actor") {
      read_actor(draft, *element.as_table());
    } else {
      draft.scenario.runs.emplace_back();
      read_table(draft, name, *element.as_table());
    }
  }
}

void read_known_table(Draft& draft, const std::string& name, const toml::node& node) {
  if (is_list_of_tables(name)) return read_list(draft, name, node);
  if (const toml::table* table = node.as_table()) return read_table(draft, name, *table);
  draft.fail(place_of(node), fmt::format("{} must be a table, not {}", name, kind_of(node)),
             fmt::format("write [{}]", name));
}

void report_missing_table(Draft& draft, const std::string& name) {
  if (draft.overlay ? name != "run" : name == "run" || name == "drill") return;
  if (name == "run") {
    draft.miss({1, 1}, "the drill has no run", "write [[run]] with a plan and what is expected in the end");
    return;
  }
  if (is_list_of_tables(name)) {
    draft.miss({1, 1}, "the scenario has no actor", R"(write [[actor]] with name and command)");
    return;
  }
  std::vector<std::string_view> needed;
  for (const Rule& rule : rules()) {
    if (rule.table == name && rule.required) needed.push_back(rule.key);
  }
  if (needed.empty()) return;
  draft.miss({1, 1}, fmt::format("the scenario has no [{}]", name),
             fmt::format("write [{}] with {}", name, fmt::join(needed, ", ")));
}

void read_document(Draft& draft, const toml::table& document) {
  const std::vector<std::string> names = table_names();
  if (!draft.overlay && document.contains("run")) {
    draft.fail(place_of(*document.get("run")), "a [[run]] belongs to a drill", "write [drill] with name and systems");
  }
  if (draft.overlay && document.contains("scenario")) {
    draft.fail(place_of(*document.get("scenario")), "a drill has no [scenario]",
               "its name is in [drill]; the rest is its systems'");
  }
  for (const auto& [key, value] : document) {
    const std::string word(key.str());
    if (std::find(names.begin(), names.end(), word) != names.end()) continue;
    const bool table = value.is_table() || value.is_array_of_tables();
    draft.fail(place_of(key.source()),
               fmt::format("a scenario has no {} {}", table ? "table" : "key outside a table", shown(word)),
               table ? suggestion(word, names) : where_it_belongs("", word));
  }
  for (const std::string& name : names) {
    if (draft.overlay && name == "drill") continue;  // it has been read
    const toml::node* node = document.get(name);
    const toml::array* list = node ? node->as_array() : nullptr;
    if (node && !(is_list_of_tables(name) && list && list->empty())) {
      read_known_table(draft, name, *node);
    } else {
      report_missing_table(draft, name);
    }
  }
}

Error usage(std::string message, std::string mend, const fs::path& file, Place at = {}) {
  return {.code = ExitCode::usage,
          .message = std::move(message),
          .mend = std::move(mend),
          .file = file.string(),
          .line = at.line,
          .column = at.column};
}

Result<toml::table> parse_toml(std::string_view text, const fs::path& file) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    return usage(fmt::format("this is no TOML: {}", printable(error.description())),
                 "see https://toml.io for the grammar", file, place_of(error.source()));
  }
}

Result<std::string> read_scenario_file(const fs::path& file) {
  std::error_code failed;
  if (fs::is_directory(file, failed)) {
    return usage("a scenario is a file, and this is a folder", "name a .toml file", file);
  }
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    return usage(fmt::format("cannot read the scenario: {}", std::generic_category().message(errno)),
                 "name a .toml file that exists", file);
  }
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Reads the system's scenario, and then what the drill says over it.
Result<Scenario> read_drill(const toml::table& document, const fs::path& file, const fs::path& wanted) {
  Draft head(file);
  if (const toml::table* table = document["drill"].as_table()) {
    read_table(head, "drill", *table);
    if (head.scenario.systems.empty() && head.scenario.failing_systems.empty())
      head.miss(place_of(*table), "the drill names no system", R"(write systems = ["../polling_python.toml"])");
  } else {
    head.fail(place_of(*document.get("drill")), "drill must be a table", "write [drill] with name and systems");
  }
  const Result<Scenario> drill = std::move(head).finish();
  if (!drill) return drill.error();

  const fs::path system = fs::absolute(!wanted.empty()          ? wanted
                                       : drill->systems.empty() ? drill->failing_systems.front()
                                                                : drill->systems.front())
                              .lexically_normal();
  const Result<std::string> text = read_scenario_file(system);
  if (!text) return text.error();
  const Result<toml::table> base = parse_toml(*text, system);
  if (!base) return base.error();
  if (base->contains("drill")) return usage("a drill is no system for a drill", "name a scenario", system);
  Draft whole(system);
  read_document(whole, *base);
  if (Result<Scenario> checked = Draft(whole).finish(); !checked) return checked.error();

  Scenario& scenario = whole.scenario;
  whole.overlay = true;
  whole.inherited_actors = whole.actor_names;
  scenario.file = file;
  scenario.name = fmt::format("{}.{}", drill->name, scenario.name);
  scenario.description = drill->description;
  scenario.naive_twin.clear();
  scenario.systems = drill->systems;
  scenario.failing_systems = drill->failing_systems;
  const auto& failing = scenario.failing_systems;
  scenario.expect_violation = std::find(failing.begin(), failing.end(), system) != failing.end();
  read_document(whole, document);
  check_whole(whole);
  for (DrillRun& run : scenario.runs) run.plan.scenario = scenario.name;
  return std::move(whole).finish();
}

}  // namespace

Draft::Draft(const fs::path& file) {
  scenario.file = file;
  scenario.sweep_faults = every_fault_kind();
  scenario.downstream.key = {KeySource::Kind::header, "Idempotency-Key"};
}

void Draft::fail(Place at, std::string message, std::string mend) {
  mistakes_.push_back({false, usage(std::move(message), std::move(mend), scenario.file, at)});
}

void Draft::miss(Place at, std::string message, std::string mend) {
  mistakes_.push_back({true, usage(std::move(message), std::move(mend), scenario.file, at)});
}

Result<Scenario> Draft::finish() && {
  if (mistakes_.empty()) return std::move(scenario);
  return std::min_element(mistakes_.begin(), mistakes_.end(),
                          [](const Mistake& a, const Mistake& b) {
                            return std::tuple(a.missing, a.error.line, a.error.column) <
                                   std::tuple(b.missing, b.error.line, b.error.column);
                          })
      ->error;
}

fs::path Draft::resolve(const std::string& path) const {
  return (scenario.file.parent_path() / expand_bin(path)).lexically_normal();
}

std::string shown(std::string_view word) {
  std::string quoted;
  append_json_string(quoted, word);
  return quoted;
}

std::string suggestion(std::string_view word, std::span<const std::string> candidates) {
  const std::string near = nearest(word, candidates);
  if (!near.empty()) return fmt::format("did you mean {}?", near);
  return fmt::format("expected {}{}", candidates.size() == 1 ? "" : "one of ", fmt::join(candidates, ", "));
}

std::string expand_bin(std::string text) {
  if (text.find("${BIN}") == std::string::npos) return text;
  std::error_code failed;
  const fs::path self = fs::read_symlink("/proc/self/exe", failed);
  return failed ? text : replace_all(std::move(text), "${BIN}", self.parent_path().string());
}

Result<Scenario> parse_scenario(std::string_view toml, const fs::path& file, const fs::path& system) {
  const fs::path absolute = fs::absolute(file).lexically_normal();
  const Result<toml::table> document = parse_toml(toml, absolute);
  if (!document) return document.error();
  if (document->contains("drill")) return read_drill(*document, absolute, system);
  if (!system.empty()) return usage("this is no drill: it has a system of its own", "leave --system out", absolute);
  Draft draft(absolute);
  read_document(draft, *document);
  check_whole(draft);
  return std::move(draft).finish();
}

Result<Scenario> load_scenario(const fs::path& file, const fs::path& system) {
  const Result<std::string> text = read_scenario_file(file);
  if (!text) return text.error();
  return parse_scenario(*text, file, system);
}

}  // namespace halfsent
