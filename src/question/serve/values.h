// Settings of a question about serving as text, looked up and read one by one; the first that is wrong is kept.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base/quantity.h"
#include "flopcast/question/serve.h"

namespace flopcast::question {

class ServeValues {
 public:
  /// Names that no setting has are the first problem.
  explicit ServeValues(const ServeSettings& given);

  const std::optional<Diagnostic>& problem() const { return problem_; }
  void wrong(std::string_view name, std::string what, std::string hint);
  void wrong(std::string_view name, const Diagnostic& error) {
    wrong(name, error.what, error.hint);
  }
  /// An error of a file: it says itself where it is.
  void wrong(Diagnostic error);

  bool has(std::string_view name) const { return last(name) != nullptr; }
  /// As given last; nothing where it was not.
  const std::string* last(std::string_view name) const;
  std::vector<std::string> all(std::string_view name) const;

  // What is not given leaves `out` as it is.
  void whole(std::string_view name, std::int64_t& out, std::int64_t least);
  void whole(std::string_view name, unsigned& out, unsigned least);
  /// @param most 0: none
  void number(std::string_view name, double& out, double least, double most = 0);
  void flag(std::string_view name, bool& out);

 private:
  ServeSettings given_;  ///< under the names of serve_settings()
  std::optional<Diagnostic> problem_;
};

/// "8": a whole number from `least` on; the text that says what was expected otherwise.
std::optional<std::int64_t> whole_from(std::string_view text, std::int64_t least);
/// "true", "yes", "1", "on" and their opposites.
std::optional<bool> flag_from(std::string_view text);
/// "a=1,b=2" cut into pairs; nothing where a piece has no sign.
std::optional<std::vector<std::pair<std::string, std::string>>> pairs_from(std::string_view text);
/// "1.5s" in picoseconds.
Result<Time> time_from(std::string_view text);

/// Engine, layout, precision and engine settings of a pool. @param role "", "prefill" or "decode": whose own settings
/// stand before those of all
Deployment read_deployment(ServeValues& values, std::string_view role, const Model& model,
                           const Cluster& cluster, std::vector<std::string>& assumed);
/// Pools, router, starting and stopping, faults; deployments that can run.
Fleet read_fleet(ServeValues& values, const Model& model, const Cluster& cluster,
                 std::vector<std::string>& assumed);
/// Who asks. @param largest in: the largest load is meant where none is told; out: it is what is asked for
ServingWorkload read_load(ServeValues& values, std::string& trace_name, bool& largest,
                          std::vector<std::string>& assumed);
/// A built-in model under the name of one of its checkpoints ("qwen3-235b-a22b-fp8") is stored as that says.
Result<Model> as_named(const std::string& name, Model model);
/// What is taken where no precision is given.
std::string stored_words(const Model& model);
/// What a precision that is given wants of the checkpoint, where the model's own is another.
void tell_precision(std::string_view text, const ServingPrecision& precision, const Model& model,
                    std::vector<std::string>& assumed);
/// What the model takes: requests of a trace that are longer would be turned away and ask nothing of a fleet.
void fit_lengths(ServeValues& values, const Model& model, ServingWorkload& load,
                 std::vector<std::string>& assumed);
/// Router, starting and stopping, faults.
void read_fleet_parts(ServeValues& values, Fleet& fleet);
/// What a measured point put on the deployment: "decode=1.05,front=1.2", or a file of `calibrate serving`.
void read_factors(ServeValues& values, Fleet& fleet);

/// The precision that a checkpoint's name ends with ("Qwen3-32B-FP8": "fp8"), and the name without it; empty: none.
struct NamedPrecision {
  std::string_view precision;
  std::string rest;
};
NamedPrecision precision_in_name(std::string_view name);

/// What servers are started with, as a question.
Result<ServeFile> file_of_servers(std::string_view text, const std::string& where,
                                  const std::filesystem::path& folder,
                                  const std::string& arguments);

/// The cluster with room for so many chips: the one that is named, or more of its nodes.
Result<Cluster> cluster_with(const std::string& line, unsigned chips, const Catalog& catalog);

}  // namespace flopcast::question
