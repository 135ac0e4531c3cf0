// Rows that keep to 80 columns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/render/table.h"

namespace flopcast::report {

inline constexpr std::size_t kTextColumns = 80;

/// The lines, with those that are wider than so many columns folded between words; what follows stands four columns in from
/// where the line began. A word that is wider than a row is left whole. @param ending of lines that go on, such as " \\"
std::string folded_rows(std::string_view text, std::string_view ending = {},
                        std::size_t columns = kTextColumns);

/// Words of a text in rows: the first behind `first`, the others `indent` columns in, or where it began.
std::string hanging(std::string_view first, std::string_view text,
                    std::size_t indent = std::string_view::npos);

/// The table, and below each of its rows what it is of. @param words as many as there are rows
std::string with_words(const Table& table, const std::vector<std::string>& words);

}  // namespace flopcast::report
