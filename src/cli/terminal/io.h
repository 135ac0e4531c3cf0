// Where a command talks: stdout carries results, stderr everything else.
#pragma once

#include <cstddef>
#include <filesystem>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"

namespace flopcast::cli {

struct Io {
  std::ostream& out;
  std::ostream& err;
  bool terminal = false;                 ///< err is a terminal: progress bars are welcome
  std::size_t width = 0;                 ///< columns of a line for people; 0: no limit
  std::string command = {};              ///< what was asked, as a shell takes it
  std::vector<std::string> inputs = {};  ///< files and folders that it names to be read
};

/// Columns of a line for people: COLUMNS where that is set, else what the terminal that stdout is says, else 80, in files
/// and pipes too: they are read on terminals.
std::size_t terminal_width();

/// How a result is printed: for people unless told otherwise.
struct FormatOptions {
  bool json = false;
  bool csv = false;
};

/// Exit code of a command that did what it was asked.
inline constexpr int kDone = 0;

/// Says what went wrong and gives the exit code for it.
int fail(Io& io, const Diagnostic& error);
void warn(Io& io, std::string_view text);

/// Prints a result, control characters of names in it escaped. Fails if stdout cannot take it.
int print(Io& io, std::string_view result);
/// The same; lines for people are made to fit the terminal.
int print(Io& io, std::string_view result, const FormatOptions& format);

/// Prints what was made of each run: texts below one another, JSON as {"sets": [...]}.
/// @return `code`, or why printing failed.
int print_each(Io& io, const std::vector<std::string>& results, const FormatOptions& format,
               int code);

/// Writes a whole file or none. @return exit code.
int write_file(Io& io, const std::filesystem::path& path, std::string_view text);
/// The same, and tells on stderr that it is there: `what` it is in a word.
int write_told(Io& io, std::string_view what, const std::filesystem::path& path,
               std::string_view text);
/// The same of a page, which tells the command, its inputs and the day: today's, or that of $SOURCE_DATE_EPOCH.
int write_page(Io& io, const std::filesystem::path& path, std::string page);
/// Tells on stderr that a file is there now.
void report_file(Io& io, std::string_view what, const std::filesystem::path& path,
                 std::uint64_t bytes);

}  // namespace flopcast::cli
