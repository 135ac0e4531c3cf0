#include "cli/terminal/outputs.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include "base/files/input_file.h"
#include "base/files/output_file.h"
#include "cli/terminal/interrupt.h"

namespace flopcast::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMark = "output";

bool is_output(CLI::Option& option) {
  try {
    return option.get_validator(kMark) != nullptr;
  } catch (const CLI::OptionNotFound&) {
    return false;
  }
}

/// What tells one file from another, however it is named: nothing for pipes and devices.
using FileId = std::pair<dev_t, ino_t>;
std::optional<FileId> regular(int failed, const struct ::stat& facts) {
  if (failed != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  return FileId{facts.st_dev, facts.st_ino};
}
std::optional<FileId> file_at(const fs::path& path) {
  struct ::stat facts {};
  const int failed = ::stat(path.c_str(), &facts);
  return regular(failed, facts);
}
std::optional<FileId> file_of(int descriptor) {
  struct ::stat facts {};
  const int failed = ::fstat(descriptor, &facts);
  return regular(failed, facts);
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

/// Where a file of that name would be made: links followed, also those whose target is not there yet.
fs::path place_of(fs::path path) {
  constexpr int kMostLinks = 40;
  std::error_code ignored;
  for (int i = 0; i < kMostLinks && fs::is_symlink(path, ignored); ++i) {
    const fs::path target = fs::read_symlink(path, ignored);
    path = target.is_absolute() ? target : folder_of(path) / target;
  }
  const fs::path folder = fs::canonical(folder_of(path), ignored);
  return ignored ? path : folder / path.filename();
}

struct NamedFile {
  std::string flag;
  fs::path path;
};

/// Every file and folder that is named in the arguments of other options, alone or in a description:
/// "2 x node.toml", "model.json:training".
std::vector<NamedFile> inputs_of(CLI::App& command) {
  std::vector<NamedFile> inputs;
  const auto add = [&](const std::string& flag, const std::string& name) {
    std::error_code ignored;
    if (name == kStandardInput || fs::exists(name, ignored)) inputs.push_back({flag, name});
  };
  for (CLI::Option* option : command.get_options({})) {
    if (is_output(*option)) continue;
    for (const std::string& value : option->results()) {
      add(option->get_name(), value);
      for (std::size_t at = 0, end = 0; at < value.size(); at = end + 1) {
        end = std::min(value.find_first_of(" ,:=", at), value.size());
        add(option->get_name(), value.substr(at, end - at));
      }
    }
  }
  return inputs;
}

std::vector<NamedFile> outputs_of(CLI::App& command) {
  std::vector<NamedFile> outputs;
  for (CLI::Option* option : command.get_options({})) {
    if (!is_output(*option)) continue;
    for (const std::string& value : option->results())
      outputs.push_back({option->get_name(), value});
  }
  return outputs;
}

Diagnostic refuse(const NamedFile& output, std::string what) {
  return usage_error(output.path.string(), std::move(what),
                     fmt::format("name another file with {}", output.flag));
}

std::optional<Diagnostic> check_place(const NamedFile& output) {
  if (output.path == kStandardInput) {
    return refuse(output, fmt::format("names standard input, and {} is written", output.flag));
  }
  const auto cannot = [&](std::string what, std::string hint) {
    return Diagnostic{ErrorCode::kBadInput, output.path.string(), std::move(what), std::move(hint)};
  };
  std::error_code ignored;
  if (fs::is_directory(output.path, ignored)) {
    return cannot("is a directory", fmt::format("name a file with {}", output.flag));
  }
  const fs::path folder = folder_of(output.path);
  if (!fs::is_directory(folder, ignored)) {
    return cannot(fmt::format("its folder '{}' is not there", folder.string()),
                  "make the folder first, or name another");
  }
  if (auto problem = read_only_problem(output.path)) return problem;
  // Pipes and devices are written where they are; files beside their place, and then take it.
  const bool in_place = fs::exists(output.path, ignored) && !file_at(output.path);
  const fs::path where = in_place ? output.path : folder_of(place_of(output.path));
  if (::access(where.c_str(), W_OK) != 0) {
    return cannot(fmt::format("cannot be written: {}", std::strerror(errno)),
                  "name a place that can be written");
  }
  return std::nullopt;
}

/// Folders are read whole: traces and configurations in them are inputs too.
bool is_read_with(const fs::path& folder, const fs::path& file) {
  const std::string name = file.filename().string();
  const bool read = name.ends_with(".json") || name.ends_with(".json.gz");
  std::error_code ignored;
  return read && fs::equivalent(folder, folder_of(place_of(file)), ignored);
}

std::optional<Diagnostic> check_inputs(const NamedFile& output,
                                       const std::vector<NamedFile>& inputs) {
  const std::optional<FileId> id = file_at(output.path);
  if (!id) return std::nullopt;
  if (id == file_of(STDOUT_FILENO)) return refuse(output, "is where standard output goes");
  for (const NamedFile& input : inputs) {
    if (input.path == kStandardInput && id == file_of(STDIN_FILENO)) {
      return refuse(output, "is what standard input reads, and would be overwritten");
    }
    if (id == file_at(input.path)) {
      return refuse(output, fmt::format("is read as {}, and would be overwritten", input.flag));
    }
    std::error_code ignored;
    if (fs::is_directory(input.path, ignored) && is_read_with(input.path, output.path)) {
      return refuse(output,
                    fmt::format("lies in '{}', which is read as {}, and would be overwritten",
                                input.path.string(), input.flag));
    }
  }
  return std::nullopt;
}

bool is_same_file(const fs::path& a, const fs::path& b) {
  const std::optional<FileId> id = file_at(a);
  if (id) return id == file_at(b);
  std::error_code ignored;
  return !fs::exists(a, ignored) && place_of(a) == place_of(b);  // neither is there yet
}

/// Standard input is read once, whoever reads first.
std::optional<Diagnostic> check_standard_input(CLI::App& command) {
  std::string first;
  for (CLI::Option* option : command.get_options({})) {
    for (const std::string& value : option->results()) {
      if (value != kStandardInput) continue;
      if (!first.empty()) {
        return usage_error(option->get_name(),
                           fmt::format("standard input is read as {} already", first),
                           "- may be given once: name a file");
      }
      first = option->get_name();
    }
  }
  return std::nullopt;
}

}  // namespace

CLI::Option* as_output(CLI::Option* option) {
  return option->check(CLI::Validator([](std::string&) { return std::string(); }, "", kMark));
}

CLI::Option* add_page(CLI::App& command, fs::path& html, const std::string& what) {
  return as_output(command.add_option("--html", html, what)->type_name("FILE"));
}

std::vector<std::string> named_inputs(CLI::App& command) {
  std::vector<std::string> names;
  for (const NamedFile& input : inputs_of(command)) {
    std::string name = input.path.string();
    if (name.empty() || std::find(names.begin(), names.end(), name) != names.end()) continue;
    names.push_back(std::move(name));
  }
  return names;
}

std::optional<Diagnostic> prepare_outputs(CLI::App& command) {
  const std::vector<NamedFile> inputs = inputs_of(command), outputs = outputs_of(command);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const NamedFile& output = outputs[i];
    if (auto problem = check_place(output)) return problem;
    if (auto problem = check_inputs(output, inputs)) return problem;
    for (std::size_t other = 0; other < i; ++other) {
      if (!is_same_file(output.path, outputs[other].path)) continue;
      return refuse(output, fmt::format("is written by {} already", outputs[other].flag));
    }
    remove_stale_parts(output.path);
    clean_on_interrupt(folder_of(place_of(output.path)));
  }
  return check_standard_input(command);
}

}  // namespace flopcast::cli
