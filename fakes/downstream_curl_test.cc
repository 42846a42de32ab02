// A client that is not ours: what curl makes of each answer.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "fakes/downstream.h"
#include "fakes/test_bench.h"

namespace halfsent {
namespace {

using ::testing::HasSubstr;
using namespace testing;

// curl's own exit codes.
constexpr int curl_ok = 0;
constexpr int curl_partial = 18;
constexpr int curl_got_nothing = 52;
constexpr int curl_receive_error = 56;

class Curl : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "halfsent-curl-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Runs curl while the bench pumps; gives its exit code, its output is in output_.
  int run(Bench& bench, std::vector<std::string> arguments) {
    const std::string output = folder_ / "output";
    std::vector<std::string> all{"curl", "-q", "--silent", "--noproxy", "*", "--max-time", "30", "--output", output};
    all.insert(all.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    argv.reserve(all.size() + 1);
    for (std::string& each : all) argv.push_back(each.data());
    argv.push_back(nullptr);
    pid_t pid = -1;
    const int error = posix_spawnp(&pid, "curl", nullptr, nullptr, argv.data(), environ);
    if (error != 0) {
      ADD_FAILURE() << "curl cannot be started (install curl): error " << error;
      return -1;
    }
    const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    EXPECT_GE(pidfd, 0);
    int status = 0;
    bool ended = false;
    EXPECT_TRUE(bench.pump_until([&] { return ended = ended || waitpid(pid, &status, WNOHANG) == pid; }, pidfd));
    if (!ended) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
    }
    close(pidfd);
    std::ifstream file(output, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    output_ = text.str();
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  static std::string url(const Bench& bench, std::string_view path = "/send") {
    return "http://127.0.0.1:" + std::to_string(bench.port()) + std::string(path);
  }

  std::filesystem::path folder_;
  std::string output_;
};

TEST_F(Curl, GetsAFullAnswer) {
  Bench bench(config_with(header_key()));
  bench.answer_all();
  EXPECT_EQ(run(bench, {"--fail", "-H", "Idempotency-Key: k 1", "-d", "body", url(bench)}), curl_ok);
  EXPECT_EQ(output_, R"({"status":"accepted"})");
  ASSERT_EQ(bench.arrivals.size(), 1u);
  EXPECT_EQ(bench.arrivals[0].key, "k 1");
  EXPECT_TRUE(bench.pump_until_no_connection());
}

TEST_F(Curl, SeesThatAHalfAnswerIsHalf) {
  Bench bench;
  bench.answer_all({.mode = AnswerMode::half});
  EXPECT_EQ(run(bench, {"-d", "body", url(bench)}), curl_partial);
  EXPECT_EQ(output_, R"({"status":)");
  EXPECT_TRUE(bench.pump_until_no_connection());
}

TEST_F(Curl, SeesADropAsAnEmptyReply) {
  Bench bench;
  bench.answer_all({.mode = AnswerMode::drop});
  EXPECT_EQ(run(bench, {"-d", "body", url(bench)}), curl_got_nothing);
  EXPECT_EQ(bench.arrivals.size(), 1u);
  EXPECT_TRUE(bench.pump_until_no_connection());
}

TEST_F(Curl, SeesAResetAsAReceiveError) {
  Bench bench;
  bench.answer_all({.mode = AnswerMode::reset});
  EXPECT_EQ(run(bench, {"-d", "body", url(bench)}), curl_receive_error);
  EXPECT_EQ(bench.arrivals.size(), 1u);
  EXPECT_TRUE(bench.pump_until_no_connection());
}

TEST_F(Curl, UploadsALargeBodyAfterContinue) {
  Bench bench;
  bench.answer_all();
  const std::string file = folder_ / "body";
  std::ofstream(file) << std::string(10u << 20, 'x');
  // The wait for "100 Continue" is longer than the time limit: without it, curl fails.
  EXPECT_EQ(run(bench, {"--fail", "--expect100-timeout", "60", "-H", "Expect: 100-continue", "--data-binary",
                        "@" + file, url(bench)}),
            curl_ok);
  EXPECT_EQ(bench.arrivals.size(), 1u);
}

TEST_F(Curl, UploadsInChunks) {
  Bench bench(config_with({.kind = KeySource::Kind::json, .where = "digest_key"}));
  bench.answer_all();
  EXPECT_EQ(run(bench, {"--fail", "-H", "Transfer-Encoding: chunked", "-d", R"({"digest_key":4187})", url(bench)}),
            curl_ok);
  ASSERT_EQ(bench.arrivals.size(), 1u);
  EXPECT_EQ(bench.arrivals[0].key, "4187");
}

TEST_F(Curl, AsksForTheHeaderAloneAndUsesTheConnectionAgain) {
  Bench bench;
  bench.answer_all();
  EXPECT_EQ(run(bench, {"--head", url(bench, "/1"), url(bench, "/2")}), curl_ok);
  ASSERT_EQ(bench.arrivals.size(), 2u);
  EXPECT_EQ(bench.arrivals[0].method, "HEAD");
  EXPECT_EQ(bench.arrivals[1].connection, 1u);
  EXPECT_EQ(bench.arrivals[1].index_on_connection, 1u);
}

TEST_F(Curl, SpeaksHttp10) {
  Bench bench;
  bench.answer_all();
  EXPECT_EQ(run(bench, {"--http1.0", "--fail", "-d", "body", url(bench)}), curl_ok);
  EXPECT_EQ(output_, R"({"status":"accepted"})");
}

TEST_F(Curl, ReadsTheRefusalOfABodyThatIsTooLarge) {
  DownstreamConfig config;
  config.max_body_bytes = 1000;
  Bench bench(config);
  const std::string file = folder_ / "body";
  std::ofstream(file) << std::string(5u << 20, 'x');
  EXPECT_EQ(run(bench, {"--dump-header", folder_ / "header", "-H", "Expect:", "--data-binary", "@" + file, url(bench)}),
            curl_ok);
  std::ifstream header(folder_ / "header");
  std::string line;
  std::getline(header, line);
  EXPECT_THAT(line, HasSubstr("413 Payload Too Large"));
  EXPECT_EQ(bench.bad.size(), 1u);
}

}  // namespace
}  // namespace halfsent
