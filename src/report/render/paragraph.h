// Sentences for a terminal, folded between words.
#pragma once

#include <string>
#include <string_view>

namespace flopcast::report {

/// Columns of the narrowest terminal that texts are written for.
inline constexpr std::size_t kPageWidth = 80;

/// "  - text", its lines kept to kPageWidth and those after the first put under its first word. Words that are wider
/// stay whole. @param head what stands before the text: "  - "
std::string paragraph(std::string_view head, std::string_view text);

}  // namespace flopcast::report
