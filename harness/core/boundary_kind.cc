#include "harness/core/boundary_kind.h"

#include <algorithm>
#include <array>
#include <optional>
#include <ranges>
#include <span>

#include "harness/core/boundary.h"

namespace halfsent {
namespace {

struct Row {
  BoundaryName name;
  BoundaryInfo info;
};

constexpr std::array<Row, 33> rows = {{
    {BoundaryName::before_schedule,
     {"before_schedule", "the last stop without a ledger lock before the transaction that writes a new job"}},
    {BoundaryName::in_schedule, {"in_schedule", "the n-th stop inside the transaction that writes a new job"}},
    {BoundaryName::after_schedule, {"after_schedule", "the first stop after the job is in the ledger"}},
    {BoundaryName::before_claim,
     {"before_claim", "the last stop without a ledger lock before the transaction that leases the job"}},
    {BoundaryName::in_claim, {"in_claim", "the n-th stop inside the transaction that leases the job"}},
    {BoundaryName::after_claim, {"after_claim", "the first stop after the job is leased"}},
    {BoundaryName::before_send, {"before_send", "the first byte of the request is about to be sent"}},
    {BoundaryName::after_send,
     {"after_send", "the first stop after the first byte was sent, at the latest when the downstream has it all"}},
    {BoundaryName::before_accept,
     {"before_accept", "the downstream has received the request and has not accepted it yet"}},
    {BoundaryName::after_accept,
     {"after_accept", "the downstream has durably accepted; no byte of its answer is visible yet"}},
    {BoundaryName::after_response, {"after_response", "the first stop after the downstream has answered"}},
    {BoundaryName::before_mark,
     {"before_mark", "the last stop without a ledger lock before the transaction that marks the job"}},
    {BoundaryName::in_mark, {"in_mark", "the n-th stop inside the transaction that marks the job"}},
    {BoundaryName::after_mark, {"after_mark", "the first stop after the job is delivered or flagged"}},
    {BoundaryName::announced, {"at:NAME", "a point that the worker announces by a look-up of /halfsent/at/NAME/KEY"}},
    {BoundaryName::ledger_lock, {"ledger_lock", "a lock of a ledger file is about to be taken or released"}},
    {BoundaryName::ledger_write, {"ledger_write", "a ledger file is about to be written or cut"}},
    {BoundaryName::ledger_sync, {"ledger_sync", "a ledger file is about to be synced"}},
    {BoundaryName::ledger_open, {"ledger_open", "a ledger file is about to be created or emptied"}},
    {BoundaryName::ledger_unlink, {"ledger_unlink", "a ledger file is about to be removed"}},
    {BoundaryName::connect, {"connect", "a connection is about to be opened"}},
    {BoundaryName::send, {"send", "bytes are about to be sent to the downstream"}},
    {BoundaryName::socket_send, {"socket_send", "bytes are about to be sent on another socket"}},
    {BoundaryName::pipe_write, {"pipe_write", "a pipe is about to be written"}},
    {BoundaryName::file_open, {"file_open", "another file is about to be created or emptied"}},
    {BoundaryName::file_write, {"file_write", "another file is about to be written or cut"}},
    {BoundaryName::file_sync, {"file_sync", "another file is about to be synced"}},
    {BoundaryName::file_lock, {"file_lock", "a lock of another file is about to be taken or released"}},
    {BoundaryName::rename, {"rename", "a file is about to be renamed"}},
    {BoundaryName::unlink, {"unlink", "another file or a folder is about to be removed"}},
    {BoundaryName::link, {"link", "a link is about to be made"}},
    {BoundaryName::mkdir, {"mkdir", "a folder is about to be made"}},
    {BoundaryName::effect, {"effect", "any other system call that has an effect"}},
}};
static_assert(std::ranges::all_of(std::views::iota(std::size_t{0}, rows.size()),
                                  [](std::size_t i) { return static_cast<std::size_t>(rows[i].name) == i; }));
static_assert(static_cast<std::size_t>(BoundaryName::effect) + 1 == rows.size());

constexpr auto infos = [] {
  std::array<BoundaryInfo, rows.size()> out{};
  std::ranges::transform(rows, out.begin(), &Row::info);
  return out;
}();

// What a system call does, before it is known to what.
enum class Family { write, send, sync, lock, open, unlink };

struct FamilyCall {
  std::string_view call;
  Family family;
};

constexpr std::array<FamilyCall, 31> family_calls = {{
    {"write", Family::write},
    {"writev", Family::write},
    {"pwrite64", Family::write},
    {"pwritev", Family::write},
    {"pwritev2", Family::write},
    {"truncate", Family::write},
    {"ftruncate", Family::write},
    {"fallocate", Family::write},
    {"sendfile", Family::write},
    {"splice", Family::write},
    {"copy_file_range", Family::write},
    {"vmsplice", Family::write},
    {"tee", Family::write},
    {"send", Family::send},
    {"sendto", Family::send},
    {"sendmsg", Family::send},
    {"sendmmsg", Family::send},
    {"shutdown", Family::send},
    {"fsync", Family::sync},
    {"fdatasync", Family::sync},
    {"sync_file_range", Family::sync},
    {"msync", Family::sync},
    {"fcntl", Family::lock},
    {"flock", Family::lock},
    {"open", Family::open},
    {"openat", Family::open},
    {"openat2", Family::open},
    {"creat", Family::open},
    {"unlink", Family::unlink},
    {"unlinkat", Family::unlink},
    {"rmdir", Family::unlink},
}};

struct NamedCall {
  std::string_view call;
  BoundaryName name;
};

// Calls whose name does not depend on their object.
constexpr std::array<NamedCall, 12> named_calls = {{
    {"at", BoundaryName::announced},
    {"connect", BoundaryName::connect},
    {"rename", BoundaryName::rename},
    {"renameat", BoundaryName::rename},
    {"renameat2", BoundaryName::rename},
    {"link", BoundaryName::link},
    {"linkat", BoundaryName::link},
    {"symlink", BoundaryName::link},
    {"symlinkat", BoundaryName::link},
    {"mkdir", BoundaryName::mkdir},
    {"mkdirat", BoundaryName::mkdir},
    {"mknodat", BoundaryName::file_open},
}};

template <class Table>
auto find_call(const Table& table, std::string_view call) {
  const auto found = std::ranges::find_if(table, [call](const auto& row) { return row.call == call; });
  return found == table.end() ? nullptr : &*found;
}

// "ledger.db" of "ledger.db-wal"; nothing for a file that is not beside a database.
std::optional<std::string_view> database_of(std::string_view object) {
  for (const std::string_view suffix : {"-wal", "-shm", "-journal"}) {
    if (object.size() > suffix.size() && object.ends_with(suffix)) {
      return object.substr(0, object.size() - suffix.size());
    }
  }
  return std::nullopt;
}

BoundaryName name_write(std::string_view object) {
  if (object == "downstream") return BoundaryName::send;
  if (object.starts_with("socket")) return BoundaryName::socket_send;
  if (object.starts_with("pipe") || object.starts_with("fifo")) return BoundaryName::pipe_write;
  return BoundaryName::file_write;
}

}  // namespace

std::span<const BoundaryInfo> boundary_table() { return infos; }

std::string_view name_of(BoundaryName name) { return rows.at(static_cast<std::size_t>(name)).info.name; }

EffectNamer::EffectNamer(const History& history) {
  std::set<std::string, std::less<>> locked;
  for (const Event& event : history.events) {
    const auto* stop = std::get_if<Stopped>(&event.body);
    if (!stop) continue;
    const FamilyCall* call = find_call(family_calls, stop->call);
    if (!call) continue;
    if (const auto database = database_of(stop->object)) {
      ledgers_.emplace(*database);
    } else if (call->family == Family::lock && stop->holds_ledger_lock) {
      locked.insert(stop->object);
    }
  }
  // While a ledger lock is held other files may be locked too, so locks are the weaker sign.
  if (ledgers_.empty()) ledgers_ = std::move(locked);
}

bool EffectNamer::is_ledger(std::string_view object) const {
  return ledgers_.contains(database_of(object).value_or(object));
}

BoundaryName EffectNamer::operator()(const Stopped& stop) const {
  if (const NamedCall* named = find_call(named_calls, stop.call)) return named->name;
  const FamilyCall* call = find_call(family_calls, stop.call);
  if (!call) return BoundaryName::effect;
  const bool ledger = is_ledger(stop.object);
  switch (call->family) {
    case Family::write:
      return ledger ? BoundaryName::ledger_write : name_write(stop.object);
    case Family::send:
      return stop.object == "downstream" ? BoundaryName::send : BoundaryName::socket_send;
    case Family::sync:
      return ledger ? BoundaryName::ledger_sync : BoundaryName::file_sync;
    case Family::lock:
      return ledger ? BoundaryName::ledger_lock : BoundaryName::file_lock;
    case Family::open:
      return ledger ? BoundaryName::ledger_open : BoundaryName::file_open;
    case Family::unlink:
      return ledger ? BoundaryName::ledger_unlink : BoundaryName::unlink;
  }
  return BoundaryName::effect;
}

}  // namespace halfsent
