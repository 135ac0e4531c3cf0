// Reads traffic files: CSV rows to TrafficRow.
#include <fmt/format.h>

#include <cmath>
#include <unordered_map>

#include "base/numeric/clock.h"
#include "base/text/csv_table.h"
#include "base/text/numbers.h"
#include "flopcast/network/traffic.h"

namespace flopcast {
namespace {

Diagnostic bad(const std::string& where, std::string what, std::string hint) {
  return {ErrorCode::kBadInput, where, std::move(what), std::move(hint)};
}

class TrafficReader {
 public:
  explicit TrafficReader(const CsvTable& table) : table_(table) {}

  Result<std::vector<TrafficRow>> run() {
    if (!table_.find_column("op") && !(table_.find_column("src") && table_.find_column("dst"))) {
      return bad(table_.where(),
                 fmt::format("expected columns src,dst or op, found {}", table_.header()),
                 "name the columns in the first row: src,dst,bytes");
    }
    if (const Result<std::size_t> bytes = table_.column("bytes"); !bytes) return bytes.error();
    if (!table_.anomalies().empty()) {
      return bad(table_.anomalies().list()[0].first, "every row needs as many fields as the header",
                 "add the missing commas");
    }
    for (row_ = 0; row_ < table_.rows(); ++row_) {
      TrafficRow row;
      row.place = table_.place(row_);
      if (!read(row)) return std::move(*error_);
      if (!ids_.emplace(row.id, row_).second) {
        return bad(row.place, fmt::format("the id '{}' is taken by an earlier row", row.id),
                   "give every row its own id");
      }
      rows_.push_back(std::move(row));
    }
    return std::move(rows_);
  }

 private:
  std::string_view text(std::string_view column) const {
    const auto found = table_.find_column(column);
    return found ? table_.text(row_, *found) : std::string_view();
  }

  bool wrong(std::string_view column, std::string_view expected, std::string hint) {
    error_ = bad(table_.place(row_),
                 fmt::format("{}: expected {}, found '{}'", column, expected, text(column)),
                 std::move(hint));
    return false;
  }

  bool read(TrafficRow& row) {
    const std::string_view id = text("id");
    row.id = id.empty() ? std::to_string(row_ + 1) : std::string(id);
    return read_ends(row) && read_size(row) && read_time("start", row.start) &&
           read_time("delay", row.delay) && read_after(row) && read_sharing(row);
  }

  bool chip(std::string_view column, std::uint32_t& value) {
    const auto number = parse_whole<std::uint32_t>(text(column));
    if (number) return value = *number, true;
    return wrong(column, "the number of a chip", "chips count from 0, node by node");
  }

  bool read_ends(TrafficRow& row) {
    const std::string_view op = text("op");
    if (op.empty()) return chip("src", row.src) && chip("dst", row.dst);
    row.op = parse_collective_op(op);
    if (!row.op) {
      return wrong("op", "a collective such as all_reduce or all_to_all",
                   "leave it empty for a flow from src to dst");
    }
    const Result<std::vector<std::uint32_t>> ranks = flopcast::parse_ranks(text("ranks"));
    if (!ranks) return wrong("ranks", "chips such as 0-7 16", "leave it empty for all chips");
    row.ranks = *ranks;
    return true;
  }

  bool read_size(TrafficRow& row) {
    const Result<Bytes> bytes = parse_bytes(text("bytes"));
    constexpr double kMost = 1e15;  // work stays far inside 128 bits
    if (!bytes || bytes->value < 0 || bytes->value > kMost) {
      return wrong("bytes", "0 to 1e15 bytes, such as 64MB", "GB is 1e9 bytes, GiB 2^30");
    }
    row.bytes = std::llround(bytes->value);
    return true;
  }

  bool read_time(std::string_view column, Time& time) {
    const std::string_view field = text(column);
    if (field.empty()) return true;
    const Result<Seconds> seconds = parse_seconds(field);
    constexpr double kMost = 1e6;  // 11 days; a Time holds 106
    if (!seconds || seconds->value < 0 || seconds->value > kMost) {
      return wrong(column, "a time from 0 to 1e6 s", "write it with its unit, such as 2.5us");
    }
    time = on_clock(*seconds);
    return true;
  }

  bool read_after(TrafficRow& row) {
    std::string_view rest = text("after");
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      const std::string id(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (id.empty()) continue;
      const auto found = ids_.find(id);
      if (found == ids_.end()) {
        return wrong("after", "ids of rows above", "put a row below those it waits for");
      }
      row.after.push_back(static_cast<std::uint32_t>(found->second));
    }
    return true;
  }

  bool read_sharing(TrafficRow& row) {
    const std::string_view group = text("group");
    if (!group.empty()) {
      const auto [fresh, inserted] = groups_.emplace(group, groups_.size() + 1);
      row.group = static_cast<std::uint32_t>(fresh->second);
    }
    if (text("limit").empty()) return true;
    const Result<BytesPerSecond> limit = parse_bandwidth(text("limit"));
    if (!limit || limit->value <= 0)
      return wrong("limit", "a rate such as 10GB/s", "with its unit");
    row.limit = Rate::from(*limit);
    return true;
  }

  const CsvTable& table_;
  std::size_t row_ = 0;
  std::vector<TrafficRow> rows_;
  std::unordered_map<std::string, std::size_t> ids_, groups_;
  std::optional<Diagnostic> error_;
};

}  // namespace

Result<std::vector<std::uint32_t>> parse_ranks(std::string_view text) {
  constexpr std::uint32_t kMost = 1u << 24;
  std::vector<std::uint32_t> ranks;
  const auto ends_number = [](std::string_view rest) {
    return rest.empty() || rest[0] == ' ' || rest[0] == ',';
  };
  for (std::string_view rest = text; !rest.empty();) {
    if (ends_number(rest)) {
      rest.remove_prefix(1);
      continue;
    }
    const std::uint32_t first = take_whole<std::uint32_t>(rest).value_or(kMost);
    std::uint32_t last = first;
    if (rest.starts_with('-')) {
      rest.remove_prefix(1);
      last = take_whole<std::uint32_t>(rest).value_or(kMost);
    }
    const bool too_many = first <= last && ranks.size() + (last - first) >= kMost;
    if (first > last || last >= kMost || too_many || !ends_number(rest)) {
      return bad("ranks", fmt::format("expected chips such as 0-7 16, found '{}'", text),
                 "write numbers and ranges, lower end first");
    }
    for (std::uint32_t rank = first; rank <= last; ++rank) ranks.push_back(rank);
  }
  return ranks;
}

Result<std::vector<TrafficRow>> parse_traffic(std::string text, const std::string& where) {
  const Result<CsvTable> table = CsvTable::parse(std::move(text), where);
  if (!table) return table.error();
  return TrafficReader(*table).run();
}

Result<std::vector<TrafficRow>> read_traffic(const std::filesystem::path& path) {
  const Result<CsvTable> table = CsvTable::read(path);
  if (!table) return table.error();
  return TrafficReader(*table).run();
}

}  // namespace flopcast
