// For tests: a process of its own that works on an SQLite file, driven step by step, and that can be made to die by
// SIGKILL right after a chosen write. (In the test's own process the probe would drop the locks of a connection by
// closing a file.)
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "harness/process/unique_fd.h"

namespace halfsent::testing {

class SqliteProcess {
 public:
  // Nothing is opened before the first run(). Must be created on the test's only thread.
  explicit SqliteProcess(std::filesystem::path database);
  SqliteProcess(const SqliteProcess&) = delete;
  SqliteProcess& operator=(const SqliteProcess&) = delete;
  ~SqliteProcess();  // SIGKILL

  // The columns of a result joined by '|', a line for each row; "error: ..." when SQLite refuses. Nothing: the process
  // died.
  std::optional<std::string> run(const std::string& sql);

  // Closes the connection; the next run() opens it again, on `database` if given.
  void close();
  void open_next(const std::filesystem::path& database);

  // Dies right after its n-th write, truncation or unlink from now on.
  void die_after_effect(int n);

  void kill();

 private:
  std::optional<std::string> ask(char what, const std::string& argument = {});

  UniqueFd socket_;
  pid_t pid_ = -1;
};

// A folder that goes with the object: world/ for a ledger, scratch/ for the probe, copy/ for copies of the test.
class TestFolder {
 public:
  TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder();

  [[nodiscard]] std::filesystem::path world() const { return root_ / "world"; }
  [[nodiscard]] std::filesystem::path scratch() const { return root_ / "scratch"; }
  [[nodiscard]] std::filesystem::path ledger() const { return world() / "ledger.db"; }

  // Copies the ledger without its wal-index, as if every process had died, and returns the copied database.
  [[nodiscard]] std::filesystem::path copy_as_after_a_crash() const;

 private:
  std::filesystem::path root_;
};

// Names and contents of the files in `folder`.
std::map<std::string, std::string> files_in(const std::filesystem::path& folder);

}  // namespace halfsent::testing
