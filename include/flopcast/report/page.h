// Floor 8: what every page says of itself.
#pragma once

#include <string>
#include <vector>

namespace flopcast {

/// How a page came about; its foot shows it, beside the version that html_of knows.
struct PageOrigin {
  std::string command;  ///< as a shell takes it: "flopcast estimate llama-3-8b --on dgx-h100"
  std::vector<std::string> inputs;  ///< files and folders that it read, as they were named
  std::string date;                 ///< "2026-01-31"; empty: not told
};

/// Today in UTC, or the day of $SOURCE_DATE_EPOCH: "2026-01-31".
std::string page_date();

/// The page, as any *_html makes it, with its origin told.
std::string with_origin(std::string page, const PageOrigin& origin);

}  // namespace flopcast
