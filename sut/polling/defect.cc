#include "defect.h"

namespace reference {
namespace {

struct Named {
  std::string_view name;
  Defect defect;
};

constexpr Named names[] = {
    {"none", Defect::none},
};

Defect seeded = Defect::none;

}  // namespace

bool seed(std::string_view name) {
  for (const Named& named : names) {
    if (named.name != name) continue;
    seeded = named.defect;
    return true;
  }
  return false;
}

bool has(Defect defect) { return seeded == defect; }

std::string_view unless(std::string_view right, std::initializer_list<std::pair<Defect, std::string_view>> wrong) {
  for (const auto& [defect, text] : wrong) {
    if (has(defect)) return text;
  }
  return right;
}

}  // namespace reference
