#include "base/text/csv_table.h"

#include <fmt/format.h>

#include "base/files/byte_source.h"
#include "base/files/read_file.h"
#include "base/text/names.h"
#include "base/text/numbers.h"
#include "base/text/shown.h"

namespace flopcast {
namespace {

/// Takes the field that `rest` starts with, and the comma after it. Quoted text is rewritten into
/// `blocks` only where it holds doubled quotes.
std::string_view take_field(std::string_view& rest, std::deque<std::string>& blocks) {
  if (rest.empty() || rest.front() != '"') {
    const std::size_t comma = rest.find(',');
    const std::string_view field = rest.substr(0, comma);
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    return trim(field);
  }
  std::string unquoted;
  std::size_t i = 1;
  for (; i < rest.size(); ++i) {
    if (rest[i] == '"') {
      if (i + 1 >= rest.size() || rest[i + 1] != '"') break;
      ++i;
    }
    unquoted += rest[i];
  }
  const std::size_t comma = rest.find(',', i);
  rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  return blocks.emplace_back(std::move(unquoted));
}

std::vector<std::string_view> split(std::string_view line, std::deque<std::string>& blocks) {
  std::vector<std::string_view> fields;
  const bool open_end = !line.empty() && line.back() == ',';
  while (!line.empty()) fields.push_back(take_field(line, blocks));
  if (open_end) fields.emplace_back();
  return fields;
}

}  // namespace

Result<CsvTable> CsvTable::read(const std::filesystem::path& path) {
  Result<std::string> text =
      read_unpacked(path, "name a table, .csv or .csv.gz, whose first row names the columns");
  if (!text) return text.error();
  return parse(std::move(*text), path.string());
}

Result<CsvTable> CsvTable::parse(std::string text, const std::string& where) {
  CsvTable table;
  table.where_ = where;
  std::string_view rest = table.blocks_.emplace_back(std::move(text));
  if (rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);
  for (std::uint32_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = trim(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line.empty() || line.front() == '#') continue;
    const std::vector<std::string_view> fields = split(line, table.blocks_);
    if (table.columns_.empty()) {
      table.columns_.assign(fields.begin(), fields.end());
    } else if (fields.size() == table.columns_.size()) {
      table.fields_.insert(table.fields_.end(), fields.begin(), fields.end());
      table.lines_.push_back(number);
    } else {
      table.anomalies_.add("csv_field_count", [&] {
        return fmt::format("{}:{}: {} fields, the header has {}", where, number, fields.size(),
                           table.columns_.size());
      });
    }
  }
  if (table.columns_.empty()) {
    return Diagnostic{ErrorCode::kBadInput, where, "expected a header row, found no row at all",
                      "the first row names the columns"};
  }
  return table;
}

std::optional<std::size_t> CsvTable::find_column(std::string_view name) const {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i] == name) return i;
  }
  return std::nullopt;
}

Result<std::size_t> CsvTable::column(std::string_view name) const {
  if (const auto found = find_column(name)) return *found;
  return Diagnostic{ErrorCode::kBadInput, where_,
                    fmt::format("expected a column '{}', found {}", name, header()),
                    "name the columns in the first row"};
}

Result<double> CsvTable::number(std::size_t row, std::size_t column) const {
  const std::string_view field = text(row, column);
  if (const std::optional<double> value = parse_number(field)) return *value;
  return Diagnostic{
      ErrorCode::kBadInput, place(row),
      fmt::format("expected a number in column '{}', found '{}'", columns_[column], field),
      "mend or remove the row"};
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string CsvTable::header() const {
  return excerpt(fmt::format("{}", fmt::join(columns_, ",")));
}

std::string CsvTable::place(std::size_t row) const {
  return fmt::format("{}:{}", where_, lines_[row]);
}

}  // namespace flopcast
