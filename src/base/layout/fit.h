// Text that was laid out for a line of any length, made to fit a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace flopcast {

/// `text` with no line wider than `width`. Tables (lines whose cells stand under one another, two
/// spaces apart) have their texts folded within their columns, and are cut into tables below one
/// another, each with the first column, where numbers alone are too wide. All other lines
/// are folded between words and go on under where they began. A word that is wider than the line is
/// cut. Text that fits is left as it is; `width` 0 leaves all as it is.
std::string fit_text(std::string_view text, std::size_t width);

}  // namespace flopcast
