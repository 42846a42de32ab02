#include "fakes/response.h"

#include <fmt/format.h>

#include <boost/beast/http/status.hpp>
#include <string_view>

namespace halfsent {
namespace {

std::string_view reason_of(int status) {
  namespace http = boost::beast::http;
  if (status < 0) return {};
  const auto reason = http::obsolete_reason(http::int_to_status(static_cast<unsigned>(status)));
  return {reason.data(), reason.size()};
}

std::string body_of(int status) {
  if (status >= 200 && status < 300) return R"({"status":"accepted"})";
  return fmt::format(R"({{"status":"refused","code":{}}})", status);
}

}  // namespace

std::string render_response(const Answer& answer, const ResponseContext& context) {
  const bool has_body = answer.status >= 200 && answer.status != 204 && answer.status != 304;
  const std::string body = has_body ? body_of(answer.status) : std::string();
  std::string text = fmt::format("HTTP/1.1 {:03} {}\r\n", answer.status, reason_of(answer.status));
  if (has_body) text += fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", body.size());
  if (!context.keep_alive) {
    text += "Connection: close\r\n";
  } else if (context.http10) {
    text += "Connection: keep-alive\r\n";
  }
  text += "\r\n";
  if (!context.head) text += body.substr(0, answer.mode == AnswerMode::half ? body.size() / 2 : body.size());
  return text;
}

}  // namespace halfsent
