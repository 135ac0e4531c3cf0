// Requests as JSON lines: Mooncake's traces and timelines measured on vLLM.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/numeric/mix.h"
#include "base/text/names.h"
#include "base/text/numbers.h"
#include "serving/requests/rows.h"

namespace flopcast::serving {
namespace {

/// Tokens that a hash of Mooncake's traces stands for.
constexpr std::int64_t kMooncakeBlock = 512;

/// Field names of a format, and the unit of its times.
struct JsonFormat {
  std::string_view at, input, output, hashes;
  std::int64_t unit_ps;
};
constexpr JsonFormat kMooncake{"timestamp", "input_length", "output_length", "hash_ids",
                               1'000'000'000};
constexpr JsonFormat kVllmTimeline{"arrival_time", "input_toks", "output_toks", "",
                                   1'000'000'000'000};

/// Of a hash that is no whole number from 0: it still tells blocks apart.
std::uint64_t hash_of(std::string_view written) {
  std::uint64_t hash = 0;
  for (const char c : written) hash = mix(hash ^ static_cast<unsigned char>(c));
  return hash;
}

/// The numbers of one line, as they are written: decimals do not pass through double.
class RequestLine : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit RequestLine(const JsonFormat& format) : format_(format) {}

  std::string at, input, output;
  std::vector<std::uint64_t> hashes;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return number(fmt::format("{}", value)); }
  bool number_unsigned(number_unsigned_t value) override {
    if (in_hashes_) return hashes.push_back(value), true;
    return number(fmt::format("{}", value));
  }
  bool number_float(number_float_t, const string_t& written) override { return number(written); }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return ++depth_, true; }
  bool key(string_t& name) override {
    if (depth_ == 1) key_ = name;
    return true;
  }
  bool end_object() override { return --depth_, true; }
  bool start_array(std::size_t) override {
    in_hashes_ = ++depth_ == 2 && !format_.hashes.empty() && key_ == format_.hashes;
    if (in_hashes_) hashes.clear();
    return true;
  }
  bool end_array() override { return --depth_, in_hashes_ = false, true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  bool number(std::string written) {
    if (in_hashes_) return hashes.push_back(hash_of(written)), true;
    if (depth_ != 1) return true;
    if (key_ == format_.at)
      at = std::move(written);
    else if (key_ == format_.input)
      input = std::move(written);
    else if (key_ == format_.output)
      output = std::move(written);
    return true;
  }

  const JsonFormat& format_;
  std::string key_;
  int depth_ = 0;
  bool in_hashes_ = false;
};

/// Whose line it is; null: nobody's.
const JsonFormat* format_of(std::string_view line) {
  for (const JsonFormat* format : {&kMooncake, &kVllmTimeline}) {
    RequestLine read(*format);
    if (!nlohmann::json::sax_parse(line, &read)) return nullptr;
    if (!read.at.empty() && !read.input.empty() && !read.output.empty()) return format;
  }
  return nullptr;
}

void take_json_line(std::string_view line, std::size_t number, const JsonFormat& format,
                    RequestRows& rows) {
  RequestLine read(format);
  if (!nlohmann::json::sax_parse(line, &read)) {
    return rows.refuse(number, "bad_request_row", "expected a JSON object");
  }
  const auto at = decimal_ps(read.at, format.unit_ps);
  const auto input = parse_whole(read.input), output = parse_whole(read.output);
  if (!at || !input || !output) {
    return rows.refuse(
        number, "bad_request_row",
        fmt::format("expected \"{}\", \"{}\" and \"{}\", a time and two whole numbers", format.at,
                    format.input, format.output));
  }
  RequestRow row{*at, {}};
  row.request.input = *input;
  row.request.output = *output;
  rows.take(number, row, read.hashes);
}

}  // namespace

Result<RequestList> json_requests(std::string_view text, const std::string& where) {
  RequestRows rows(where);
  const JsonFormat* format = nullptr;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty()) continue;
    if (format == nullptr) {
      format = format_of(line);
      if (format == nullptr) {
        return Diagnostic{ErrorCode::kBadInput, rows.place(number),
                          "expected a request as a JSON object, found none of the known fields",
                          std::string(kRequestFormats)};
      }
      rows.set_prefix_block(kMooncakeBlock);
    }
    take_json_line(line, number, *format, rows);
  }
  return rows.finish();
}

}  // namespace flopcast::serving
