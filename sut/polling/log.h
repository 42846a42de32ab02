// Lines for people, on standard error.
#pragma once

#include <string>

namespace reference {

// "worker-1: TEXT".
void log(const std::string& name, const std::string& text);

// A key as a log may show it, in quotes: control bytes and everything beyond ASCII are escaped.
std::string shown(const std::string& key);

}  // namespace reference
