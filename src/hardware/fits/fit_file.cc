// What a file of fitted numbers is of, told by what it holds.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <mutex>

#include "base/files/read_file.h"
#include "base/text/names.h"
#include "base/text/toml_file.h"
#include "flopcast/hardware.h"

namespace flopcast {
namespace {

constexpr std::string_view kWhatThereIs =
    "give a file of flopcast calibrate network, kernels, host or serving, or constants as "
    "tools/fit_training.py and tools/fit_serving.py write them";

bool has_any(const toml::table& root, std::initializer_list<std::string_view> keys) {
  return std::ranges::any_of(keys, [&](std::string_view key) { return root.contains(key); });
}

/// Of a network's fit, whose systems hold curves.
bool holds_curves(const toml::table& root) {
  const toml::table* systems = root["system"].as_table();
  if (systems == nullptr) return false;
  return std::ranges::any_of(*systems, [](const auto& entry) {
    const toml::table* system = entry.second.as_table();
    return system != nullptr && system->contains("curve");
  });
}

/// What is fitted for the catalogue alone.
std::string_view of_the_catalogue(const toml::table& root) {
  if (has_any(root, {"aggregated", "disaggregated"})) return "bands of serving engines";
  if (root.contains("unstated")) return "bands of training runs";
  if (root.contains("class")) return "speeds of operators";
  if (root["memory"][0]["kernels"]) return "rates of PyTorch's kernels";
  return {};
}

Result<FitKind> kind_of(const TomlFile& file) {
  const toml::table& root = file.root;
  if (holds_curves(root)) return FitKind::kNetwork;
  if (root.contains("host")) return FitKind::kHost;
  if (root.contains("deployment")) return FitKind::kServing;
  if (const std::string_view what = of_the_catalogue(root); !what.empty()) {
    return Diagnostic{
        ErrorCode::kUsage, file.name,
        fmt::format("holds {}, which are the catalogue's and no fit of a machine", what),
        std::string(kWhatThereIs)};
  }
  const bool of_chip = root["chip"].is_string();
  if (of_chip && has_any(root, {"gemm", "attention", "moe", "memory"})) return FitKind::kKernels;
  if (!of_chip &&
      has_any(root, {"all", "chip", "software", "softwares", "pair", "engine", "architecture",
                     "dispatcher"}) &&
      !has_any(root, {"cluster", "level", "kernel", "tensor"})) {
    return FitKind::kConstants;
  }
  return Diagnostic{ErrorCode::kUsage, file.name, "holds no fit of measurements",
                    std::string(kWhatThereIs)};
}

/// Files read of late: commands and searches make the same machine many times over.
class RecentFits {
 public:
  std::shared_ptr<const FitFile> known(const FitFile& read) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& file : files_) {
      if (file->path == read.path && file->text == read.text) return file;
    }
    return nullptr;
  }
  /// What can be read once, a pipe, is what it was.
  std::shared_ptr<const FitFile> piped(const std::filesystem::path& path) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored)) return nullptr;
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found =
        std::ranges::find(files_, path.string(), [](const auto& f) { return f->path; });
    return found == files_.end() ? nullptr : *found;
  }
  std::shared_ptr<const FitFile> keep(FitFile read) {
    constexpr std::size_t kMost = 32;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (files_.size() >= kMost) files_.pop_front();
    return files_.emplace_back(std::make_shared<const FitFile>(std::move(read)));
  }

 private:
  std::mutex mutex_;
  std::deque<std::shared_ptr<const FitFile>> files_;
};

}  // namespace

std::string_view name(FitKind kind) {
  constexpr std::string_view kNames[] = {"collectives", "kernels", "host calls",
                                         "serving deployments", "constants"};
  return kNames[static_cast<std::size_t>(kind)];
}

Result<std::shared_ptr<const FitFile>> read_fit_file(const std::filesystem::path& path) {
  static RecentFits recent;
  if (auto known = recent.piped(path)) return known;
  Result<std::string> text = read_file(path, kWhatThereIs);
  if (!text) return text.error();
  FitFile read{path.string(), std::move(*text), FitKind::kNetwork};
  if (auto known = recent.known(read)) return known;
  const Result<TomlFile> file = parse_toml(read.text, read.path, false);
  if (!file) return file.error();
  const Result<FitKind> kind = kind_of(*file);
  if (!kind) return kind.error();
  read.kind = *kind;
  return recent.keep(std::move(read));
}

Result<std::string> with_fits(std::string_view line, std::span<const std::string> paths) {
  std::string out(line);
  if (trim(line).empty() && !paths.empty()) {
    return usage_error("fit", fmt::format("there is no machine whose fit {} is", paths[0]),
                       "name the machine that was measured");
  }
  for (const std::string& path : paths) {
    const bool plain =
        !trim(path).empty() && trim(path) == path && path.find_first_of(",\n") == std::string::npos;
    if (!plain) {
      return usage_error("--fit", fmt::format("'{}' cannot stand in the line of a cluster", path),
                         "name a file without commas and blanks at its ends");
    }
    out += ", fit " + path;
  }
  return out;
}

std::vector<FitNote> fit_notes(const Cluster& cluster) {
  std::vector<FitNote> notes;
  for (const auto& fit : cluster.fits) notes.push_back({fit->path, std::string(name(fit->kind))});
  return notes;
}

std::optional<Diagnostic> unused_fit(const Cluster& cluster, std::span<const FitKind> used,
                                     std::string_view who) {
  for (const auto& fit : cluster.fits) {
    if (std::ranges::find(used, fit->kind) != used.end()) continue;
    std::string known;
    for (const FitKind kind : used) {
      known += fmt::format("{}{}", known.empty() ? "" : ", ", name(kind));
    }
    return Diagnostic{ErrorCode::kUsage, fit->path,
                      fmt::format("is a fit of {}, and {} would not use it", name(fit->kind), who),
                      known.empty() ? "leave it out" : "leave it out; fits used here: " + known};
  }
  return std::nullopt;
}

}  // namespace flopcast
