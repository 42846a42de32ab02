#include "harness/process/sandbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>

#include "harness/process/test_support.h"

namespace halfsent {
namespace {

namespace fs = std::filesystem;

TEST(SandboxNetwork, AListenerMadeInTheNetworkServesTheWorldAlsoAfterAReset) {
  const auto sandbox = make_sandbox();
  ASSERT_TRUE(sandbox);
  const auto listening = sandbox->in_network([] { return listen_on(8080); });
  ASSERT_TRUE(listening) << listening.error().message;
  for (int execution = 0; execution < 2; ++execution) {
    LaunchSpec spec = shell("");
    spec.argv = {"bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8080; echo hello >&3"};
    const auto finished = run(*sandbox, spec);
    ASSERT_TRUE(finished);
    EXPECT_TRUE(finished->death.succeeded());
    const UniqueFd connection(accept4(listening->socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
    EXPECT_EQ(read_line(connection.get()), "hello");
    ASSERT_TRUE(sandbox->reset());
  }
}

TEST(SandboxNetwork, WorldsSideBySideMayUseTheSamePort) {
  const auto one = make_sandbox();
  const auto two = make_sandbox();
  ASSERT_TRUE(one && two);
  const auto first = one->in_network([] { return listen_on(8080); });
  const auto second = two->in_network([] { return listen_on(8080); });
  EXPECT_TRUE(first && second);
  EXPECT_FALSE(one->in_network([] { return listen_on(8080); }));
}

TEST(SandboxNetwork, TheHarnessStaysInItsOwnNetworkAlsoWhenAVisitThrows) {
  const auto sandbox = make_sandbox();
  ASSERT_TRUE(sandbox);
  const auto own = fs::read_symlink("/proc/thread-self/ns/net");
  const auto inside = sandbox->in_network(
      []() -> Result<std::string> { return fs::read_symlink("/proc/thread-self/ns/net").string(); });
  ASSERT_TRUE(inside);
  EXPECT_NE(*inside, own);
  EXPECT_THROW((void)sandbox->in_network([]() -> Result<void> { throw std::runtime_error("thrown in a visit"); }),
               std::runtime_error);
  EXPECT_EQ(fs::read_symlink("/proc/thread-self/ns/net"), own);
}

TEST(SandboxNetwork, AClosedConnectionLeavesNoTimeWait) {
  const auto sandbox = make_sandbox();
  ASSERT_TRUE(sandbox);
  ASSERT_TRUE(sandbox->facts().no_time_wait);
  const auto listening = sandbox->in_network([] { return listen_on(8080); });
  ASSERT_TRUE(listening);
  const auto client = sandbox->in_network([]() -> Result<UniqueFd> {
    UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = loopback(8080);
    if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      return Error{.message = std::strerror(errno)};
    }
    return fd;
  });
  ASSERT_TRUE(client) << client.error().message;
  const UniqueFd server(accept4(listening->socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
  // The side that closes first is the one that would wait.
  ASSERT_EQ(shutdown(client->get(), SHUT_WR), 0);
  EXPECT_EQ(drain(server.get()), "");
  ASSERT_EQ(shutdown(server.get(), SHUT_WR), 0);
  EXPECT_EQ(drain(client->get()), "");
  EXPECT_EQ(output_of(*sandbox, "grep -c ' 06 ' /proc/net/tcp || true"), "0\n");
}

}  // namespace
}  // namespace halfsent
