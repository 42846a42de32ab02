#include "harness/cli/init_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/tokenizer.hpp>
#include <fstream>
#include <sstream>

#include "harness/core/text.h"

namespace halfsent::init {
namespace {

namespace fs = std::filesystem;

Error usage(std::string message, std::string mend) {
  return {.code = ExitCode::usage, .message = std::move(message), .mend = std::move(mend)};
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool goes_up(const fs::path& path) { return std::ranges::find(path, fs::path("..")) != path.end(); }

// "a.db", "sqlite:///a.db" (which is relative) and "--ledger=a.db" all name a.db.
std::string last_of(std::string word) {
  if (const std::size_t equals = word.rfind('='); equals != std::string::npos) word.erase(0, equals + 1);
  if (const std::size_t scheme = word.find("://"); scheme != std::string::npos)
    word.erase(0, scheme + (word.starts_with("sqlite:///") ? 4 : 3));
  return word;
}

Result<void> read_env(const InitOptions& options, Input& input) {
  for (const std::string& pair : options.env) {
    const std::size_t equals = pair.find('=');
    if (equals == 0 || equals == std::string::npos)
      return usage(fmt::format("--env {} is no variable", printable(pair)), "write --env NAME=VALUE");
    input.env[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  return {};
}

// Whatever may name a file: the words of the command, of a shell's too, and the values of variables.
std::vector<std::string> words_of(const Input& input) {
  std::vector<std::string> words = input.command;
  if (words.size() == 3 && words[1] == "-c") {
    std::istringstream inner(words[2]);
    for (std::string word; inner >> word;) words.push_back(word);
  }
  for (const auto& [name, value] : input.env) words.push_back(value);
  return words;
}

// In the order: the words of the command that are files below `folder`; all of it when one of them is in a folder of
// its own, since single files lose theirs.
std::vector<fs::path> files_named(const std::vector<std::string>& words, const fs::path& folder,
                                  const fs::path& ledger) {
  std::vector<fs::path> files;
  for (const std::string& word : words) {
    const fs::path path = fs::path(word).lexically_normal();
    if (path.is_absolute() || goes_up(path) || !is_file(folder / path) || path.filename() == ledger.filename())
      continue;
    if (path.has_parent_path()) return {folder};
    const fs::path file = folder / path;
    if (std::ranges::find(files, file) == files.end()) files.push_back(file);
  }
  return files;
}

// Where the worker looks for its ledger: as the command says, or else where it lies in the worker's folder.
Result<std::string> path_in_world(const std::vector<std::string>& words, const fs::path& ledger,
                                  const fs::path& folder) {
  const fs::path absolute = fs::absolute(ledger).lexically_normal();
  for (const std::string& word : words) {
    const fs::path named = fs::path(last_of(word)).lexically_normal();
    if (word.find(absolute.string()) != std::string::npos ||
        (named.is_absolute() && named.filename() == ledger.filename()))
      return usage(fmt::format("the command names the live ledger {}, which a trial must not touch", printable(word)),
                   fmt::format("let the worker take a path such as {}: it runs in a folder of its own, with a copy",
                               printable(ledger.filename().string())));
    if (named.filename() != ledger.filename() || named.is_absolute()) continue;
    if (goes_up(named))
      return usage(fmt::format("the command looks for the ledger outside its folder: {}", printable(word)),
                   "let the worker take a path without ..: it runs in a folder of its own, with a copy");
    return named.string();
  }
  const fs::path below = absolute.lexically_relative(folder);
  return below.empty() || goes_up(below) ? ledger.filename().string() : below.string();
}

std::string stem_of_worker(const Input& input) {
  for (const std::string& word : input.command) {
    const fs::path path(word);
    for (const fs::path& file : input.files)
      if (file.filename() == path.filename() || is_file(file / path)) return path.stem().string();
  }
  return "worker";
}

Result<void> choose_output(const InitOptions& options, Input& input) {
  input.output = options.output.empty() ? fs::path(stem_of_worker(input) + ".toml") : options.output;
  std::error_code ignored;
  const fs::path folder = fs::absolute(input.output).parent_path();
  if (!fs::is_directory(folder, ignored))
    return usage(fmt::format("there is no folder {}", printable(folder.string())), "make it, or give another --output");
  input.name = input.output.stem().string();
  for (char& c : input.name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-' && c != '.') c = '_';
  input.setup = input.output;
  input.setup.replace_extension(".setup.sql");
  for (const fs::path& file : {input.output, input.setup})
    if (fs::exists(file, ignored))
      return usage(fmt::format("{} is there already and is not overwritten", printable(file.string())),
                   "remove it, or give another name with --output");
  return {};
}

Result<void> check_ledger(const fs::path& ledger) {
  std::error_code ignored;
  if (!fs::exists(ledger, ignored)) return {};  // the worker may make it
  if (!is_file(ledger))
    return usage(fmt::format("--ledger {} is no file", printable(ledger.string())), "give the SQLite file of the jobs");
  std::ifstream in(ledger, std::ios::binary);
  char head[16] = {};
  in.read(head, sizeof head);
  if (in.gcount() != 0 && std::string_view(head, sizeof head) != std::string_view("SQLite format 3\0", sizeof head))
    return usage(fmt::format("the ledger {} is no SQLite database", printable(ledger.string())),
                 "give the SQLite file of the jobs; an encrypted one cannot be read");
  return {};
}

}  // namespace

Result<std::vector<std::string>> split_command(const std::string& command) {
  if (command.find_first_of("|&;<>()$`") != std::string::npos) return std::vector<std::string>{"sh", "-c", command};
  try {
    const boost::tokenizer<boost::escaped_list_separator<char>> parts(
        command, boost::escaped_list_separator<char>("\\", " \t\n", "\"'"));
    std::vector<std::string> words;
    for (const std::string& part : parts)
      if (!part.empty()) words.push_back(part);
    if (!words.empty()) return words;
  } catch (const boost::escaped_list_error&) {
    return std::vector<std::string>{"sh", "-c", command};  // an escape of the shell's
  }
  return usage("--command is empty", "write it as in a shell: --command \"python3 worker.py\"");
}

Result<Input> read_input(const InitOptions& options) {
  Input input{.ledger = options.ledger};
  Result<std::vector<std::string>> command = split_command(options.command);
  if (!command) return command.error();
  input.command = std::move(*command);
  if (Result<void> read = read_env(options, input); !read) return read.error();
  if (Result<void> good = check_ledger(options.ledger); !good) return good.error();
  std::error_code ignored;
  if (!options.files.empty() && !fs::is_directory(options.files, ignored))
    return usage(fmt::format("--files {} is no folder", printable(options.files.string())),
                 "give the folder that the worker runs in");
  const fs::path folder = fs::weakly_canonical(options.files.empty() ? fs::path(".") : options.files, ignored);
  Result<std::string> inside = path_in_world(words_of(input), options.ledger, folder);
  if (!inside) return inside.error();
  input.ledger_path = std::move(*inside);
  input.files =
      options.files.empty() ? files_named(words_of(input), folder, options.ledger) : std::vector<fs::path>{folder};
  if (Result<void> chosen = choose_output(options, input); !chosen) return chosen.error();
  return input;
}

}  // namespace halfsent::init
