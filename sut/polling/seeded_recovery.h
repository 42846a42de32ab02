// Recovery that is wrong. Here for the defects only.
#pragma once

#include <string>

#include "database.h"
#include "job.h"

namespace reference {

// True when the defect that is on recovers in a way of its own.
bool recovers_wrongly();

void sweep_wrongly(Database& db, const std::string& owner, const Terms& terms);

// What a defect does before the right sweep.
void before_sweep(Database& db, const Terms& terms);

// What a defect does once, when its process starts.
void start_wrongly(Database& db, const Terms& terms);

// The name under which a worker holds its jobs.
std::string holder_name(Database& db, const std::string& name);

}  // namespace reference
