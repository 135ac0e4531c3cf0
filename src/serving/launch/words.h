// What the writers of the engines' flags share.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "flopcast/serving/launch.h"

namespace flopcast::serving {

/// A command as it grows.
class Flags {
 public:
  explicit Flags(std::string command) : text_(std::move(command)) {}
  void add(std::string_view flag) { text_ += fmt::format(" {}", flag); }
  template <typename T>
  void add(std::string_view flag, const T& value) {
    text_ += fmt::format(" {} {}", flag, value);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// What is to be started.
struct LaunchQuestion {
  const Deployment& deployment;
  ServingRole role;
  std::int64_t longest;
  EngineSettings usual;  ///< the engine's defaults for it

  const EngineSettings& settings() const { return deployment.settings; }
  const ServingLayout& layout() const { return deployment.layout; }
  bool disaggregated() const { return role != ServingRole::kWhole; }
  /// Nodes that a replica spans.
  unsigned nodes() const;
  bool experts() const;  ///< whether the model has any
};

/// "1 2 4 8": batch sizes of captured graphs.
std::string graph_sizes(const EngineSettings& settings, std::string_view between);

void write_vllm(const LaunchQuestion& question, ServingLaunch& launch);
void write_sglang(const LaunchQuestion& question, ServingLaunch& launch);
void write_trtllm(const LaunchQuestion& question, ServingLaunch& launch);

}  // namespace flopcast::serving
