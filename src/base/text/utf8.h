// UTF-8 as it arrives: what is text and what is not, and how much room it takes on a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "flopcast/base.h"

namespace flopcast {

/// Bytes of the well-formed UTF-8 sequence at the start of `text`; 0 if there is none.
std::size_t utf8_length(std::string_view text);
/// The first byte that is no text: part of no sequence, or a control character other than tab and the ends of
/// lines. Readers that rely on text that decodes ask first.
std::optional<Diagnostic> check_text(std::string_view text, const std::string& name);
/// `text` with every byte that belongs to no sequence replaced, by U+FFFD if not told otherwise.
std::string valid_utf8(std::string_view text, std::string_view instead = "\xef\xbf\xbd");
/// Appends the sequence of a code point up to U+10FFFF.
void append_utf8(std::string& out, std::uint32_t point);

/// Characters, every one counted as one column.
std::size_t display_width(std::string_view text);
/// At most `width` bytes, the middle of a longer text replaced by "..."; never cuts a sequence.
std::string shortened(std::string_view text, std::size_t width);

}  // namespace flopcast
