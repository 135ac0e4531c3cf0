// Tables of requests: Azure's and one's own.
#include <fmt/format.h>

#include "base/text/csv_table.h"
#include "base/text/numbers.h"
#include "base/text/shown.h"
#include "serving/requests/rows.h"

namespace flopcast::serving {
namespace {

constexpr std::int64_t kCsvSecondPs = 1'000'000'000'000;

/// Where a table has what, and how it writes times.
struct RequestColumns {
  std::size_t at = 0, input = 0, output = 0;
  std::optional<std::size_t> session;
  bool calendar = false;
};

Result<RequestColumns> request_columns(const CsvTable& table) {
  for (const auto& [at, input, output, calendar] :
       {std::tuple("TIMESTAMP", "ContextTokens", "GeneratedTokens", true),
        std::tuple("arrival_s", "input", "output", false)}) {
    const auto a = table.find_column(at), i = table.find_column(input),
               o = table.find_column(output);
    if (a && i && o) return RequestColumns{*a, *i, *o, table.find_column("session"), calendar};
  }
  return Diagnostic{ErrorCode::kBadInput, table.where(),
                    "expected a table of requests, found the columns " + table.header(),
                    std::string(kRequestFormats)};
}

/// Numbers of sessions, from 1, by their names.
std::uint32_t session_number(std::string_view text, StringTable& sessions) {
  return text.empty() ? 0 : sessions.intern(text);
}

}  // namespace

Result<RequestList> csv_requests(std::string_view text, const std::string& where) {
  const Result<CsvTable> table = CsvTable::parse(std::string(text), where);
  if (!table) return table.error();
  const Result<RequestColumns> columns = request_columns(*table);
  if (!columns) return columns.error();
  RequestRows rows(where);
  StringTable sessions;
  for (std::size_t row = 0; row < table->rows(); ++row) {
    const std::string_view at = table->text(row, columns->at);
    const auto ps = columns->calendar ? calendar_ps(at) : decimal_ps(at, kCsvSecondPs);
    const auto input = parse_whole(table->text(row, columns->input));
    const auto output = parse_whole(table->text(row, columns->output));
    if (!ps || !input || !output) {
      rows.refuse(table->line(row), "bad_request_row",
                  fmt::format("expected a time and two whole numbers, found '{}', '{}', '{}'",
                              excerpt(at), excerpt(table->text(row, columns->input)),
                              excerpt(table->text(row, columns->output))));
      continue;
    }
    RequestRow read{*ps, {}};
    read.request.input = *input;
    read.request.output = *output;
    if (columns->session) {
      read.request.session = session_number(table->text(row, *columns->session), sessions);
    }
    rows.take(table->line(row), read);
  }
  rows.merge(table->anomalies());
  return rows.finish();
}

}  // namespace flopcast::serving
