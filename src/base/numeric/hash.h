// One number for several texts, the same on every machine.
#pragma once

#include <cstdint>
#include <string_view>

namespace flopcast {

/// FNV-1a of each text and its length, so that "ab", "c" is not "a", "bc".
class Hash {
 public:
  void add(std::string_view text) {
    for (const char c : text) value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    value_ = (value_ ^ text.size()) * 0x100000001b3;
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace flopcast
