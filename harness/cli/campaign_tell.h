// What a campaign says when it is over: on stdout, from its result alone, so that merged parts say what one campaign
// would have said.
#pragma once

#include "harness/cli/campaign.h"
#include "harness/cli/commands.h"

namespace halfsent {

// The matrix, what was judged, the statement, each failure by its plan.
void tell_campaign(const CampaignResult& campaign, const CommonOptions& common);

// The one to explain first: what became of a job rather than a rule of the run, and a crash if there is one, because
// they need the fewest words. Plans of two faults only where one does not show it.
const CellResult* first_counterexample(const CampaignResult& campaign);

// Its story, why it violates and how it is replayed.
void tell_counterexample(const CampaignResult& campaign, const CellResult& counterexample, const CommonOptions& common);

// "kill worker-1 at after_accept; drop downstream at before_accept"
std::string faults_of(const Plan& plan);

void say(const std::string& text);   // results, to stdout
void talk(const std::string& text);  // the rest, to stderr

}  // namespace halfsent
