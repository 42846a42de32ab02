#include "harness/process/sandbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>

#include <functional>

#include "harness/process/check_child.h"
#include "harness/process/test_support.h"

namespace halfsent {
namespace {

// Result of a body that runs in a child with system calls denied (an error becomes `found` and `mend`).
CheckResult create_in_child(const std::function<bool()>& prepare) {
  return run_in_child("sandbox", [&]() -> CheckResult {
    if (!prepare()) return {"sandbox", CheckState::warn, "the test could not prepare its child", ""};
    auto sandbox = Sandbox::create();
    if (!sandbox) return {"sandbox", CheckState::fail, sandbox.error().message, sandbox.error().mend};
    std::string found = (*sandbox)->facts().user_namespace ? "in a user namespace: " : "as root: ";
    for (int execution = 0; execution < 2; ++execution) {
      found += output_of(**sandbox, "echo $$ > pid; cat pid; uname -n");
      const auto listening = (*sandbox)->in_network([] { return listen_on(8080); });
      if (!listening) return {"sandbox", CheckState::fail, listening.error().message, ""};
      if (auto reset = (*sandbox)->reset(); !reset) return {"sandbox", CheckState::fail, reset.error().message, ""};
    }
    return {"sandbox", CheckState::ok, found, ""};
  });
}

TEST(SandboxUnprivileged, WorksForAnUnprivilegedUserInAUserNamespace) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP()
      << "ThreadSanitizer runs a thread of its own, and only a single-threaded process can enter a user namespace";
#endif
  const CheckResult result = create_in_child([] {
    constexpr uid_t kNobody = 65534;
    if (geteuid() != 0) return true;
    // Changing the user hides /proc/self from itself; a process that was started by that user does not have this.
    return setresgid(kNobody, kNobody, kNobody) == 0 && setresuid(kNobody, kNobody, kNobody) == 0 &&
           prctl(PR_SET_DUMPABLE, 1) == 0;
  });
  EXPECT_EQ(result.state, CheckState::ok) << result.found << " " << result.mend;
  EXPECT_EQ(result.found, "in a user namespace: 1001\nworld\n1001\nworld\n");
}

TEST(SandboxRefused, ARefusedNamespaceIsNamedWithItsMend) {
  const CheckResult result = create_in_child([] {
    return deny({{.call = SYS_clone, .mask = CLONE_NEWNET, .wanted = CLONE_NEWNET},
                 {.call = SYS_unshare, .mask = CLONE_NEWNET, .wanted = CLONE_NEWNET}});
  });
  EXPECT_EQ(result.state, CheckState::fail);
  EXPECT_EQ(result.found,
            "cannot make the namespaces of a world: Operation not permitted (refused: network namespace: Operation not "
            "permitted)");
  EXPECT_THAT(result.mend, testing::HasSubstr("--cap-add SYS_ADMIN"));
}

TEST(SandboxRefused, ARefusedMountOfProcIsNamedWithItsMend) {
  const CheckResult result = create_in_child([] {
    constexpr auto kFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
    return deny({{.call = SYS_mount, .argument = 3, .mask = ~std::uint64_t{0}, .wanted = kFlags}});
  });
  EXPECT_EQ(result.state, CheckState::fail);
  EXPECT_EQ(result.found, "the world's init failed at mounting /proc: Operation not permitted");
  EXPECT_THAT(result.mend, testing::HasSubstr("systempaths=unconfined"));
}

TEST(SandboxRefused, ARefusedTmpfsIsNamedWithItsMend) {
  const CheckResult result = create_in_child([] {
    constexpr auto kFlags = MS_NOSUID | MS_NODEV;
    return deny({{.call = SYS_mount, .argument = 3, .mask = ~std::uint64_t{0}, .wanted = kFlags}});
  });
  EXPECT_EQ(result.found, "the world's init failed at mounting a tmpfs on /dev/shm: Operation not permitted");
  EXPECT_THAT(result.mend, testing::HasSubstr("/dev/shm must exist"));
}

}  // namespace
}  // namespace halfsent
