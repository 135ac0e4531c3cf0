// Aligned tables for a terminal, and the same rows as comma-separated values.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace flopcast::report {

enum class Align : unsigned char { kLeft, kRight };

class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::kRight;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// As many cells as there are columns.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  std::size_t size() const { return rows_.size(); }

  /// Titles, then rows, every line indented by two; columns as wide as their widest cell.
  std::string text() const;
  /// RFC 4180, with a line of titles unless told otherwise.
  std::string csv(bool titles = true) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace flopcast::report
