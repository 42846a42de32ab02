#include "harness/scenario/defects.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <utility>

#include "harness/core/text.h"
#include "harness/scenario/schema.h"

namespace halfsent {
namespace {

namespace fs = std::filesystem;

class Reading {
 public:
  Reading(fs::path file, const std::vector<std::string>& verdict_names)
      : file_(std::move(file)), verdict_names_(verdict_names) {}

  void fail(const toml::node& at, std::string message, std::string mend) {
    const toml::source_position place = at.source().begin;
    if (!error_)
      error_ = Error{.code = ExitCode::usage,
                     .message = std::move(message),
                     .mend = std::move(mend),
                     .file = file_.string(),
                     .line = static_cast<int>(place.line),
                     .column = static_cast<int>(place.column)};
  }

  std::string text(std::string_view key, const toml::node& node) {
    const auto value = node.value_exact<std::string>();
    if (!value || value->empty()) fail(node, fmt::format("{} must be text, and not empty", key), "write it in quotes");
    return value.value_or("");
  }

  int number(std::string_view key, const toml::node& node) {
    const auto value = node.value_exact<std::int64_t>();
    const bool fits = value && *value >= 0 && *value <= 1'000'000;
    if (!fits) fail(node, fmt::format("{} must be a whole number, 0 or more", key), "write it without quotes");
    return fits ? static_cast<int>(*value) : 0;
  }

  std::vector<std::string> texts(std::string_view key, const toml::node& node) {
    std::vector<std::string> words;
    const toml::array* list = node.as_array();
    if (list == nullptr) fail(node, fmt::format("{} must be a list", key), R"(write ["...", "..."])");
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) words.push_back(text(key, (*list)[i]));
    return words;
  }

  std::string verdict(std::string_view key, const toml::node& node) {
    std::string word = text(key, node);
    if (std::find(verdict_names_.begin(), verdict_names_.end(), word) == verdict_names_.end())
      fail(node, fmt::format("{} knows no verdict {}", key, shown(word)), suggestion(word, verdict_names_));
    return word;
  }

