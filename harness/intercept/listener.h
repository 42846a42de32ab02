// The kernel's side channel: notifications of stopped threads, and our answers.
// Functions on a listener descriptor that somebody else owns. Threads: one per descriptor.
#pragma once

#include <linux/seccomp.h>

#include <cstdint>
#include <optional>

namespace halfsent {

// Tells the kernel that worker and harness share a CPU, so that one hands it to the other (Linux 6.6 and newer; else
// nothing happens).
void wake_on_this_cpu(int listener);

// The next notification. nullopt: the thread died or was interrupted before we could look (try again when readable).
std::optional<seccomp_notif> receive(int listener);

// The stopped thread still waits for our answer to this notification: what was read of its memory was its own.
bool still_waiting(int listener, std::uint64_t id);

// Lets the kernel run the call as it was made. False: the thread is gone.
bool let_continue(int listener, std::uint64_t id);

// The call returns `value`, or fails with `error` (a positive errno) when that is not 0. False: the thread is gone.
bool answer(int listener, std::uint64_t id, std::int64_t value, int error = 0);

// Puts our descriptor `ours` into the stopped process and lets its call return the new number. False: gone or no room.
bool answer_with_descriptor(int listener, std::uint64_t id, int ours, bool close_on_exec);

// Puts our descriptor `ours` into the stopped process as number `theirs`, in place of what was there; the call stays
// unanswered. False: gone.
bool install_descriptor(int listener, std::uint64_t id, int ours, int theirs);

}  // namespace halfsent
