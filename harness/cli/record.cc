#include "harness/cli/record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <exception>
#include <stdexcept>

#include "harness/cli/stored_run.h"
#include "harness/core/json_text.h"
#include "harness/core/text.h"
#include "harness/core/verdict_json.h"

namespace halfsent {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr int format_version = 1;

std::string text_of(const json::value& value) {
  const json::string& text = value.as_string();
  return {text.data(), text.size()};
}

json::array texts(const std::vector<std::string>& list) {
  json::array array;
  for (const std::string& text : list) array.push_back(json::value(text));
  return array;
}

std::vector<std::string> texts_of(const json::value& value) {
  std::vector<std::string> list;
  for (const json::value& element : value.as_array()) list.push_back(text_of(element));
  return list;
}

std::vector<std::string> names_of(const std::vector<FaultKind>& faults) {
  std::vector<std::string> names;
  for (const FaultKind kind : faults) names.emplace_back(info(kind).name);
  return names;
}

std::vector<FaultKind> faults_of(const json::value& value) {
  std::vector<FaultKind> faults;
  for (const std::string& name : texts_of(value)) {
    const Result<std::vector<FaultKind>> kinds = parse_fault_kinds(name);
    if (!kinds) throw std::invalid_argument(kinds.error().message);
    faults.insert(faults.end(), kinds->begin(), kinds->end());
  }
  return faults;
}

json::object object_of(const CampaignSpec& spec) {
  const SweepOptions& sweep = spec.options.sweep;
  return {{"halfsent_results", format_version},
          {"scenario", spec.scenario},
          {"file", spec.file},
          {"digest", spec.digest},
          {"strategy", spec.strategy},
          {"seed", spec.options.seed},
          {"faults", texts(names_of(sweep.faults))},
          {"max_faults", spec.options.bounds.faults},
          {"max_switches", spec.options.bounds.switches},
          {"plans", spec.options.plans},
          {"past_lease", sweep.past_lease.count()},
          {"within_lease", sweep.within_lease.count()},
          {"failover_loses", sweep.failover_loses},
          {"without", texts(spec.without)},
          {"expect_violation", spec.expect_violation},
          {"shard", spec.shard.index},
          {"shards", spec.shard.total},
          {"shard_source", spec.shard.source}};
}

CampaignSpec spec_of(const json::object& object) {
  if (object.at("halfsent_results").to_number<int>() != format_version)
    throw std::invalid_argument("it is of another version");
  const auto number = [&](const char* name) { return object.at(name).to_number<int>(); };
  const auto duration = [&](const char* name) { return Nanoseconds(object.at(name).to_number<std::int64_t>()); };
  CampaignSpec spec{.scenario = text_of(object.at("scenario")),
                    .file = text_of(object.at("file")),
                    .digest = text_of(object.at("digest")),
                    .strategy = text_of(object.at("strategy")),
                    .options = {},
                    .without = texts_of(object.at("without")),
                    .expect_violation = object.at("expect_violation").as_bool(),
                    .shard = {.index = number("shard"), .total = number("shards")}};
  spec.shard.source = text_of(object.at("shard_source"));
  spec.options = {.sweep = {.faults = faults_of(object.at("faults")),
                            .past_lease = duration("past_lease"),
                            .within_lease = duration("within_lease"),
                            .failover_loses = number("failover_loses")},
                  .bounds = {.faults = number("max_faults"), .switches = number("max_switches")},
                  .seed = object.at("seed").to_number<std::uint64_t>(),
                  .plans = number("plans")};
  const auto known = [&](const StrategyInfo& strategy) { return strategy.name == spec.strategy; };
  if (std::none_of(strategy_table().begin(), strategy_table().end(), known))
    throw std::invalid_argument("its strategy is not known");
  if (spec.shard.total < 1 || spec.shard.index < 1 || spec.shard.index > spec.shard.total)
    throw std::invalid_argument("it is of no shard that can be");
  return spec;
}

json::object object_of(const CleanRecord& clean) {
  return {{"clean", clean.digest}, {"verdict", to_json(clean.verdict)}};
}

json::object object_of(const PlanRecord& record) {
  json::object object{{"plan", record.plan},
                      {"name", record.name},
                      {"unit", record.unit},
                      {"windows", record.windows},
                      {"runs", record.runs}};
  if (!record.regression.empty()) object["regression"] = record.regression;
  if (record.error) object["error"] = to_json(*record.error);
  if (!record.error) object["verdict"] = to_json(record.verdict);
  return object;
}

PlanRecord plan_of(const json::object& object) {
  PlanRecord record{.unit = object.at("unit").to_number<std::size_t>(),
                    .name = text_of(object.at("name")),
                    .plan = text_of(object.at("plan")),
                    .windows = object.at("windows").to_number<std::size_t>(),
                    .runs = object.at("runs").to_number<int>()};
  if (const json::value* regression = object.if_contains("regression")) record.regression = text_of(*regression);
  if (const json::value* error = object.if_contains("error")) {
    record.error = error_from_json(error->as_object());
  } else {
    record.verdict = verdict_from_json(object.at("verdict").as_object());
  }
  return record;
}

json::object object_of(const UnitRecord& unit) { return {{"done", unit.unit}, {"childless", unit.childless}}; }

json::object object_of(const TwinRecord& twin) { return {{"twin", twin.text}, {"code", static_cast<int>(twin.code)}}; }

json::object object_of(const FailureRecord& failure) { return {{"failure", to_json(failure.error)}}; }

Record record_of(const json::object& object) {
  if (object.contains("halfsent_results")) return spec_of(object);
  if (const json::value* clean = object.if_contains("clean"))
    return CleanRecord{.digest = text_of(*clean), .verdict = verdict_from_json(object.at("verdict").as_object())};
  if (object.contains("plan")) return plan_of(object);
  if (const json::value* done = object.if_contains("done"))
    return UnitRecord{.unit = done->to_number<std::size_t>(), .childless = object.at("childless").to_number<int>()};
  if (const json::value* twin = object.if_contains("twin"))
    return TwinRecord{.text = text_of(*twin), .code = static_cast<ExitCode>(object.at("code").to_number<int>())};
  return FailureRecord{.error = error_from_json(object.at("failure").as_object())};
}

Error bad_line(std::string why) { return {.code = ExitCode::usage, .message = std::move(why)}; }

}  // namespace

