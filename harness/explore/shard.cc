#include "harness/explore/shard.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "harness/core/text.h"

namespace halfsent {
namespace {

std::optional<int> number_in(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Error bad_shard(std::string message, std::string mend) {
  return {.code = ExitCode::usage, .message = std::move(message), .mend = std::move(mend)};
}

Result<Shard> checked(int index, int total, const std::string& source) {
  if (total < 1 || index < 1 || index > total)
    return bad_shard(fmt::format("there is no shard {} of {} ({})", index, total, source),
                     "shards are numbered from 1 to their number");
  return Shard{.index = index, .total = total, .source = source};
}

struct Pair {
  const char* index;
  const char* total;
  int first;  // number of the first shard
};
constexpr std::array pairs = {
    Pair{"GTEST_SHARD_INDEX", "GTEST_TOTAL_SHARDS", 0},
    Pair{"TEST_SHARD_INDEX", "TEST_TOTAL_SHARDS", 0},
    Pair{"CI_NODE_INDEX", "CI_NODE_TOTAL", 1},
    Pair{"JOB_COMPLETION_INDEX", "HALFSENT_SHARDS", 0},
};

Result<int> number_of(const char* name, const std::optional<std::string>& value) {
  if (!value) return bad_shard(fmt::format("{} is not set, and what goes with it is", name), "set both or none");
  const std::optional<int> number = number_in(*value);
  if (!number)
    return bad_shard(fmt::format("{} is '{}', which is no number", name, printable(*value)), "set it or unset it");
  return *number;
}

// An array of tasks may begin anywhere and skip numbers.
Result<Shard> shard_of_slurm(const Lookup& lookup) {
  const Result<int> id = number_of("SLURM_ARRAY_TASK_ID", lookup("SLURM_ARRAY_TASK_ID"));
  const Result<int> min = number_of("SLURM_ARRAY_TASK_MIN", lookup("SLURM_ARRAY_TASK_MIN"));
  const Result<int> max = number_of("SLURM_ARRAY_TASK_MAX", lookup("SLURM_ARRAY_TASK_MAX"));
  const Result<int> step = number_of("SLURM_ARRAY_TASK_STEP", lookup("SLURM_ARRAY_TASK_STEP").value_or("1"));
  for (const Result<int>* number : {&id, &min, &max, &step})
    if (!*number) return number->error();
  if (*step < 1 || (*id - *min) % *step != 0)
    return bad_shard("SLURM_ARRAY_TASK_ID is none of the array's", "use --array=0-7 or --array=0-14:2");
  return checked((*id - *min) / *step + 1, (*max - *min) / *step + 1, "SLURM_ARRAY_TASK_ID");
}

}  // namespace

Result<Shard> parse_shard(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::optional<int> index = number_in(text.substr(0, slash));
  const std::optional<int> total = slash == text.npos ? std::nullopt : number_in(text.substr(slash + 1));
  if (!index || !total)
    return bad_shard(fmt::format("'{}' is no shard", printable(text)), "write the first of four as 1/4");
  return checked(*index, *total, "--shard");
}

Result<Shard> shard_of_environment(const Lookup& lookup) {
  for (const Pair& pair : pairs) {
    const std::optional<std::string> index = lookup(pair.index);
    const std::optional<std::string> total = lookup(pair.total);
    // A pod of an indexed job may belong to something else; GitLab numbers nobody where there is one job.
    if ((!index && (!total || *total == "1")) || (!total && pair.total == std::string_view("HALFSENT_SHARDS")))
      continue;
    const Result<int> number = number_of(pair.index, index);
    const Result<int> count = number_of(pair.total, total);
    if (!number) return number.error();
    if (!count) return count.error();
    return checked(*number - pair.first + 1, *count, fmt::format("{} of {}", pair.index, pair.total));
  }
  return lookup("SLURM_ARRAY_TASK_ID") ? shard_of_slurm(lookup) : Shard{};
}

}  // namespace halfsent
