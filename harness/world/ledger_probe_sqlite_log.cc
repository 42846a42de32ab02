#include "harness/world/ledger_probe_sqlite_log.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

namespace halfsent::sqlite {
namespace {

constexpr std::size_t kHeaderBytes = 32;
constexpr std::size_t kHeaderCheckedBytes = 24;
constexpr std::size_t kFrameHeaderBytes = 24;
constexpr std::size_t kFrameCheckedBytes = 8;
constexpr std::size_t kSaltAt = 16;
constexpr std::size_t kSaltBytes = 8;
constexpr std::uint32_t kMagic = 0x377f0682;  // the last bit: words of the checksum are big-endian
constexpr std::uint32_t kVersion = 3007000;
constexpr std::uint32_t kMaxPageBytes = 65536;

std::uint32_t word(const char* at, bool big_endian) {
  std::uint32_t value = 0;
  std::memcpy(&value, at, sizeof value);
  const bool native_is_big = std::endian::native == std::endian::big;
  return native_is_big == big_endian ? value : __builtin_bswap32(value);
}

struct Checksum {
  bool big_endian = false;
  std::uint32_t first = 0;
  std::uint32_t second = 0;

  // A whole number of pairs of words.
  void add(std::string_view bytes) {
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      first += word(bytes.data() + at, big_endian) + second;
      second += word(bytes.data() + at + 4, big_endian) + first;
    }
  }
  // As the two words at `at` say, which are always big-endian.
  [[nodiscard]] bool is_at(const char* at) const { return word(at, true) == first && word(at + 4, true) == second; }
};

}  // namespace

WalIndex recover_log(std::string_view log) {
  WalIndex found;
  if (log.size() < kHeaderBytes) return found;
  const std::uint32_t magic = word(log.data(), true);
  const std::uint32_t page_size = word(log.data() + 8, true);
  if ((magic & ~1u) != kMagic || word(log.data() + 4, true) != kVersion) return found;
  if (!std::has_single_bit(page_size) || page_size < 512 || page_size > kMaxPageBytes) return found;
  Checksum sum{.big_endian = (magic & 1u) != 0};
  sum.add(log.substr(0, kHeaderCheckedBytes));
  if (!sum.is_at(log.data() + kHeaderCheckedBytes)) return found;

  found.page_size_bytes = page_size;
  found.salt = std::string(log.substr(kSaltAt, kSaltBytes));
  std::size_t at = kHeaderBytes;
  for (std::uint32_t number = 1; at + kFrameHeaderBytes + page_size <= log.size(); ++number) {
    const char* frame = log.data() + at;
    if (log.substr(at + 8, kSaltBytes) != found.salt || word(frame, true) == 0) break;
    sum.add(log.substr(at, kFrameCheckedBytes));
    sum.add(log.substr(at + kFrameHeaderBytes, page_size));
    if (!sum.is_at(frame + kSaltAt)) break;
    if (const std::uint32_t pages = word(frame + 4, true); pages != 0) {
      found.frames = number;
      found.pages = pages;
    }
    at += kFrameHeaderBytes + page_size;
  }
  return found;
}

}  // namespace halfsent::sqlite
