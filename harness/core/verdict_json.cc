#include "harness/core/verdict_json.h"

#include <array>
#include <boost/json/array.hpp>
#include <stdexcept>

namespace halfsent {
namespace {

namespace json = boost::json;

constexpr std::array kinds = {VerdictKind::once,    VerdictKind::flagged, VerdictKind::duplicate, VerdictKind::lost,
                              VerdictKind::stuck,   VerdictKind::phantom, VerdictKind::wrong_key, VerdictKind::hidden,
                              VerdictKind::misflag, VerdictKind::ghost};

std::string text_of(const json::value& value) {
  const json::string& text = value.as_string();
  return {text.data(), text.size()};
}

template <class T, class Make>
void put_list(json::object& object, json::string_view name, const std::vector<T>& list, Make make) {
  if (list.empty()) return;
  json::array array;
  for (const T& element : list) array.push_back(make(element));
  object[name] = std::move(array);
}

template <class T, class Make>
std::vector<T> get_list(const json::object& object, json::string_view name, Make make) {
  std::vector<T> list;
  if (const json::value* found = object.if_contains(name))
    for (const json::value& element : found->as_array()) list.push_back(make(element));
  return list;
}

void put_text(json::object& object, json::string_view name, const std::string& text) {
  if (!text.empty()) object[name] = text;
}

std::string get_text(const json::object& object, json::string_view name) {
  const json::value* found = object.if_contains(name);
  return found == nullptr ? std::string() : text_of(*found);
}

void put_number(json::object& object, json::string_view name, std::int64_t number) {
  if (number != 0) object[name] = number;
}

template <class T = int>
T get_number(const json::object& object, json::string_view name) {
  const json::value* found = object.if_contains(name);
  return found == nullptr ? T{} : found->to_number<T>();
}

json::value same(const std::string& text) { return json::value(text); }

std::vector<Seq> get_evidence(const json::object& object) {
  return get_list<Seq>(object, "evidence", [](const json::value& seq) { return seq.to_number<Seq>(); });
}

void put_evidence(json::object& object, const std::vector<Seq>& evidence) {
  put_list(object, "evidence", evidence, [](Seq seq) { return json::value(seq); });
}

json::value key_to_json(const KeyVerdict& key) {
  json::object object{{"key", key.key}, {"kind", std::string(to_string(key.kind))}};
  put_text(object, "why", key.why);
  put_evidence(object, key.evidence);
  if (key.indeterminate) object["indeterminate"] = true;
  return object;
}

KeyVerdict key_from_json(const json::value& value) {
  const json::object& object = value.as_object();
  KeyVerdict key{.key = text_of(object.at("key")), .why = get_text(object, "why"), .evidence = get_evidence(object)};
  key.indeterminate = object.contains("indeterminate");
  const std::string name = text_of(object.at("kind"));
  for (const VerdictKind kind : kinds) {
    if (to_string(kind) != name) continue;
    key.kind = kind;
    return key;
  }
  throw std::invalid_argument("'" + name + "' is no verdict");
}

json::value violation_to_json(const RunViolation& broken) {
  json::object object{{"invariant", broken.invariant}};
  put_text(object, "key", broken.key);
  put_text(object, "why", broken.why);
  put_evidence(object, broken.evidence);
  return object;
}

RunViolation violation_from_json(const json::value& value) {
  const json::object& object = value.as_object();
  return {.invariant = text_of(object.at("invariant")),
          .key = get_text(object, "key"),
          .why = get_text(object, "why"),
          .evidence = get_evidence(object)};
}

}  // namespace

json::object to_json(const Verdict& verdict) {
  json::object object;
  put_list(object, "keys", verdict.keys, key_to_json);
  put_list(object, "broken", verdict.broken, violation_to_json);
  put_list(object, "judged", verdict.judged, same);
  put_list(object, "not_judged", verdict.not_judged, [](const NotJudged& not_judged) {
    return json::value{{"invariant", not_judged.invariant}, {"why", not_judged.why}};
  });
  put_list(object, "not_reached", verdict.not_reached, same);
  put_list(object, "inconclusive", verdict.inconclusive, same);
  put_list(object, "notes", verdict.notes, same);
  put_number(object, "accepted", verdict.accepted);
  put_number(object, "deduplicated", verdict.deduplicated);
  put_number(object, "faults_planned", verdict.faults_planned);
  put_number(object, "faults_fired", verdict.faults_fired);
  put_number(object, "last_terminal", verdict.last_terminal.count());
  return object;
}

Verdict verdict_from_json(const json::object& object) {
  Verdict verdict{.keys = get_list<KeyVerdict>(object, "keys", key_from_json),
                  .broken = get_list<RunViolation>(object, "broken", violation_from_json),
                  .judged = get_list<std::string>(object, "judged", text_of),
                  .not_judged = get_list<NotJudged>(object, "not_judged",
                                                    [](const json::value& value) {
                                                      const json::object& one = value.as_object();
                                                      return NotJudged{.invariant = text_of(one.at("invariant")),
                                                                       .why = text_of(one.at("why"))};
                                                    }),
                  .not_reached = get_list<std::string>(object, "not_reached", text_of),
                  .inconclusive = get_list<std::string>(object, "inconclusive", text_of),
                  .notes = get_list<std::string>(object, "notes", text_of)};
  verdict.accepted = get_number(object, "accepted");
  verdict.deduplicated = get_number(object, "deduplicated");
  verdict.faults_planned = get_number(object, "faults_planned");
  verdict.faults_fired = get_number(object, "faults_fired");
  verdict.last_terminal = Nanoseconds(get_number<std::int64_t>(object, "last_terminal"));
  return verdict;
}

json::object to_json(const Error& error) {
  json::object object{{"code", static_cast<int>(error.code)}, {"message", error.message}};
  put_text(object, "mend", error.mend);
  put_text(object, "file", error.file);
  put_number(object, "line", error.line);
  put_number(object, "column", error.column);
  return object;
}

Error error_from_json(const json::object& object) {
  return {.code = static_cast<ExitCode>(object.at("code").to_number<int>()),
          .message = text_of(object.at("message")),
          .mend = get_text(object, "mend"),
          .file = get_text(object, "file"),
          .line = get_number(object, "line"),
          .column = get_number(object, "column")};
}

}  // namespace halfsent