std::string unit_name(std::size_t unit) { return fmt::format("{:05}", unit); }

std::string to_line(const Record& record) {
  return json_text(std::visit([](const auto& one) { return object_of(one); }, record));
}

Result<Record> parse_record(std::string_view line) {
  const Result<json::value> value = parse_json_text(line);
  if (!value) return value.error();
  try {
    return record_of(value->as_object());
  } catch (const std::exception& error) {
    return bad_line(error.what());
  }
}

Result<StoredResults> load_results(const fs::path& folder) {
  const fs::path file = folder / results_name;
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored))
    return Error{.code = ExitCode::usage,
                 .message = folder.string() + " holds no results of a campaign",
                 .mend = "name a folder that `halfsent run SCENARIO` has left, such as halfsent-runs/NAME/latest"};
  const Result<std::string> text = read_text(file);
  if (!text) return text.error();
  StoredResults results;
  std::size_t begin = 0;
  for (int line = 1; begin < text->size(); ++line) {
    const std::size_t end = text->find('\n', begin);
    if (end == text->npos) break;
    Result<Record> record = parse_record(std::string_view(*text).substr(begin, end - begin));
    if (record && line == 1 && !std::holds_alternative<CampaignSpec>(*record))
      record = bad_line("the results do not begin with what the campaign is");
    if (!record)
      return Error{.code = ExitCode::usage,
                   .message = "this line of the results cannot be read: " + printable(record.error().message),
                   .mend = "the file was changed, or is of another version: run the campaign again",
                   .file = file.string(),
                   .line = line};
    if (line == 1) results.spec = std::get<CampaignSpec>(*record);
    if (line > 1) results.records.push_back(std::move(*record));
    begin = end + 1;
    results.complete_bytes = begin;
  }
  if (results.complete_bytes == 0)
    return Error{.code = ExitCode::usage,
                 .message = "the results are empty: the campaign ended before it began",
                 .mend = "run it again",
                 .file = file.string()};
  return results;
}

std::string difference(const CampaignSpec& a, const CampaignSpec& b) {
  const json::object left = object_of(a);
  const json::object right = object_of(b);
  for (const json::key_value_pair& member : left) {
    if (member.key() == "file" || member.key() == "shard" || member.key() == "shard_source") continue;
    if (right.at(member.key()) != member.value())
      return fmt::format("{} is {} and {}", std::string_view(member.key().data(), member.key().size()),
                         json_text(member.value()), json_text(right.at(member.key())));
  }
  return {};
}

}  // namespace halfsent
