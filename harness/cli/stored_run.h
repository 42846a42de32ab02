// Executions on disk. Written before they are judged.
#pragma once

#include <filesystem>
#include <string>

#include "harness/core/error.h"
#include "harness/core/history.h"
#include "harness/world/execution.h"

namespace halfsent {

// Creates OUT/<utc time>-<seed> below `parent`/<scenario> and points the link `latest` to it. Errors: the folder cannot
// be written (ExitCode::harness_fault, with the mend).
Result<std::filesystem::path> make_run_folder(const std::filesystem::path& parent, const std::string& scenario,
                                              std::uint64_t seed);

// Writes NAME.history.jsonl and NAME.output.txt completely or reports why not (disk full, read-only).
Result<void> store(const std::filesystem::path& folder, const std::string& name, const Execution& execution);

Result<void> write_text(const std::filesystem::path& file, const std::string& text);
Result<std::string> read_text(const std::filesystem::path& file);
Result<History> load_history(const std::filesystem::path& file);

}  // namespace halfsent
