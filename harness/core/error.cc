#include "harness/core/error.h"

#include <fmt/format.h>

#include "harness/core/text.h"

namespace halfsent {

std::string Error::to_string() const {
  std::string out = file;
  for (const int number : {line, column}) {
    if (number <= 0) break;  // a column without a line says nothing
    if (!out.empty()) out += ':';
    out += fmt::to_string(number);
  }
  if (!out.empty()) out += ": ";
  out += message;
  if (!mend.empty()) out += " (" + mend + ")";
  return printable(out);
}

}  // namespace halfsent
