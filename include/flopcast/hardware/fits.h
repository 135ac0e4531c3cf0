// Floor 1: measurements of one's own, as part of a machine: "8 x dgx-h100, fit mine.toml", `fit = "mine.toml"` of a
// cluster's file, --fit of the command line, all one thing. What such a file is of is told by what it holds. What it says is
// read where it is used (flopcast/machine.h and the rooms above); who makes no use of one refuses it by name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"

namespace flopcast {

struct Cluster;

/// What a file was fitted to.
enum class FitKind : std::uint8_t {
  kNetwork,    ///< collectives: flopcast calibrate network
  kKernels,    ///< kernels of a chip: flopcast calibrate kernels
  kHost,       ///< what calls take the host: flopcast calibrate host
  kServing,    ///< measured points of deployments: flopcast calibrate serving
  kConstants,  ///< constants of training or of a serving engine
};
std::string_view name(FitKind kind);  ///< "collectives", "kernels", "host calls", ...

/// One such file, as it was when it was first read.
struct FitFile {
  std::string path, text;            ///< as it was named; all that it holds
  FitKind kind = FitKind::kNetwork;  ///< of what it holds
};
/// A machine's own, of whatever kinds.
using OwnFiles = std::span<const std::shared_ptr<const FitFile>>;
/// Errors: cannot be read; no TOML; holds nothing that is fitted, or something that no answer takes from a file.
Result<std::shared_ptr<const FitFile>> read_fit_file(const std::filesystem::path& path);

/// The line of a cluster with fits behind it: "8 x dgx-h100, fit mine.toml". Errors (kUsage): a path that a line cannot
/// hold.
Result<std::string> with_fits(std::string_view line, std::span<const std::string> paths);

/// What an answer says of a fit that it rests on.
struct FitNote {
  std::string file, kind;  ///< as it was named; "collectives"
  bool operator==(const FitNote&) const = default;
};
std::vector<FitNote> fit_notes(const Cluster& cluster);  ///< of all its fits
/// Their array in a JSON document: "own_fits". @param writer with the methods of base/text/json_writer.h
template <typename Writer>
void write_fits(Writer& writer, std::span<const FitNote> fits) {
  writer.begin_array("own_fits");
  for (const FitNote& fit : fits) {
    writer.begin_object({}, Writer::Layout::kLine);
    writer.text("file", fit.file);
    writer.text("kind", fit.kind);
    writer.end_object();
  }
  writer.end_array();
}

/// Of the cluster's fits the first whose kind is none of `used`: an error (kUsage) that names it. @param who would not use
/// it: "the network alone"
std::optional<Diagnostic> unused_fit(const Cluster& cluster, std::span<const FitKind> used,
                                     std::string_view who);

}  // namespace flopcast
