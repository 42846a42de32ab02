#include "harness/world/ledger_probe_sqlite_log.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace halfsent::sqlite {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A log of two commits that nobody has written back, of pages of 512 bytes.
class Logs : public testing::Test {
 protected:
  void SetUp() override {
    const fs::path folder = fs::path(testing::TempDir()) / ("halfsent-log-test-" + std::to_string(::getpid()));
    fs::create_directories(folder);
    SQLite::Database database((folder / "l.db").string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    database.exec("PRAGMA page_size = 512; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0");
    database.exec("CREATE TABLE t (v)");
    first_ = recover_log(bytes_of(folder / "l.db-wal")).frames;
    database.exec("INSERT INTO t VALUES (zeroblob(2000))");
    log_ = bytes_of(folder / "l.db-wal");
    all_ = recover_log(log_).frames;
    fs::remove_all(folder);
  }

  std::string log_;
  std::uint32_t first_ = 0;  // frames of the first commit
  std::uint32_t all_ = 0;
};

constexpr std::size_t frame_bytes = 24 + 512;

TEST_F(Logs, EveryWholeCommitIsFound) {
  EXPECT_GT(first_, 0U);
  EXPECT_GT(all_, first_ + 1);
  EXPECT_EQ(log_.size(), 32 + all_ * frame_bytes);
  EXPECT_EQ(recover_log(log_).page_size_bytes, 512U);
  EXPECT_EQ(recover_log(log_).salt, log_.substr(16, 8));
}

TEST_F(Logs, ACommitThatIsCutShortDoesNotCount) {
  EXPECT_EQ(recover_log(log_.substr(0, log_.size() - 1)).frames, first_);
  EXPECT_EQ(recover_log(log_.substr(0, log_.size() - frame_bytes)).frames, first_);
}

TEST_F(Logs, AByteThatIsWrongEndsTheLogBeforeItsCommit) {
  for (std::uint32_t frame = 0; frame < all_; ++frame) {
    for (const std::size_t at : {0U, 5U, 9U, 17U, 24U, 300U}) {
      std::string damaged = log_;
      damaged[32 + frame * frame_bytes + at] ^= 1;
      EXPECT_EQ(recover_log(damaged).frames, frame < first_ ? 0 : first_) << frame << " " << at;
    }
  }
}

TEST_F(Logs, WithoutAValidHeaderNothingCounts) {
  for (std::size_t at = 0; at < 32; ++at) {
    std::string damaged = log_;
    damaged[at] ^= 4;
    EXPECT_EQ(recover_log(damaged).frames, 0U) << at;
  }
  EXPECT_EQ(recover_log("").frames, 0U);
  EXPECT_EQ(recover_log(log_.substr(0, 31)).frames, 0U);
}

}  // namespace
}  // namespace halfsent::sqlite
