#include "harness/world/scratch_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace halfsent {
namespace {

namespace fs = std::filesystem;

constexpr const char* parent = "/dev/shm";
constexpr std::string_view prefix = "halfsent-scratch-";

UniqueFd lock_folder(const fs::path& folder) {
  UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) fd.reset();
  return fd;
}

}  // namespace

void ScratchFolder::reclaim() {
  std::error_code ignored;
  std::vector<fs::path> stale;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    struct stat info {};
    if (!entry.path().filename().string().starts_with(prefix) || ::lstat(entry.path().c_str(), &info) != 0) continue;
    if (S_ISDIR(info.st_mode) && info.st_uid == ::geteuid()) stale.push_back(entry.path());
  }
  for (const fs::path& folder : stale)
    if (lock_folder(folder)) fs::remove_all(folder, ignored);  // nobody holds it: its owner is dead
}

Result<ScratchFolder> ScratchFolder::create() {
  reclaim();
  std::string name = std::string(parent) + "/" + std::string(prefix) + "XXXXXX";
  if (::mkdtemp(name.data()) == nullptr)
    return Error{.message = "cannot make a folder in /dev/shm: " + std::string(std::strerror(errno)),
                 .mend = "mount a tmpfs on /dev/shm"};
  UniqueFd lock = lock_folder(name);
  if (!lock) return Error{.message = "cannot lock " + name + ": " + std::strerror(errno)};
  return ScratchFolder(name, std::move(lock));
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (lock_) fs::remove_all(path_, ignored);
}

}  // namespace halfsent
