// The command line of the reference system.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "job.h"

namespace reference {

struct Arguments {
  std::string role;
  std::string name;
  std::string database;
  std::string url;     // of a worker
  std::string action;  // of an operator, like the next
  std::string key;
  Terms terms;
};

// nullopt: they make no sense. Turns the defect on that they name.
std::optional<Arguments> parse_arguments(const std::vector<std::string>& words);

}  // namespace reference
