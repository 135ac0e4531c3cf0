// Pages in web/ are templates: marks in them are replaced by style, scripts and data.
#pragma once

#include <string>
#include <string_view>

namespace flopcast::report {

/// Replaces the first `mark` of the page. Fill in data last, so that nothing in it is taken for one.
void fill(std::string& page, std::string_view mark, std::string_view text);
/// JSON that no text in it can end the script element of: "<" stands in strings only.
std::string without_tags(std::string_view json);
/// Text as HTML, without marks of the template.
std::string html_escaped(std::string_view text);

}  // namespace flopcast::report