  [[nodiscard]] const fs::path& file() const { return file_; }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  fs::path file_;
  const std::vector<std::string>& verdict_names_;
  std::optional<Error> error_;
};

template <auto member>
void text_field(Reading& in, std::string_view key, const toml::node& node, SeededDefect& to) {
  to.*member = in.text(key, node);
}

template <auto member>
void number_field(Reading& in, std::string_view key, const toml::node& node, SeededDefect& to) {
  to.*member = in.number(key, node);
}

void base_field(Reading& in, std::string_view key, const toml::node& node, SeededDefect& to) {
  to.base = in.text(key, node);
}

void faults_field(Reading& in, std::string_view key, const toml::node& node, SeededDefect& to) {
  const std::vector<std::string> words = in.texts(key, node);
  if (words.empty()) return;
  Result<std::vector<FaultKind>> faults = parse_fault_kinds(fmt::format("{}", fmt::join(words, ",")));
  if (!faults) in.fail(node, "faults: " + faults.error().message, faults.error().mend);
  if (faults) to.faults = std::move(*faults);
}

void verdicts_field(Reading& in, std::string_view key, const toml::node& node, SeededDefect& to) {
  const toml::array* list = node.as_array();
  if (list == nullptr || list->empty()) return in.fail(node, "verdicts must be a list, and not empty", R"(["lost"])");
  for (const toml::node& word : *list) to.verdicts.insert(in.verdict(key, word));
}

void needs_field(Reading& in, std::string_view key, const toml::node& node, SeededDefect& to) {
  to.needs = in.verdict(key, node);
}

void options_field(Reading& in, std::string_view key, const toml::node& node, SeededDefect& to) {
  to.options = in.texts(key, node);
}

void clean_field(Reading& in, std::string_view key, const toml::node& node, SeededDefect& to) {
  to.shows_without_faults = in.text(key, node) == "violated";
  if (!to.shows_without_faults) in.fail(node, R"(clean can only be "violated")", "leave it out where it holds");
}

void lag_field(Reading& in, std::string_view key, const toml::node& node, SeededDefect& to) {
  const Result<Nanoseconds> lag = parse_duration(in.text(key, node));
  if (!lag) in.fail(node, "key_lag: " + lag.error().message, lag.error().mend);
  if (lag) to.key_lag = *lag;
}

struct Field {
  std::string_view key;
  bool required;
  void (*read)(Reading& in, std::string_view key, const toml::node& node, SeededDefect& to);
};

constexpr std::array fields = {
    Field{"id", true, text_field<&SeededDefect::id>},
    Field{"part", true, text_field<&SeededDefect::part>},
    Field{"switch", true, text_field<&SeededDefect::name>},
    Field{"what", true, text_field<&SeededDefect::what>},
    Field{"base", true, base_field},
    Field{"faults", true, faults_field},
    Field{"verdicts", true, verdicts_field},
    Field{"needs", false, needs_field},
    Field{"plan", false, text_field<&SeededDefect::plan>},
    Field{"clean", false, clean_field},
    Field{"workers", false, number_field<&SeededDefect::workers>},
    Field{"jobs", false, number_field<&SeededDefect::jobs>},
    Field{"options", false, options_field},
    Field{"setup_sql", false, text_field<&SeededDefect::setup_sql>},
    Field{"failover_loses", false, number_field<&SeededDefect::failover_loses>},
    Field{"key_lag", false, lag_field},
    Field{"known_key_status", false, number_field<&SeededDefect::known_key_status>},
    Field{"accepted_status", false, number_field<&SeededDefect::accepted_status>},
};

SeededDefect read_row(Reading& in, const toml::table& row) {
  SeededDefect defect{.line = static_cast<int>(row.source().begin.line)};
  for (const auto& [key, node] : row) {
    const auto field = std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.key == key.str(); });
    if (field != fields.end()) {
      field->read(in, field->key, node, defect);
      continue;
    }
    std::vector<std::string> names;
    for (const Field& known : fields) names.emplace_back(known.key);
    in.fail(node, fmt::format("a defect has no key {}", shown(key.str())), suggestion(key.str(), names));
  }
  for (const Field& field : fields)
    if (field.required && !row.contains(field.key))
      in.fail(row, fmt::format("a defect needs the key {}", field.key), "see the head of sut/polling/defects.toml");
  return defect;
}

void find_base(Reading& in, const toml::node& row, const std::string& scenarios, SeededDefect& defect) {
  defect.base = (in.file().parent_path() / scenarios / defect.base).lexically_normal();
  std::error_code ignored;
  if (!fs::is_regular_file(defect.base, ignored))
    in.fail(row, fmt::format("the base of {} is no scenario: {}", defect.id, shown(defect.base.string())),
            "name a file of the folder that scenarios names");
}

void check_rows(Reading& in, const toml::array& rows, const std::vector<SeededDefect>& defects) {
  std::set<std::string> ids;
  for (std::size_t i = 0; i < defects.size(); ++i)
    if (!ids.insert(defects[i].id).second)
      in.fail(rows[i], fmt::format("there are two defects {}", shown(defects[i].id)), "give each an id of its own");
}

DefectTable read_table(Reading& in, const toml::table& document) {
  DefectTable table{.file = in.file(), .scenarios = {}, .actor = {}, .job = {}, .key = {}, .clear = {}, .defects = {}};
  const std::map<std::string, std::string DefectTable::*> texts = {{"scenarios", &DefectTable::scenarios},
                                                                   {"actor", &DefectTable::actor},
                                                                   {"job", &DefectTable::job},
                                                                   {"key", &DefectTable::key},
                                                                   {"clear", &DefectTable::clear}};
  for (const auto& [key, node] : document) {
    const std::string word(key.str());
    if (const auto text = texts.find(word); text != texts.end()) {
      table.*text->second = in.text(word, node);
    } else if (word == "first_job") {
      table.first_job = in.number(word, node);
    } else if (word != "defect" || !node.is_array_of_tables()) {
      in.fail(node, fmt::format("the table of defects has no {}", shown(word)),
              "it has scenarios, actor, first_job, job, key, clear and one [[defect]] for each row");
    }
  }
  for (const auto& [word, member] : texts)
    if ((table.*member).empty()) in.fail(document, fmt::format("{} is missing at the top", word), "write it first");
  if (const toml::array* rows = document["defect"].as_array()) {
    for (const toml::node& row : *rows) {
      table.defects.push_back(read_row(in, *row.as_table()));
      find_base(in, row, table.scenarios, table.defects.back());
    }
    check_rows(in, *rows, table.defects);
  } else {
    in.fail(document, "the table has no defect", "write one [[defect]] for each");
  }
  return table;
}

