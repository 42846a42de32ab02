#include "harness/intercept/filter.h"

#include <fcntl.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "harness/intercept/syscall_table.h"

namespace halfsent {
namespace {

Error filter_error(const char* what, int error) {
  return Error{.message = std::string("cannot build the seccomp filter: ") + what + ": " + std::strerror(error),
               .mend = "install libseccomp 2.5 or newer"};
}

}  // namespace

Result<std::vector<sock_filter>> build_filter(unsigned exit_that_passes) {
  std::unique_ptr<void, decltype(&seccomp_release)> context(seccomp_init(SCMP_ACT_ALLOW), &seccomp_release);
  if (context == nullptr) return filter_error("seccomp_init", ENOMEM);
  for (const SyscallRule& rule : syscall_table()) {
    int failed = 0;
    if (rule.number == SYS_fcntl) {
      // Only the commands about locks: fcntl is called for much else, and often.
      for (const auto command : {F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW}) {
        const scmp_arg_cmp is_lock{1, SCMP_CMP_MASKED_EQ, 0xffffffff, static_cast<scmp_datum_t>(command)};
        failed =
            failed != 0 ? failed : seccomp_rule_add_array(context.get(), SCMP_ACT_NOTIFY, rule.number, 1, &is_lock);
      }
    } else if (rule.number == SYS_exit_group) {
      // A start that fails leaves while nobody answers yet.
      const scmp_arg_cmp is_worker{0, SCMP_CMP_NE, exit_that_passes, 0};
      failed = seccomp_rule_add_array(context.get(), SCMP_ACT_NOTIFY, rule.number, 1, &is_worker);
    } else {
      failed = seccomp_rule_add(context.get(), SCMP_ACT_NOTIFY, rule.number, 0);
    }
    if (failed != 0) return filter_error(std::string(rule.name).c_str(), -failed);
  }
  // A binary tree instead of a list: every call of the workers goes through it.
  (void)seccomp_attr_set(context.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
  const int fd = ::memfd_create("filter", MFD_CLOEXEC);
  if (fd < 0) return filter_error("memfd_create", errno);
  const int failed = seccomp_export_bpf(context.get(), fd);
  const off_t size = ::lseek(fd, 0, SEEK_END);
  std::vector<sock_filter> program(static_cast<std::size_t>(size) / sizeof(sock_filter));
  const ssize_t got = ::pread(fd, program.data(), program.size() * sizeof(sock_filter), 0);
  ::close(fd);
  if (failed != 0 || got != size) return filter_error("seccomp_export_bpf", failed != 0 ? -failed : EIO);
  return program;
}

}  // namespace halfsent
