// Claims that are wrong. Here for the defects only.
#pragma once

#include <optional>
#include <string>

#include "database.h"
#include "job.h"

namespace reference {

// True when the defect that is on claims in a way of its own.
bool claims_wrongly();

std::optional<Job> claim_wrongly(Database& db, const std::string& owner, const Terms& terms);

}  // namespace reference
