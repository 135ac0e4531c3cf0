// Text from files and command lines as a terminal, a log or a page may have it. Control characters
// drive terminals: they are shown, not sent.
#pragma once

#include <string>
#include <string_view>

namespace flopcast {

/// One line of text: control characters (of C0 and C1, and those that turn the direction of writing) become
/// \n, \t, \r or \u001b, which JSON reads back; bytes that are no UTF-8 become \xff.
std::string escaped(std::string_view text);
/// The same of a whole answer, whose line ends and tabs stay.
std::string escaped_lines(std::string_view text);

/// At most 200 characters of the input, escaped, the middle of more left out: what an error quotes.
std::string excerpt(std::string_view text);
/// A sentence that may quote input: what stands in 'quotes' or "quotes" as excerpt() has it, the rest
/// escaped; the middle of what is far too long for a sentence left out.
std::string sentence(std::string_view text);

}  // namespace flopcast
