#include "harness/core/history.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <array>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <concepts>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "harness/core/text.h"

namespace halfsent {
namespace {

namespace json = boost::json;

constexpr std::uint64_t format_version = 1;

// In the order of EventBody's alternatives.
constexpr std::array<std::string_view, std::variant_size_v<EventBody>> kind_names = {
    "started",          "stopped",     "waiting",  "requested", "accepted", "responded", "ledger_changed",
    "commit_uncertain", "fault_fired", "released", "ended",     "note",     "finished"};
static_assert(kind_names.back() == "finished");

constexpr std::array<std::string_view, 6> job_state_names = {"none",      "pending", "leased",
                                                             "delivered", "flagged", "unlisted"};
constexpr std::array<std::string_view, 4> how_names = {"exited", "signalled", "killed_by_plan", "ended_with_world"};

constexpr auto& names_of(JobState) { return job_state_names; }
constexpr auto& names_of(Ended::How) { return how_names; }

// The fields of each event, in their order on disk. Both directions come from here: `archive` reads or writes.
template <class Archive, class E>
void fields(Archive& archive, E& event) {
  using T = std::remove_const_t<E>;
  if constexpr (std::same_as<T, Stopped>) {
    archive("call", event.call);
    archive("object", event.object);
    archive("detail", event.detail);
    archive("bytes", event.bytes);
    archive("holds_ledger_lock", event.holds_ledger_lock);
  } else if constexpr (std::same_as<T, Waiting>) {
    archive("call", event.call);
    archive("object", event.object);
    archive("deadline", event.deadline);
  } else if constexpr (std::same_as<T, Requested>) {
    archive("request", event.request);
    archive("key", event.key);
    archive("method", event.method);
    archive("path", event.path);
    archive("body_digest", event.body_digest);
    archive("attempt", event.attempt);
    archive("client_retry", event.client_retry);
    archive.seq_or_null("first_send", event.first_send);
    archive("job", event.job);
  } else if constexpr (std::same_as<T, Accepted>) {
    archive("request", event.request);
    archive("key", event.key);
    archive("deduplicated", event.deduplicated);
  } else if constexpr (std::same_as<T, Responded>) {
    archive("request", event.request);
    archive("key", event.key);
    archive("status", event.status);
    archive("how", event.how);
  } else if constexpr (std::same_as<T, LedgerChanged>) {
    archive("key", event.key);
    archive("from", event.from);
    archive("to", event.to);
    archive("raw_state", event.raw_state);
    archive("attempts", event.attempts);
    archive("lease_until", event.lease_until);
    archive.unless("token", event.token, std::string());
    archive.unless("owner", event.owner, std::string());
    archive.unless("slot", event.slot, std::string());
    archive.unless("cohort", event.cohort, std::string());
    archive.unless("authority", event.authority, std::string());
    archive.unless("due_at", event.due_at, Nanoseconds{-1});
    archive.unless("rows", event.rows, 1);
  } else if constexpr (std::same_as<T, CommitUncertain>) {
    archive("key", event.key);
    archive("live", event.live);
    archive("cold", event.cold);
  } else if constexpr (std::same_as<T, FaultFired>) {
    archive("fault", event.fault);
    archive("text", event.text);
  } else if constexpr (std::same_as<T, Ended>) {
    archive("how", event.how);
    archive("code", event.code);
  } else if constexpr (std::same_as<T, Note>) {
    archive("text", event.text);
  } else if constexpr (std::same_as<T, Finished>) {
    archive("reason", event.reason);
    archive("detail", event.detail);
  } else {
    static_assert(std::same_as<T, Started> || std::same_as<T, Released>, "an event without a form on disk");
  }
}

template <class Archive, class E>
void common_fields(Archive& archive, E& event) {
  archive("seq", event.seq);
  archive("t", event.at);
  archive("actor", event.actor);
  archive("inc", event.incarnation);
  archive("proc", event.process);
}

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) { out_ += '{'; }
  void finish() { out_ += '}'; }

