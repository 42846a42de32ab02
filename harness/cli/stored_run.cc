#include "harness/cli/stored_run.h"

#include <fmt/format.h>
#include <time.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace halfsent {
namespace {

namespace fs = std::filesystem;

Error cannot_write(const fs::path& path, const std::string& why) {
  return Error{.message = "cannot write " + path.string() + ": " + why, .mend = "choose another folder with --out"};
}

}  // namespace

Result<fs::path> make_run_folder(const fs::path& parent, const std::string& scenario, std::uint64_t seed) {
  const time_t now = ::time(nullptr);  // names a folder; decides nothing
  tm utc{};
  ::gmtime_r(&now, &utc);
  char stamp[32];
  ::strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &utc);
  const fs::path base = parent / scenario;
  std::error_code error;
  fs::create_directories(base, error);
  if (error) return cannot_write(base, error.message());
  fs::path folder;
  for (int n = 1; n < 1000; ++n) {
    folder = base / fmt::format("{}-{}{}", stamp, seed, n == 1 ? "" : "-" + std::to_string(n));
    if (fs::create_directory(folder, error)) break;
    if (error) return cannot_write(folder, error.message());
  }
  // A link that cannot be made is no reason to lose a run.
  fs::remove(base / "latest", error);
  fs::create_directory_symlink(folder.filename(), base / "latest", error);
  return folder;
}

Result<void> write_text(const fs::path& file, const std::string& text) {
  errno = 0;
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << text;
  out.flush();
  if (!out) return cannot_write(file, errno != 0 ? std::strerror(errno) : "unknown error");
  return {};
}

Result<std::string> read_text(const fs::path& file) {
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  if (in && in.peek() != std::ifstream::traits_type::eof()) text << in.rdbuf();
  if (in.bad() || !in.is_open() || !text)
    return Error{.code = ExitCode::usage,
                 .message = "cannot read " + file.string() + ": " + std::strerror(errno != 0 ? errno : EIO)};
  return text.str();
}

Result<void> store(const fs::path& folder, const std::string& name, const Execution& execution) {
  if (Result<void> written = write_text(folder / (name + ".history.jsonl"), to_json_lines(execution.history)); !written)
    return written;
  std::string output;
  for (const WorkerOutput& worker : execution.output) {
    output +=
        fmt::format("--- {} incarnation {}{}\n", worker.actor, worker.incarnation, worker.truncated ? " (cut)" : "");
    output += worker.text;
    if (!output.ends_with('\n')) output += '\n';
  }
  return write_text(folder / (name + ".output.txt"), output);
}

Result<History> load_history(const fs::path& file) {
  Result<std::string> text = read_text(file);
  if (!text) return text.error();
  Result<History> history = history_from_json_lines(*text);
  if (history) return history;
  Error error = history.error();
  error.file = file.string();
  return error;
}

}  // namespace halfsent
