// Prepares a new program image (after exec, before its first instruction of libc that matters).
//
// Time is normally read in the vDSO, without a system call that we could see; its functions are overwritten with the
// plain system calls. AT_RANDOM, from which libc takes its guards, is overwritten with bytes of ours.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <string>

namespace halfsent {

// REQUIRES: a thread of `pid` is parked. Returns an empty string, or what could not be done.
std::string prepare_image(pid_t pid, const std::array<std::byte, 16>& at_random);

}  // namespace halfsent
