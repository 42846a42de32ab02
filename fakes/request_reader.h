// Cuts a connection's byte stream into HTTP/1.x requests. No sockets here: bytes in, requests out.
//
// The outcome depends on the bytes alone, never on how they were split on their way: the head is checked byte by
// byte and handed to the parser only when it is complete.
//
// Threads: one. Ownership: keeps all bytes that are not consumed.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace halfsent {

struct HeaderField {
  std::string name;  // as sent
  std::string value;
  friend bool operator==(const HeaderField&, const HeaderField&) = default;
};

struct ReceivedRequest {
  std::string method;
  std::string target;
  std::vector<HeaderField> fields;  // as sent, without those of a chunked body's trailer
  std::string body;                 // chunks are put together
  bool http10 = false;
  bool keep_alive = true;  // what the client asked for
  friend bool operator==(const ReceivedRequest&, const ReceivedRequest&) = default;
};

struct BadRequest {
  int status = 400;  // 400, 413 or 431
  std::string why;   // printable ASCII, holds nothing of the input
  friend bool operator==(const BadRequest&, const BadRequest&) = default;
};

class RequestReader {
 public:
  // max_header_bytes: request line, fields and the empty line together. max_body_bytes: without chunk framing.
  RequestReader(std::size_t max_header_bytes, std::size_t max_body_bytes);
  ~RequestReader();
  RequestReader(RequestReader&&) noexcept;
  RequestReader& operator=(RequestReader&&) noexcept;

  void append(std::string_view bytes);

  enum class Outcome {
    need_more,
    request,  // take it with take(), then ask again: the next one may be there already
    bad,      // see bad(); nothing can be read from this stream any more
  };
  Outcome read();

  // REQUIRES: read() said `request`.
  ReceivedRequest take();
  [[nodiscard]] const BadRequest& bad() const;

  // True once for a request whose head is complete and whose client waits for "100 Continue".
  bool take_expects_continue();

  // Part of a request is here. Empty lines before a request are no part of it.
  [[nodiscard]] bool partial() const;

  // Bytes that are kept and not consumed.
  [[nodiscard]] std::size_t buffered() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace halfsent
