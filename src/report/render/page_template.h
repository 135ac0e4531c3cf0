// web/page.html filled in: the one page that all reports share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flopcast::report {

/// What a page is made of. Scripts are modules of web/, each after those that it imports.
struct Page {
  std::string title;
  std::string_view kind;  ///< the command it is of, for the window's title
  std::vector<std::string_view> scripts;
  /// Documents that the scripts read: the id of the element, and JSON.
  struct Document {
    std::string_view id;
    std::string json;
  };
  std::vector<Document> documents;
  std::string drawn = {};  ///< elements that are there without a script
};

/// A page as one file that needs no other.
std::string html_of(const Page& page);

/// A module of web/ as a statement of one script: its own scope, of which only what it exports is seen.
std::string module_scope(std::string_view script);
/// One line of text as HTML and as XML, as a terminal has it (base/text/shown.h), and without marks of the template.
std::string html_escaped(std::string_view text);

}  // namespace flopcast::report