std::string for_job(std::string text, int number) {
  return replace_all(std::move(text), "{n}", std::to_string(number));
}

void set_jobs(const DefectTable& table, const SeededDefect& defect, Scenario& scenario) {
  if (!defect.jobs && defect.setup_sql.empty()) return;
  scenario.ledger.setup += "\n" + table.clear + "\n";
  if (!defect.setup_sql.empty()) scenario.ledger.setup += defect.setup_sql;
  const bool stated = !scenario.eligible.empty();
  scenario.eligible.clear();
  for (int i = 0; defect.setup_sql.empty() && i < *defect.jobs; ++i) {
    scenario.ledger.setup += for_job(table.job, table.first_job + i) + "\n";
    if (stated) scenario.eligible.push_back(for_job(table.key, table.first_job + i));
  }
}

void set_deployment(const SeededDefect& defect, Scenario& scenario) {
  if (defect.failover_loses) scenario.ledger.failover_loses = *defect.failover_loses;
  if (defect.key_lag) scenario.downstream.key_lag = *defect.key_lag;
  if (defect.known_key_status) scenario.downstream.known_key_status = *defect.known_key_status;
  if (defect.accepted_status) scenario.downstream.accepted_status = *defect.accepted_status;
}

}  // namespace

Result<DefectTable> load_defects(const fs::path& file, const std::vector<std::string>& verdict_names) {
  const fs::path absolute = fs::absolute(file).lexically_normal();
  errno = 0;
  std::ifstream stream(absolute, std::ios::binary);
  std::ostringstream text;
  if (!stream || !(text << stream.rdbuf()))
    return Error{
        .code = ExitCode::usage,
        .message = "cannot read the table of defects",
        .mend = "work in the folder of the sources, where it is sut/polling/defects.toml, or name it with --table",
        .file = absolute.string()};
  try {
    Reading in(absolute, verdict_names);
    DefectTable table = read_table(in, toml::parse(text.str()));
    if (in.error()) return *in.error();
    return table;
  } catch (const toml::parse_error& error) {
    return Error{.code = ExitCode::usage,
                 .message = fmt::format("this is no TOML: {}", printable(error.description())),
                 .mend = "see https://toml.io for the grammar",
                 .file = absolute.string(),
                 .line = static_cast<int>(error.source().begin.line),
                 .column = static_cast<int>(error.source().begin.column)};
  }
}

Result<Scenario> scenario_of(const DefectTable& table, const SeededDefect& defect, bool with_defect) {
  Result<Scenario> scenario = load_scenario(defect.base);
  if (!scenario) return scenario;
  scenario->name = "selfcheck." + defect.id;
  scenario->description = defect.what;
  scenario->naive_twin.clear();
  scenario->expect_violation = with_defect;
  if (!defect.faults.empty()) scenario->sweep_faults = defect.faults;
  set_jobs(table, defect, *scenario);
  if (with_defect) set_deployment(defect, *scenario);
  for (ActorConfig& actor : scenario->actors) {
    if (actor.name == table.actor) {
      if (defect.workers) actor.count = *defect.workers;
      actor.command.insert(actor.command.end(), defect.options.begin(), defect.options.end());
    }
    if (with_defect) actor.command.insert(actor.command.end(), {"--defect", defect.name});
  }
  return scenario;
}

const SeededDefect* find_defect(const DefectTable& table, const std::string& word) {
  const auto found = std::find_if(table.defects.begin(), table.defects.end(),
                                  [&](const SeededDefect& defect) { return defect.id == word || defect.name == word; });
  return found == table.defects.end() ? nullptr : &*found;
}

}  // namespace halfsent
