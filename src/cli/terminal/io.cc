#include "cli/terminal/io.h"

#include <fmt/format.h>

#include "base/files/output_file.h"
#include "base/text/format.h"

namespace flopcast::cli {

namespace fs = std::filesystem;

int fail(Io& io, const Diagnostic& error) {
  io.err << "flopcast: error: " << error.text() << '\n' << std::flush;
  return static_cast<int>(error.code);
}

void warn(Io& io, std::string_view text) {
  io.err << "flopcast: warning: " << text << '\n' << std::flush;
}

int print(Io& io, std::string_view result) {
  io.out << result << std::flush;
  if (io.out.good()) return kDone;
  return fail(io, {ErrorCode::kBadInput, "stdout", "the result could not be written",
                   "free some space, or send it elsewhere"});
}

int print_each(Io& io, const std::vector<std::string>& results, bool json, int code) {
  if (results.empty()) return code;
  std::string text;
  for (const std::string& result : results)
    text += (text.empty() ? "" : json ? "," : "\n\n") + result;
  if (json) text = "{\"sets\": [" + text + "]}\n";
  const int printed = print(io, text);
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

void report_file(Io& io, std::string_view what, const fs::path& path, std::uint64_t bytes) {
  io.err << fmt::format("{:<9} {}  ({})\n", what, path.string(),
                        short_bytes(static_cast<std::int64_t>(bytes)))
         << std::flush;
}

Result<fs::path> check_folder_of(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code ignored;
  if (fs::is_directory(folder, ignored)) return folder;
  return Diagnostic{ErrorCode::kUsage, path.string(),
                    fmt::format("its folder {} is not there", folder.string()),
                    "make the folder first, or name another"};
}

}  // namespace flopcast::cli
