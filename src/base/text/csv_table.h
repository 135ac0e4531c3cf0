// Small tables of measurements: CSV with a header row, plain or gzip, '#' lines are comments.
#pragma once

#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"

namespace flopcast {

/// As RFC 4180 has it: quoted where it holds a comma, a quote or a line's end.
std::string csv_field(std::string_view text);

/// A whole CSV file in memory. Fields are views into it; quotes ("a,b") are taken off.
class CsvTable {
 public:
  /// Rows with another number of fields than the header are left out and counted.
  static Result<CsvTable> read(const std::filesystem::path& path);
  static Result<CsvTable> parse(std::string text, const std::string& where);

  const std::string& where() const { return where_; }  ///< the file's name, for errors
  const std::vector<std::string>& columns() const { return columns_; }
  /// Their names in one line, for errors.
  std::string header() const;
  std::size_t rows() const { return lines_.size(); }
  /// The column of that name, or an error that lists the columns there are.
  Result<std::size_t> column(std::string_view name) const;
  std::optional<std::size_t> find_column(std::string_view name) const;

  std::string_view text(std::size_t row, std::size_t column) const {
    return fields_[row * columns_.size() + column];
  }
  /// A finite number, or an error with file and line.
  Result<double> number(std::size_t row, std::size_t column) const;
  std::uint32_t line(std::size_t row) const { return lines_[row]; }  ///< of the file, from 1
  /// "file.csv:17"
  std::string place(std::size_t row) const;
  const Anomalies& anomalies() const { return anomalies_; }

 private:
  std::string where_;
  std::deque<std::string> blocks_;  // the text, and fields whose quotes had to be rewritten
  std::vector<std::string> columns_;
  std::vector<std::string_view> fields_;
  std::vector<std::uint32_t> lines_;  // line number per row
  Anomalies anomalies_;
};

}  // namespace flopcast
