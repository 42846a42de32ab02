#include "harness/cli/init_toml.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/cli/init_schema.h"
#include "harness/core/plan.h"
#include "harness/core/text.h"

namespace halfsent::init {
namespace {

std::string in_quotes(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string list(const std::vector<std::string>& words) {
  std::string text = "[";
  for (std::size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : ", ") + in_quotes(words[i]);
  return text + "]";
}

// A string of several lines; the JSON escapes are TOML's too.
std::string long_text(std::string_view text) {
  std::string out = "\"\"\"\n";
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line;
    append_json_string(line, text.substr(0, end));
    out.append(line, 1, line.size() - 2);
    out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out + "\"\"\"";
}

class Page {
 public:
  void line(const std::string& text = {}) {
    written_.text += text + "\n";
    lines_ += 1 + static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  }
  void comment(const std::string& text) { line("# " + text); }
  // The first line goes to the terminal too.
  void edit(const std::string& what, const std::vector<std::string>& more = {}) {
    written_.edits.push_back({.line = lines_ + 1, .what = what});
    line("# EDIT: " + what);
    for (const std::string& one : more) line("#   " + one);
  }
  [[nodiscard]] Written take() { return std::move(written_); }

 private:
  Written written_;
  int lines_ = 0;
};

void write_head(Page& page, const Sketch& sketch) {
  page.line("[scenario]");
  page.line("name = " + in_quotes(sketch.name));
  page.line("description = " + in_quotes("Made by halfsent init from a trial run of the worker."));
  page.edit(
      "on_doubt: what does your product choose when the answer to a send is lost?",
      {"\"flag\" (here, the strict one): it is not sent again; a person can see it. Whatever is sent twice counts",
       "as a duplicate. \"retry\": it is sent again, and a duplicate after real doubt is accepted."});
  page.line("on_doubt = \"flag\"");
  page.line();
}

Nanoseconds lease_of(const Sketch& sketch) {
  if (sketch.ledger.lease) return *sketch.ledger.lease;
  if (sketch.measured_lease) {
    const auto up = std::chrono::ceil<std::chrono::seconds>(*sketch.measured_lease);
    return std::max(up, std::chrono::seconds{1});
  }
  return std::chrono::seconds{60};
}

void write_world(Page& page, const Sketch& sketch) {
  const Nanoseconds lease = lease_of(sketch);
  page.line("[world]");
  page.line("files = " + list(sketch.files));
  if (sketch.ledger.lease) {
    page.comment(fmt::format("A claim set {} so far ahead.", printable(sketch.ledger.lease_column)));
  } else if (sketch.measured_lease) {
    page.comment("After a kill the job was claimed again so much later.");
  } else if (sketch.ledger.claim_seen) {
    page.edit("lease: how long does a claim last? After a kill nobody took the job again in the trial");
  } else {
    page.comment("No claim was seen, so this only says how long a hold is.");
  }
  page.line("lease = " + in_quotes(format_duration(lease)));
  const Nanoseconds horizon = std::max<Nanoseconds>(std::chrono::minutes{30}, 10 * lease);
  page.line("horizon = " + in_quotes(format_duration(horizon)));
  page.line("quiet = " + in_quotes(format_duration(lease + std::chrono::seconds{30})));
  page.line();
}

std::string rows_query(const Sketch& sketch) {
  const LedgerGuess& guess = sketch.ledger;
  std::string columns =
      guess.key_sql + " AS key, " + (guess.state_sql.empty() ? std::string("'?'") : guess.state_sql) + " AS state";
  if (!guess.attempts_column.empty()) columns += ", " + sql_name(guess.attempts_column) + " AS attempts";
  if (!guess.lease_column.empty()) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(lease_of(sketch)).count();
    const std::string length = guess.lease_is_start ? fmt::format(" + {}", seconds) : "";
    columns += ", " + guess.lease_sql + length + " AS lease_until";
  }
  return "SELECT " + columns + " FROM " + sql_name(guess.table);
}

std::vector<std::string> or_else(const std::vector<std::string>& words, const char* otherwise) {
  return words.empty() ? std::vector<std::string>{otherwise} : words;
}

void write_states(Page& page, const Sketch& sketch) {
  const LedgerGuess& guess = sketch.ledger;
  std::string missing;
  if (guess.state_sql.empty()) missing = "which column has a job's state? rows gives '?' for now";
  if (missing.empty() && guess.delivered.empty()) missing = "states: which word says that a job is delivered?";
  if (!missing.empty()) page.edit(missing + "; the trial saw no job delivered");
  if (missing.empty() && guess.leased.empty())
    page.comment("No state of a claim was seen: \"(claimed)\" stands for none.");
  if (!guess.unclear.empty()) {
    std::string words;
    for (const std::string& word : guess.unclear) words += (words.empty() ? "" : ", ") + in_quotes(word);
    page.edit("states: put " + words + " where it belongs; a word that is listed nowhere counts as lost");
  }
  page.line(fmt::format("states = {{ pending = {}, leased = {}, delivered = {}{} }}", list(guess.pending),
                        list(or_else(guess.leased, "(claimed)")), list(or_else(guess.delivered, "(delivered)")),
                        guess.flagged.empty() ? "" : ", flagged = " + list(guess.flagged)));
  if (guess.flagged.empty())
    page.comment("No state for a job that is given up was seen; add flagged = [...] if there is one.");
}

void write_ledger(Page& page, const Sketch& sketch) {
  page.line("[ledger]");
  page.line("kind = \"sqlite\"");
  page.line("path = " + in_quotes(sketch.ledger_path));
  page.comment("The ledger as it was, without its jobs.");
  page.line("setup = " + in_quotes(sketch.setup_file));
  if (sketch.jobs_made_up)
    page.edit("setup_sql: these jobs are made up, because the ledger has none to send; give your own");
  else
    page.comment("Its jobs. Each makes a sweep longer; two are enough for most.");
  page.line("setup_sql = " + long_text(sketch.jobs));
  page.line("rows = " + in_quotes(rows_query(sketch)));
  write_states(page, sketch);
  page.line();
}

void write_downstream(Page& page, const Sketch& sketch) {
  page.line("[downstream]");
  if (!sketch.port_seen)
    page.edit("port: the worker connected nowhere in the trial; let it send to http://127.0.0.1 and this port");
  if (sketch.port_seen && !sketch.requests_seen)
    page.edit("port: the worker connected, but sent no HTTP request; let it send to http://, not https://");
  page.line(fmt::format("port = {}", sketch.port));
  const bool keyed = sketch.key.key.has_value();
  if (sketch.requests_seen && !keyed)
    page.comment("No request of the trial carried an idempotency key; this is the usual place.");
  page.line("key = " + in_quotes(keyed ? to_text(*sketch.key.key) : "header Idempotency-Key"));
  if (!sketch.key.job.empty()) {
    std::vector<std::string> places;
    for (const KeySource& source : sketch.key.job) places.push_back(to_text(source));
    page.line("job = " + list(places));
  } else if (sketch.requests_seen && !keyed) {
    page.edit("job: no request of the trial names its job; say where it is: \"json MEMBER\", \"path /send/{key}\"");
    page.line("job = []");
  }
  page.edit("honours_key: does your downstream ignore a second request with the same key?",
            {"false (here, the strict one): each request has an effect of its own. true: only if it is really so,",
             "because then a second send with the same key counts as harmless."});
  page.line("honours_key = false");
  page.line();
}

void write_actor(Page& page, const Sketch& sketch) {
  page.line("[[actor]]");
  page.line("name = \"worker\"");
  page.line("count = 2");
  page.comment("{actor} in it becomes worker-1, worker-2.");
  page.line("command = " + list(sketch.command));
  if (!sketch.env.empty()) {
    std::string pairs;
    for (const auto& [name, value] : sketch.env)
      pairs += (pairs.empty() ? "" : ", ") + in_quotes(name) + " = " + in_quotes(value);
    page.line("env = { " + pairs + " }");
  }
  page.comment("When it ends by itself it is started again, as a supervisor would.");
  page.line("on_exit = \"restart\"");
  page.line();
  page.line("[sweep]");
  page.line("faults = [\"kill\", \"hold\", \"drop\"]");
}

}  // namespace

Written write_scenario(const Sketch& sketch) {
  Page page;
  write_head(page, sketch);
  write_world(page, sketch);
  write_ledger(page, sketch);
  write_downstream(page, sketch);
  write_actor(page, sketch);
  return page.take();
}

}  // namespace halfsent::init
