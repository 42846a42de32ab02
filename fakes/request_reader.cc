#include "fakes/request_reader.h"

#include <algorithm>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

namespace halfsent {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using Parser = http::request_parser<http::string_body>;

// A chunked body cannot end in fewer bytes than "0\r\n\r\n". The parser asserts on shorter input once it has seen the
// last chunk's header, so it is not asked before that much is here.
constexpr std::size_t min_chunk_tail = 5;

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && byte != '\t') || byte == 0x7f;
}

BadRequest to_bad(const beast::error_code& error) {
  if (error == http::error::body_limit) return {413, "the body is larger than the downstream takes"};
  if (error == http::error::header_limit) return {431, "the header is larger than the downstream takes"};
  return {400, "malformed request: " + error.message()};
}

}  // namespace

struct RequestReader::Impl {
  enum class Phase { before, head, body, done, bad };

  std::size_t max_header_bytes;
  std::size_t max_body_bytes;

  std::string input;
  std::size_t consumed = 0;  // bytes of input that are dealt with

  Phase phase = Phase::before;
  std::size_t scanned = 0;         // from `consumed`: bytes of the head that were looked at
  std::size_t line_begin = 0;      // from `consumed`: where the current line of the head begins
  std::size_t body_left_over = 0;  // bytes that the parser has seen and wants more after
  bool expects_continue = false;
  std::optional<Parser> parser;  // a parser serves one message only
  std::vector<HeaderField> fields;
  BadRequest bad;

  [[nodiscard]] std::string_view rest() const { return std::string_view(input).substr(consumed); }

  Outcome fail(BadRequest why) {
    bad = std::move(why);
    phase = Phase::bad;
    parser.reset();
    input.clear();
    consumed = 0;
    return Outcome::bad;
  }

  void reset_parser() {
    parser.emplace();
    // The limit of the head is kept by us, as the parser's own depends on how the bytes arrive.
    parser->header_limit(std::numeric_limits<std::uint32_t>::max());
    parser->body_limit(max_body_bytes);
    parser->eager(false);
  }

  // Feeds the parser. Beast throws where one field is longer than its 16-bit lengths.
  std::size_t put(Parser& into, std::string_view bytes, beast::error_code& error) {
    try {
      return into.put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
    } catch (const std::length_error&) {
      error = http::error::header_limit;
      return 0;
    }
  }

  // Empty lines between requests are allowed (RFC 9112, 2.2): some clients end a body with one.
  Outcome skip_empty_lines() {
    while (rest().starts_with("\r\n")) consumed += 2;
    if (rest().empty() || rest() == "\r") return Outcome::need_more;
    scanned = line_begin = 0;
    phase = Phase::head;
    return scan_head();
  }

  Outcome scan_head() {
    const std::string_view bytes = rest();
    for (; scanned < bytes.size(); ++scanned) {
      if (scanned >= max_header_bytes) return fail(to_bad(http::error::header_limit));
      const char c = bytes[scanned];
      const bool after_cr = scanned > line_begin && bytes[scanned - 1] == '\r';
      if (after_cr != (c == '\n')) return fail({400, "malformed request: a line must end in CR LF"});
      if (c == '\n') {
        const std::size_t end = scanned + 1;
        if (end - line_begin == 2) return parse_head(bytes.substr(0, end));
        if (line_begin == 0) {
          if (const auto error = check_request_line(bytes.substr(0, end))) return fail(to_bad(error));
        }
        line_begin = end;
      } else if (c != '\r' && is_control(c)) {
        return fail({400, "malformed request: control character in the header"});
      }
    }
    return Outcome::need_more;
  }

  // A client that speaks no HTTP/1.x (HTTP/0.9 sends one line and waits) is told at once, not after a complete head.
  beast::error_code check_request_line(std::string_view line) {
    Parser probe;
    probe.header_limit(std::numeric_limits<std::uint32_t>::max());
    beast::error_code error;
    put(probe, std::string(line) + "\r\n", error);
    // Cut short: "GET / HTT".
    return error == http::error::need_more ? http::error::bad_version : error;
  }

