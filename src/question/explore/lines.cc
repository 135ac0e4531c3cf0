// Points of a sweep as JSON lines, and back.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text/json_writer.h"
#include "flopcast/question/explore.h"

namespace flopcast {
namespace {

using json = nlohmann::ordered_json;  // a sweep has an order

struct Writer {
  JsonWriter& w;
  void operator()(std::string_view key, double value) { w.exact(key, value); }
  void operator()(std::string_view key, bool value) { w.boolean(key, value); }
  void operator()(std::string_view key, std::uint64_t value) { w.count(key, value); }
  void operator()(std::string_view key, const std::string& value) { w.text(key, value); }
};

/// Takes members of a line; the first that is missing or of another type is kept.
struct Reader {
  const json& line;
  std::string problem;

  const json* member(std::string_view key) {
    const auto found = line.find(key);
    if (found != line.end()) return &*found;
    refuse(key, "is missing");
    return nullptr;
  }
  void refuse(std::string_view key, const char* why) {
    if (problem.empty()) problem = fmt::format("\"{}\" {}", key, why);
  }
  void operator()(std::string_view key, double& value) {
    const json* found = member(key);
    if (found == nullptr) return;
    constexpr double kMost = 1e30;
    if (!found->is_number() || !(std::abs(found->get<double>()) <= kMost)) {
      return refuse(key, "is no number");
    }
    value = found->get<double>();
  }
  void operator()(std::string_view key, bool& value) {
    const json* found = member(key);
    if (found == nullptr) return;
    if (!found->is_boolean()) return refuse(key, "is neither true nor false");
    value = found->get<bool>();
  }
  void operator()(std::string_view key, std::uint64_t& value) {
    const json* found = member(key);
    if (found == nullptr) return;
    if (!found->is_number_unsigned()) return refuse(key, "is no whole number");
    value = found->get<std::uint64_t>();
  }
  void operator()(std::string_view key, std::string& value) {
    const json* found = member(key);
    if (found == nullptr) return;
    if (!found->is_string()) return refuse(key, "is no text");
    value = found->get<std::string>();
  }
};

/// A speedup of null is infinite.
bool read_gains(const json& gains, std::vector<std::pair<std::string, double>>& out) {
  if (!gains.is_object()) return false;
  for (const auto& [name, value] : gains.items()) {
    if (!value.is_number() && !value.is_null()) return false;
    out.emplace_back(
        name, value.is_null() ? std::numeric_limits<double>::infinity() : value.get<double>());
  }
  return true;
}

Result<ExploreRow> read_row(std::string_view line, const std::string& where) {
  const auto bad = [&](std::string what) {
    return Diagnostic{ErrorCode::kBadInput, where, std::move(what),
                      "name a file that flopcast explore wrote"};
  };
  const json document = json::parse(line, nullptr, false);
  if (!document.is_object()) return bad("is no JSON object");
  ExploreRow row;
  Reader reader{document, {}};
  visit_explore_head(row, reader);
  if (const json* sweep = reader.member("sweep"); sweep != nullptr) {
    if (!sweep->is_object()) return bad("\"sweep\" is no object");
    for (const auto& [name, value] : sweep->items()) {
      if (!value.is_string()) return bad(fmt::format("sweep \"{}\" is no text", name));
      row.sweep.emplace_back(name, value.get<std::string>());
    }
  }
  if (const json* gains = reader.member("gains"); gains != nullptr) {
    if (!read_gains(*gains, row.gains)) return bad("\"gains\" are no numbers by name");
  }
  if (reader.problem.empty()) {
    if (row.fits) {
      visit_explore_answer(row, reader);
    } else {
      reader("problem", row.problem);
    }
  }
  if (!reader.problem.empty()) return bad(reader.problem);
  return row;
}

bool same_sweeps(const ExploreRow& a, const ExploreRow& b) {
  return std::equal(a.sweep.begin(), a.sweep.end(), b.sweep.begin(), b.sweep.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first; });
}

}  // namespace

std::string explore_json_line(const ExploreRow& row) {
  JsonWriter w;
  w.begin_object({}, JsonWriter::Layout::kLine);
  Writer write{w};
  visit_explore_head(row, write);
  w.begin_object("sweep");
  for (const auto& [name, value] : row.sweep) w.text(name, value);
  w.end_object();
  if (row.fits) {
    visit_explore_answer(row, write);
    write_explore_derived(row, write);
  } else {
    w.text("problem", row.problem);
  }
  w.begin_object("gains");
  for (const auto& [name, speedup] : row.gains) w.exact(name, speedup);
  w.end_object();
  w.end_object();
  return std::move(w).take();
}

Result<std::vector<ExploreRow>> read_explore_rows(std::string_view text, const std::string& where) {
  std::vector<ExploreRow> rows;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    Result<ExploreRow> row = read_row(line, fmt::format("{}: line {}", where, number));
    if (!row) return row.error();
    if (!rows.empty() && !same_sweeps(rows.front(), *row)) {
      return Diagnostic{ErrorCode::kBadInput, fmt::format("{}: line {}", where, number),
                        "sweeps other things than the first line", "show each sweep by itself"};
    }
    rows.push_back(std::move(*row));
  }
  return rows;
}

Result<std::vector<ExploreRow>> read_explore_start(std::string_view text, const std::string& where,
                                                   std::string_view asked, std::size_t points) {
  Result<std::vector<ExploreRow>> rows = read_explore_rows(text, where);
  if (!rows) return rows;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const ExploreRow& row = (*rows)[i];
    if (row.asked == asked && row.index == i && i < points) continue;
    return Diagnostic{ErrorCode::kUsage, fmt::format("{}: row {}", where, i + 1),
                      "is of another sweep", "resume with the same question, or name another file"};
  }
  return rows;
}

}  // namespace flopcast
