#include "harness/intercept/image.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace halfsent {
namespace {

struct Patch {
  std::uint64_t offset;
  std::array<unsigned char, 8> code;
};

// mov $number,%eax; syscall; ret
constexpr std::array<unsigned char, 8> plain_call(long number) {
  return {0xb8, static_cast<unsigned char>(number), static_cast<unsigned char>(number >> 8), 0, 0, 0x0f, 0x05, 0xc3};
}

// mov $-ENOSYS,%rax; ret
constexpr std::array<unsigned char, 8> no_such_call = {0x48, 0xc7, 0xc0, 0xda, 0xff, 0xff, 0xff, 0xc3};

struct Replacement {
  std::string_view symbol;
  std::array<unsigned char, 8> code;
};
constexpr Replacement replacements[] = {
    {"__vdso_clock_gettime", plain_call(SYS_clock_gettime)},
    {"__vdso_gettimeofday", plain_call(SYS_gettimeofday)},
    {"__vdso_time", plain_call(SYS_time)},
    {"__vdso_clock_getres", plain_call(SYS_clock_getres)},
    {"__vdso_getrandom", no_such_call},
};

class RemoteFile {
 public:
  RemoteFile(pid_t pid, const char* name, int flags)
      : fd_(::open(("/proc/" + std::to_string(pid) + "/" + name).c_str(), flags | O_CLOEXEC)) {}
  ~RemoteFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  RemoteFile(const RemoteFile&) = delete;
  RemoteFile& operator=(const RemoteFile&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

// The vDSO's dynamic symbols that we replace. `image` is the vDSO as loaded.
std::vector<Patch> find_patches(const std::vector<char>& image) {
  std::vector<Patch> patches;
  Elf64_Ehdr header;
  std::memcpy(&header, image.data(), sizeof header);
  const auto section = [&](unsigned index) {
    Elf64_Shdr s;
    std::memcpy(&s, image.data() + header.e_shoff + index * sizeof s, sizeof s);
    return s;
  };
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr symbols = section(i);
    if (symbols.sh_type != SHT_DYNSYM) continue;
    const char* names = image.data() + section(symbols.sh_link).sh_offset;
    for (std::uint64_t at = 0; at < symbols.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, image.data() + symbols.sh_offset + at, sizeof symbol);
      for (const Replacement& r : replacements)
        if (r.symbol == names + symbol.st_name) patches.push_back({symbol.st_value, r.code});
    }
  }
  return patches;
}

}  // namespace

std::string prepare_image(pid_t pid, const std::array<std::byte, 16>& at_random) {
  const RemoteFile auxiliary(pid, "auxv", O_RDONLY);
  Elf64_auxv_t entries[64];
  const ssize_t got = ::read(auxiliary.fd(), entries, sizeof entries);
  if (got <= 0) return "cannot read /proc/PID/auxv";
  std::uint64_t vdso = 0;
  std::uint64_t random = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(got) / sizeof entries[0]; ++i) {
    if (entries[i].a_type == AT_SYSINFO_EHDR) vdso = entries[i].a_un.a_val;
    if (entries[i].a_type == AT_RANDOM) random = entries[i].a_un.a_val;
  }
  const RemoteFile memory(pid, "mem", O_RDWR);
  if (memory.fd() < 0) return "cannot open /proc/PID/mem";
  if (random != 0 && ::pwrite(memory.fd(), at_random.data(), at_random.size(), static_cast<off_t>(random)) != 16)
    return "cannot overwrite AT_RANDOM";
  if (vdso == 0) return {};  // no vDSO: every clock read is a system call already
  // One kernel, one vDSO: its symbols are looked up once.
  static const std::vector<Patch> patches = [&] {
    std::vector<char> image(2 * 4096);
    const ssize_t n = ::pread(memory.fd(), image.data(), image.size(), static_cast<off_t>(vdso));
    if (n < static_cast<ssize_t>(image.size())) {
      image.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    }
    return image.size() < 4096 ? std::vector<Patch>{} : find_patches(image);
  }();
  if (patches.empty()) return "the vDSO has no symbols that we know";
  for (const Patch& patch : patches)
    if (::pwrite(memory.fd(), patch.code.data(), patch.code.size(), static_cast<off_t>(vdso + patch.offset)) != 8)
      return "cannot overwrite the vDSO";
  return {};
}

}  // namespace halfsent
