#include "reports/completeness.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/core/text.h"
#include "reports/layout.h"

namespace halfsent {
namespace {

std::string what(const Completeness& campaign) {
  const std::string faults = fmt::format("{}", fmt::join(campaign.faults, ", "));
  if (campaign.strategy == "sweep") return fmt::format("every window x every fault that applies to it ({})", faults);
  const std::string bounds = fmt::format("{} ({}) and {}", count_of(campaign.bounds.faults, "fault"), faults,
                                         count_of(campaign.bounds.switches, "preemption"));
  if (campaign.strategy == "random")
    return fmt::format("walks of up to {}, each fault after the last, drawn with seed {}", bounds, campaign.seed);
  return fmt::format("every plan of up to {}, each after the last", bounds);
}

}  // namespace

std::string completeness_statement(const Completeness& campaign) {
  std::string plans;
  for (const auto& [windows, count] : campaign.plans)
    plans += fmt::format("{}{} with {}", plans.empty() ? "" : ", ", count,
                         windows == 0 ? "no fault" : count_of(static_cast<int>(windows), "fault"));
  if (campaign.regressions > 0) plans += fmt::format(", {}", count_of(campaign.regressions, "regression plan"));
  std::string out = fmt::format("{:<13} {}\n", campaign.strategy, what(campaign));
  if (campaign.shard.total > 1)
    out += fmt::format("  shard       {} of {} ({}): {} of its own\n", campaign.shard.index, campaign.shard.total,
                       printable(campaign.shard.source), count_of(campaign.units, "first plan"));
  out += fmt::format("  run         {}; {} with confirmations\n", plans, count_of(campaign.executions, "execution"));
  out += fmt::format("  left out    {}idle stops after the first of their kind ({} without faults)\n",
                     campaign.strategy == "sweep"
                         ? ""
                         : fmt::format("what is below {} that did not hold; ", count_of(campaign.childless, "plan")),
                     campaign.idle_left_out);
  out += "  merged      none, pruned none\n";
  out += fmt::format("  not reached {}\n", campaign.not_reached == 0 ? "none" : count_of(campaign.not_reached, "plan"));
  const int left = campaign.units - campaign.units_done;
  out += fmt::format("  not run     {}{}{}\n", left == 0 ? "none" : count_of(left, "first plan"),
                     left == 0 || campaign.strategy == "sweep" ? "" : " and what is below",
                     campaign.capped.empty() ? "" : fmt::format("; the cap of {} was hit", campaign.capped));
  return out;
}

}  // namespace halfsent
