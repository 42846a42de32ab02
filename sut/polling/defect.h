// Seeded defects: how real systems go wrong, each a few lines beside the right ones. ../polling/defects.toml says what
// each does. Without --defect the system is right.
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>

namespace reference {

enum class Defect {
  none,
};

// Turns the named defect on for this process. False: there is no such defect.
bool seed(std::string_view name);

bool has(Defect defect);

// The right text, or the wrong one of the defect that is on.
std::string_view unless(std::string_view right, std::initializer_list<std::pair<Defect, std::string_view>> wrong);

}  // namespace reference