  void operator()(std::string_view name, std::string_view value) {
    begin(name);
    append_json_string(out_, value);
  }
  void operator()(std::string_view name, const std::string& value) { (*this)(name, std::string_view(value)); }
  void operator()(std::string_view name, bool value) {
    begin(name);
    out_ += value ? "true" : "false";
  }
  template <class T>
  requires std::integral<T> &&(!std::same_as<T, bool>)void operator()(std::string_view name, T value) {
    begin(name);
    std::array<char, 24> digits;
    out_.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
  }
  void operator()(std::string_view name, Nanoseconds value) { (*this)(name, static_cast<std::int64_t>(value.count())); }
  template <class T>
  requires std::is_enum_v<T>
  void operator()(std::string_view name, T value) {
    (*this)(name, names_of(value).at(static_cast<std::size_t>(value)));
  }
  void seq_or_null(std::string_view name, Seq value) {
    if (value != no_seq) return (*this)(name, value);
    begin(name);
    out_ += "null";
  }
  // Fields that came later: where they say nothing they are not there, and old histories keep their bytes.
  template <class T>
  void unless(std::string_view name, const T& value, const T& nothing) {
    if (value != nothing) (*this)(name, value);
  }

 private:
  void begin(std::string_view name) {
    if (out_.back() != '{') out_ += ',';
    ((out_ += '"') += name) += "\":";
  }

  std::string& out_;
};

// Takes fields by name from an object and keeps the first complaint.
class Reader {
 public:
  explicit Reader(const json::object& object) : object_(object) {}

  void operator()(std::string_view name, std::string& value) {
    const json::value* found = find(name);
    if (!found) return;
    if (!found->is_string()) return complain(name, "a string");
    value.assign(found->get_string().data(), found->get_string().size());
  }
  void operator()(std::string_view name, bool& value) {
    const json::value* found = find(name);
    if (!found) return;
    if (!found->is_bool()) return complain(name, "true or false");
    value = found->get_bool();
  }
  template <class T>
  requires std::integral<T> &&(!std::same_as<T, bool>)void operator()(std::string_view name, T& value) {
    if (const json::value* found = find(name)) integer(name, *found, value);
  }
  void operator()(std::string_view name, Nanoseconds& value) {
    std::int64_t count = value.count();
    (*this)(name, count);
    value = Nanoseconds(count);
  }
  template <class T>
  requires std::is_enum_v<T>
  void operator()(std::string_view name, T& value) {
    std::string word;
    (*this)(name, word);
    const auto& names = names_of(T{});
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == word) {
        value = static_cast<T>(i);
        return;
      }
    }
    complain(name, fmt::format("one of {}", fmt::join(names, ", ")));
  }
  void seq_or_null(std::string_view name, Seq& value) {
    const json::value* found = find(name);
    if (!found) return;
    if (found->is_null()) {
      value = no_seq;
    } else {
      integer(name, *found, value);
    }
  }

  template <class T>
  void unless(std::string_view name, T& value, const T&) {
    if (object_.if_contains(json::string_view(name.data(), name.size()))) (*this)(name, value);
  }

  // The complaint, or empty when all went well and the object has no other fields.
  [[nodiscard]] std::string finish() const {
    if (!complaint_.empty() || taken_ == object_.size()) return complaint_;
    return "it has fields that this version does not know";
  }

 private:
  const json::value* find(std::string_view name) {
    const json::value* found = object_.if_contains(json::string_view(name.data(), name.size()));
    if (found) {
      ++taken_;
    } else if (complaint_.empty()) {
      complaint_ = fmt::format("the field '{}' is missing", name);
    }
    return found;
  }

  template <class T>
  void integer(std::string_view name, const json::value& found, T& value) {
    if (found.is_int64() && std::in_range<T>(found.get_int64())) {
      value = static_cast<T>(found.get_int64());
    } else if (found.is_uint64() && std::in_range<T>(found.get_uint64())) {
      value = static_cast<T>(found.get_uint64());
    } else {
      complain(name, fmt::format("a whole number from {} to {}", std::numeric_limits<T>::min(),
                                 std::numeric_limits<T>::max()));
    }
  }

  void complain(std::string_view name, std::string_view wanted) {
    if (complaint_.empty()) complaint_ = fmt::format("the field '{}' is not {}", name, wanted);
  }

  const json::object& object_;
  std::size_t taken_ = 0;
  std::string complaint_;
};

void append_event(std::string& out, const Event& event) {
  Writer writer(out);
  common_fields(writer, event);
  writer("kind", kind_names.at(event.body.index()));
  std::visit([&writer](const auto& body) { fields(writer, body); }, event.body);
  writer.finish();
}

Error bad_history(int line, std::string message, std::string mend = "the file was changed or cut: run the plan again") {
  return Error{.code = ExitCode::usage, .message = std::move(message), .mend = std::move(mend), .line = line};
}

