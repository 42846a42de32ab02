// Sends a digest to the downstream over HTTP.
#pragma once

#include <string>

#include "job.h"

namespace reference {

struct Url {
  std::string origin;  // "http://127.0.0.1:8080"
  std::string path;    // "/send"
};

// "http://HOST[:PORT][/PATH]". Errors: std::invalid_argument.
Url parse_url(const std::string& text);

// One attempt with the digest_key as Idempotency-Key. Waits at most `timeout_s` for each step of it. Never throws.
Answer send(const Url& url, const Job& job, Seconds timeout_s);

}  // namespace reference
