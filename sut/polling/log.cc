#include "log.h"

#include <cstdio>

namespace reference {

void log(const std::string& name, const std::string& text) {
  std::fprintf(stderr, "%s: %s\n", name.c_str(), text.c_str());
}

std::string shown(const std::string& key) {
  constexpr char hex[] = "0123456789abcdef";
  std::string out = "'";
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte <= '~' && c != '\'' && c != '\\') {
      out += c;
    } else {
      out += {'\\', 'x', hex[byte >> 4], hex[byte & 15]};
    }
  }
  return out + "'";
}

}  // namespace reference
