#include "send.h"

#include <httplib.h>

#include <algorithm>
#include <stdexcept>

#include "defect.h"

namespace reference {
namespace {

// 2xx is the only yes. A 4xx says that nothing happened, but for 409: the same key is at work right now.
Outcome outcome_of(int status) {
  if (has(Defect::any_answer_is_yes)) return Outcome::accepted;
  if (status >= 200 && status <= 299) return Outcome::accepted;
  if (status >= 400 && status <= 499 && status != 409) return Outcome::definite_no;
  return Outcome::doubt;
}

// The library drops a header it cannot send, and the request would go without its key.
bool fits_a_header(const std::string& key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) { return c >= '!' && c <= '~'; });
}

std::string body_of(const Job& job) {
  return R"({"digest_key":")" + job.digest_key + R"(","customer_id":)" + job.customer_id + "}";
}

std::string key_of(const Job& job) {
  if (has(Defect::key_per_attempt)) return job.digest_key + "/" + std::to_string(job.attempt);
  if (has(Defect::key_per_week)) return job.digest_key.substr(job.digest_key.find(':') + 1);
  return job.digest_key;
}

Outcome without_answer(bool unsent) {
  return unsent || has(Defect::timeout_is_failure) ? Outcome::definite_no : Outcome::doubt;
}

}  // namespace

Url parse_url(const std::string& text) {
  constexpr const char* scheme = "http://";
  const std::size_t host = std::char_traits<char>::length(scheme);
  if (text.rfind(scheme, 0) != 0 || text.size() == host)
    throw std::invalid_argument("the URL must begin with http://HOST");
  const std::size_t slash = text.find('/', host);
  if (slash == std::string::npos) return {text, "/"};
  return {text.substr(0, slash), text.substr(slash)};
}

Answer send(const Url& url, const Job& job, Seconds timeout_s) {
  const bool plain = job.digest_key.find_first_of("\"\\") == std::string::npos;
  if (!fits_a_header(job.digest_key) || !plain) {
    return {Outcome::definite_no, "the digest_key cannot be sent as a header"};
  }
  httplib::Client client(url.origin);
  client.set_connection_timeout(timeout_s);
  client.set_write_timeout(timeout_s);
  client.set_read_timeout(timeout_s);
  client.set_tcp_nodelay(true);
  const httplib::Headers headers = {{"Idempotency-Key", key_of(job)}};
  const httplib::Result result = client.Post(url.path, headers, body_of(job), "application/json");
  if (result) return {outcome_of(result->status), "status " + std::to_string(result->status)};
  // Without a connection no byte was sent; after that, nobody knows.
  const bool unsent = result.error() == httplib::Error::Connection;
  return {without_answer(unsent), (unsent ? "no connection: " : "no answer: ") + httplib::to_string(result.error())};
}

}  // namespace reference
