#include "cli/terminal/io.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "base/files/output_file.h"
#include "base/layout/fit.h"
#include "base/text/format.h"
#include "base/text/numbers.h"
#include "base/text/shown.h"
#include "flopcast/report/page.h"

namespace flopcast::cli {

namespace fs = std::filesystem;

std::size_t terminal_width() {
  constexpr std::size_t kUnknown = 80;
  if (const char* columns = std::getenv("COLUMNS")) {
    if (const auto width = parse_whole<unsigned>(columns); width && *width > 0) return *width;
  }
  winsize size{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUnknown;
}

int fail(Io& io, const Diagnostic& error) {
  io.err << "flopcast: error: " << error.text() << '\n' << std::flush;
  return static_cast<int>(error.code);
}

void warn(Io& io, std::string_view text) {
  io.err << "flopcast: warning: " << sentence(text) << '\n' << std::flush;
}

int print(Io& io, std::string_view result) {
  io.out << escaped_lines(result) << std::flush;
  if (io.out.good()) return kDone;
  return fail(io, {ErrorCode::kBadInput, "stdout", "the result could not be written",
                   "free some space, or send it elsewhere"});
}

int print(Io& io, std::string_view result, const FormatOptions& format) {
  return format.json || format.csv ? print(io, result)
                                   : print(io, fit_text(escaped_lines(result), io.width));
}

int print_each(Io& io, const std::vector<std::string>& results, const FormatOptions& format,
               int code) {
  if (results.empty()) return code;
  std::string text;
  for (const std::string& result : results)
    text += (text.empty() ? "" : format.json ? "," : "\n\n") + result;
  if (format.json) text = "{\"sets\": [" + text + "]}\n";
  const int printed = print(io, text, format);
  return code != kDone ? code : printed;
}

int write_file(Io& io, const fs::path& path, std::string_view text) {
  Result<OutputFile> file = OutputFile::create(path);
  if (!file) return fail(io, file.error());
  file->write(text);
  const Result<std::uint64_t> bytes = file->commit();
  if (!bytes) return fail(io, bytes.error());
  return kDone;
}

int write_told(Io& io, std::string_view what, const fs::path& path, std::string_view text) {
  if (const int code = write_file(io, path, text); code != kDone) return code;
  report_file(io, what, path, text.size());
  return kDone;
}

int write_page(Io& io, const fs::path& path, std::string page) {
  return write_told(io, "report", path,
                    with_origin(std::move(page), {io.command, io.inputs, page_date()}));
}

void report_file(Io& io, std::string_view what, const fs::path& path, std::uint64_t bytes) {
  io.err << fmt::format("{:<9} {}  ({})\n", what, escaped(path.string()),
                        short_bytes(static_cast<std::int64_t>(bytes)))
         << std::flush;
}

}  // namespace flopcast::cli
