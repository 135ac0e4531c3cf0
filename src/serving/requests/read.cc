#include "base/files/byte_source.h"
#include "base/text/names.h"
#include "flopcast/serving/requests.h"
#include "serving/requests/rows.h"

namespace flopcast {

using namespace serving;

Result<RequestList> parse_requests(std::string_view text, const std::string& where) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) {
    return Diagnostic{ErrorCode::kBadInput, where, "no request in it",
                      std::string(kRequestFormats)};
  }
  return text[first] == '{' ? json_requests(text, where) : csv_requests(text, where);
}

Result<RequestList> read_requests(const std::filesystem::path& path) {
  const Result<std::string> text =
      read_unpacked(path, "name a trace of requests: CSV or JSON lines");
  if (!text) return text.error();
  return parse_requests(*text, path.string());
}

}  // namespace flopcast
