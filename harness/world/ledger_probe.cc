#include "harness/world/ledger_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "harness/core/text.h"
#include "harness/world/ledger_probe_sqlite.h"

namespace halfsent {
namespace {

struct LedgerKind {
  std::string_view name;
  decltype(&make_ledger_probe) make_probe;
  decltype(&create_ledger) create;
};

// A kind of ledger is one new file plus one line here.
constexpr std::array kKinds = {
    LedgerKind{"sqlite", make_sqlite_ledger_probe, create_sqlite_ledger},
};

const LedgerKind* find_kind(std::string_view name) {
  const auto* const found = std::ranges::find(kKinds, name, &LedgerKind::name);
  return found == kKinds.end() ? nullptr : found;
}

}  // namespace

std::unique_ptr<LedgerProbe> make_ledger_probe(const LedgerConfig& config, const std::filesystem::path& world,
                                               const std::filesystem::path& scratch) {
  const LedgerKind* kind = find_kind(config.kind);
  return kind == nullptr ? nullptr : kind->make_probe(config, world, scratch);
}

Result<void> create_ledger(const LedgerConfig& config, const std::filesystem::path& file) {
  if (const LedgerKind* kind = find_kind(config.kind)) return kind->create(config, file);
  return Error{.code = ExitCode::usage,
               .message = fmt::format("no ledger is of the kind {}", printable(config.kind)),
               .mend = "write kind = \"sqlite\" in [ledger]"};
}

}  // namespace halfsent
