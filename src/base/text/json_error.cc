#include "base/text/json_error.h"

#include <nlohmann/json.hpp>

namespace flopcast {
namespace {

/// Takes note of nothing but the byte of the first error, counted from 1.
struct ErrorFinder : nlohmann::json_sax<nlohmann::json> {
  std::size_t byte = 0;
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    byte = position;
    return false;
  }
};

}  // namespace

std::optional<std::size_t> json_error_byte(std::string_view text) {
  ErrorFinder finder;
  if (nlohmann::json::sax_parse(text.begin(), text.end(), &finder)) return std::nullopt;
  return finder.byte > 0 ? finder.byte - 1 : 0;
}

}  // namespace flopcast
