#include "reports/completeness.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "reports/layout.h"

namespace halfsent {

std::string completeness_statement(const Completeness& campaign) {
  std::string plans;
  for (const auto& [windows, count] : campaign.plans)
    plans += fmt::format("{}{} with {}", plans.empty() ? "" : ", ", count,
                         windows == 0 ? "no fault" : count_of(static_cast<int>(windows), "fault"));
  std::string out = fmt::format("exhaustive    every plan of up to {} ({}) and {}, each after the last\n",
                                count_of(campaign.bounds.faults, "fault"), fmt::join(campaign.faults, ", "),
                                count_of(campaign.bounds.switches, "preemption"));
  out += fmt::format("  run         {}; {} with parents and confirmations\n", plans,
                     count_of(campaign.executions, "execution"));
  out += fmt::format(
      "  left out    what is below {} that did not hold; idle stops after the first of their kind ({} without "
      "faults)\n",
      count_of(campaign.childless, "plan"), campaign.idle_left_out);
  out += "  merged      none, pruned none\n";
  return out + fmt::format("  not run     {}\n",
                           campaign.not_run == 0 ? "none" : count_of(campaign.not_run, "plan") + " and what is below");
}

}  // namespace halfsent