// Calls `use` with the line's object; its result is a complaint or empty.
template <class Use>
std::optional<Error> with_object(std::string_view text, int line, Use use) {
  if (!is_valid_utf8(text)) return bad_history(line, "this line of the history has bytes that are not UTF-8");
  std::string restored;
  if (text.find("\\ud") != text.npos || text.find("\\uD") != text.npos) {
    restored = restore_escaped_bytes(text);
    text = restored;
  }
  std::array<unsigned char, 4096> buffer;
  json::monotonic_resource memory(buffer.data(), buffer.size());
  json::parse_options options;
  options.allow_invalid_utf8 = true;
  json::error_code error;
  const json::value value = json::parse(json::string_view(text.data(), text.size()), error, &memory, options);
  if (error) return bad_history(line, "this line of the history is not JSON: " + error.message());
  if (!value.is_object()) return bad_history(line, "this line of the history is not a JSON object");
  std::string complaint = use(value.get_object());
  if (complaint.empty()) return std::nullopt;
  return bad_history(line, "this line of the history cannot be read: " + std::move(complaint));
}

template <std::size_t I = 0>
void make_body(std::size_t index, EventBody& body) {
  if constexpr (I < std::variant_size_v<EventBody>) {
    if (index == I) {
      body.emplace<I>();
    } else {
      make_body<I + 1>(index, body);
    }
  }
}

std::string read_event(const json::object& object, Event& event) {
  Reader reader(object);
  common_fields(reader, event);
  std::string kind;
  reader("kind", kind);
  std::size_t index = 0;
  while (index < kind_names.size() && kind_names[index] != kind) ++index;
  if (index == kind_names.size()) return fmt::format("'{}' is no kind of event", kind);
  make_body(index, event.body);
  std::visit([&reader](auto& body) { fields(reader, body); }, event.body);
  return reader.finish();
}

std::string read_header(const json::object& object, History& history) {
  Reader reader(object);
  std::uint64_t version = 0;
  reader("halfsent_history", version);
  reader("scenario", history.scenario);
  reader("seed", history.seed);
  reader("plan", history.plan);
  if (version != 0 && version != format_version) {
    return fmt::format("it has format {} and this version reads format {}", version, format_version);
  }
  return reader.finish();
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  return line;
}

}  // namespace

std::string to_json_line(const Event& event) {
  std::string out;
  append_event(out, event);
  return out;
}

std::string to_json_lines(const History& history) {
  std::string out;
  out.reserve(256 * (history.events.size() + 1));
  Writer header(out);
  header("halfsent_history", format_version);
  header("scenario", history.scenario);
  header("seed", history.seed);
  header("plan", history.plan);
  header.finish();
  out += '\n';
  for (const Event& event : history.events) {
    append_event(out, event);
    out += '\n';
  }
  return out;
}

Result<History> history_from_json_lines(std::string_view text) {
  History history;
  int line = 1;
  if (text.empty()) return bad_history(line, "the history is empty");
  const auto header = [&history](const json::object& object) { return read_header(object, history); };
  if (auto error = with_object(take_line(text), line, header)) return *std::move(error);
  while (!text.empty()) {
    ++line;
    Event event;
    const auto read = [&event](const json::object& object) { return read_event(object, event); };
    if (auto error = with_object(take_line(text), line, read)) return *std::move(error);
    if (event.seq != history.events.size()) {
      return bad_history(
          line, fmt::format("event {} was expected here and event {} was found", history.events.size(), event.seq));
    }
    history.events.push_back(std::move(event));
  }
  return history;
}

std::string digest(const History& history) {
  const std::unique_ptr<XXH64_state_t, decltype(&XXH64_freeState)> state(XXH64_createState(), &XXH64_freeState);
  XXH64_reset(state.get(), 0);
  std::string line;
  for (const Event& event : history.events) {
    line.clear();
    append_event(line, event);
    line += '\n';
    XXH64_update(state.get(), line.data(), line.size());
  }
  return fmt::format("{:016x}", XXH64_digest(state.get()));
}

std::string actor_label(const Event& event) {
  return event.process > 0 ? fmt::format("{}/{}", event.actor, event.process) : event.actor;
}

std::string_view to_string(JobState state) { return job_state_names.at(static_cast<std::size_t>(state)); }

}  // namespace halfsent
