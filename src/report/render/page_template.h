// Pages in web/ are templates: marks in them are replaced by style, scripts and data.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace flopcast::report {

/// A template of web/ with its title, style and scripts: what all pages have.
std::string page_of(std::string_view html, std::string_view title,
                    std::initializer_list<std::string_view> scripts);
/// Replaces the first `mark` of the page. Fill in data last, so that nothing in it is taken for one.
void fill(std::string& page, std::string_view mark, std::string_view text);
/// JSON that no text in it can end the script element of: "<" stands in strings only.
std::string without_tags(std::string_view json);
/// Text as HTML, without marks of the template.
std::string html_escaped(std::string_view text);

}  // namespace flopcast::report