  Outcome parse_head(std::string_view head) {
    reset_parser();
    beast::error_code error;
    const std::size_t used = put(*parser, head, error);
    if (error) return fail(to_bad(error));
    if (used != head.size() || !parser->is_header_done()) return fail({400, "malformed request: header"});
    const auto& message = parser->get();
    if (message.find(http::field::transfer_encoding) != message.end() && !parser->chunked()) {
      return fail({400, "malformed request: the last transfer encoding must be chunked"});
    }
    fields.clear();
    for (const auto& field : message) fields.push_back({std::string(field.name_string()), std::string(field.value())});
    consumed += used;
    expects_continue = false;
    if (parser->is_done()) return finish();
    expects_continue = message.version() >= 11 && beast::iequals(message[http::field::expect], "100-continue");
    phase = Phase::body;
    body_left_over = 0;
    parser->eager(true);
    return parse_body();
  }

  Outcome parse_body() {
    const std::string_view bytes = rest();
    if (bytes.size() == body_left_over) return Outcome::need_more;
    if (parser->chunked() && bytes.size() < min_chunk_tail) return Outcome::need_more;
    beast::error_code error;
    consumed += put(*parser, bytes, error);
    if (error && error != http::error::need_more) return fail(to_bad(error));
    if (parser->is_done()) return finish();
    body_left_over = rest().size();
    // Only chunk headers and trailers are left over.
    if (body_left_over > max_header_bytes) return fail(to_bad(http::error::header_limit));
    return Outcome::need_more;
  }

  Outcome finish() {
    phase = Phase::done;
    return Outcome::request;
  }

  void drop_consumed() {
    if (consumed == 0) return;
    input.erase(0, consumed);
    consumed = 0;
  }
};

RequestReader::RequestReader(std::size_t max_header_bytes, std::size_t max_body_bytes)
    : impl_(std::make_unique<Impl>()) {
  impl_->max_header_bytes = max_header_bytes;
  impl_->max_body_bytes = max_body_bytes;
}

RequestReader::~RequestReader() = default;
RequestReader::RequestReader(RequestReader&&) noexcept = default;
RequestReader& RequestReader::operator=(RequestReader&&) noexcept = default;

void RequestReader::append(std::string_view bytes) {
  if (impl_->phase == Impl::Phase::bad) return;
  impl_->drop_consumed();
  impl_->input.append(bytes);
}

RequestReader::Outcome RequestReader::read() {
  switch (impl_->phase) {
    case Impl::Phase::before:
      return impl_->skip_empty_lines();
    case Impl::Phase::head:
      return impl_->scan_head();
    case Impl::Phase::body:
      return impl_->parse_body();
    case Impl::Phase::done:
      return Outcome::request;
    case Impl::Phase::bad:
      return Outcome::bad;
  }
  return Outcome::bad;
}

ReceivedRequest RequestReader::take() {
  if (impl_->phase != Impl::Phase::done) throw std::logic_error("no complete request to take");
  Parser& parser = *impl_->parser;
  ReceivedRequest request;
  request.keep_alive = parser.keep_alive();
  auto message = parser.release();
  request.method = std::string(message.method_string());
  request.target = std::string(message.target());
  request.http10 = message.version() < 11;
  request.fields = std::move(impl_->fields);
  request.body = std::move(message.body());
  impl_->parser.reset();
  impl_->phase = Impl::Phase::before;
  return request;
}

const BadRequest& RequestReader::bad() const { return impl_->bad; }

bool RequestReader::take_expects_continue() { return std::exchange(impl_->expects_continue, false); }

bool RequestReader::partial() const {
  switch (impl_->phase) {
    case Impl::Phase::before:
      return !impl_->rest().empty();
    case Impl::Phase::head:
    case Impl::Phase::body:
      return true;
    case Impl::Phase::done:
    case Impl::Phase::bad:
      return false;
  }
  return false;
}

std::size_t RequestReader::buffered() const { return impl_->rest().size(); }

}  // namespace halfsent
