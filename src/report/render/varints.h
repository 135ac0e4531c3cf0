// Whole numbers as few bytes, for the HTML pages: LEB128, signed ones zigzagged, as base64 text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace flopcast::report {

class Varints {
 public:
  void add(std::uint64_t value);
  void add_signed(std::int64_t value) {
    add((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  const std::string& bytes() const { return bytes_; }
  std::string base64() const;

 private:
  std::string bytes_;
};

std::string base64_of(std::string_view bytes);

}  // namespace flopcast::report
