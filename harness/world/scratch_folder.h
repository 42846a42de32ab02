// A private folder of ours in memory, gone when we are: by ourselves, or reclaimed by the next start after a SIGKILL.
#pragma once

#include <filesystem>

#include "harness/core/error.h"
#include "harness/process/unique_fd.h"

namespace halfsent {

// Owns its folder. Others know it as used by a lock that the kernel drops when we die.
class ScratchFolder {
 public:
  // Removes what earlier runs of ours that were killed have left, then makes a new folder.
  static Result<ScratchFolder> create();
  ScratchFolder(ScratchFolder&& other) noexcept = default;
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();

  // Removes the folders of owners that are dead. create() does it too.
  static void reclaim();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  ScratchFolder(std::filesystem::path path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::filesystem::path path_;
  UniqueFd lock_;
};

}  // namespace halfsent
