// Floor 5: how long one iteration of an engine takes.
//
//   n tokens = decodes + prefill chunks of all ranks; T = larger of host and chip, or their sum
//   chip = sum over operators of t(n) + attention(decodes' context, prefills' pairs) + collectives
//
// Terms, sources and tests: docs/theory/serving.md. Prices are made once per (tokens) and kept as integers of
// picoseconds, so that a run of k decode iterations has a closed sum that equals stepping bit for bit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/network/collectives.h"
#include "flopcast/serving.h"

namespace flopcast {

/// What one attention rank (one of layout.dp) computes in an iteration. Sums over its requests.
struct RankLoad {
  std::int64_t decodes =
      0;  ///< requests past their prompt; with drafts each computes 1 + drafts tokens
  std::int64_t context = 0;  ///< tokens their attention reads: sum of (prompt + answer so far)
  /// the same with each request's tokens capped at IterationModel::context_cap(): sliding windows, chosen
  /// keys; 0 where there is no cap
  std::int64_t capped_context = 0;
  std::int64_t uncapped = 0;        ///< of the decodes, those whose context is still below the cap
  std::int64_t prefills = 0;        ///< chunks of prompts
  std::int64_t prefill_tokens = 0;  ///< their tokens
  /// sum over chunks of q (2 before + q + 1): twice the pairs of a query and a key it sees
  std::int64_t prefill_pairs = 0;
  std::int64_t prefill_context = 0;  ///< sum over chunks of the tokens before them, read again
  std::int64_t sampled = 0;          ///< chunks that end a prompt: rows that go through the head
  bool operator==(const RankLoad&) const = default;
};

/// A run of iterations of the same decodes: step i (from 0) takes first + i x growth, for i < steps.
struct LinearRun {
  Time first;              ///< the iteration as it is
  Time growth;             ///< more with every step, as contexts grow
  std::int64_t steps = 1;  ///< for how many it holds exactly; at least 1
};

/// A part of an iteration, as people read it.
struct IterationPart {
  std::string name;   ///< "attention decode", "experts", "all_reduce", "host"
  Seconds time;       ///< its share; parts add up to the iteration
  std::string bound;  ///< "bytes", "compute", "floor", "latency", "links"
  Basis basis = Basis::kAssumed;
};

/// Factors that measured points of a deployment put on what is uncertain about it; 1: none.
struct ServingFactors {
  double decode = 1;   ///< on the chip's time of iterations without prefill
  double prefill = 1;  ///< on that of iterations with prefill
  double front = 1;    ///< on what passes before an engine sees a request and after a token is made
  double host = 1;     ///< on the host's time of an iteration and of its requests
  bool operator==(const ServingFactors&) const = default;
};

/// Iteration times of a deployment. Immutable, thread-safe; <= 100 ns a query of one rank.
class IterationModel {
 public:
  /// The deployment's cluster may have other numbers than the catalogue's (what-ifs): kernels are then
  /// scaled from those of the chip of that name (KernelModelOptions::relative), links as told.
  /// Errors: those of KernelModel and CollectiveModel; a deployment with problems.
  static Result<IterationModel> make(const Deployment& deployment, const Catalog& catalog,
                                     const ServingFactors& factors = {});
  /// Until the iteration's results are there and the next one of these requests may begin. With a
  /// pipeline: of one stage, the slowest; `in_flight()` batches follow each other. @param ranks
  /// layout.dp of them.
  Time time(std::span<const RankLoad> ranks) const;
  /// The same for a run of decode-only iterations: of every rank the decodes stay, contexts grow by one
  /// token a decode (capped ones of `uncapped` only, for as long as the caller knows none to reach the
  /// cap). Equal to time() step by step, bit for bit. @pre no rank has prefills.
  LinearRun run(std::span<const RankLoad> ranks) const;
  /// tokens a layer that does not see everything sees at most; 0: all layers see everything
  std::int64_t context_cap() const;
  /// Batches under way at once: layout.pp.
  unsigned in_flight() const;
  /// A request's way into the engine, before it can be scheduled; of a token out of it to the client.
  Time front() const;
  Time back() const;  ///< see front()

  Basis basis() const;                ///< the weakest of its parts above a tenth of the time
  const std::string& source() const;  ///< in words
  /// Parts of an iteration; their sum is time() but for rounding to picoseconds.
  std::vector<IterationPart> parts(std::span<const RankLoad> ranks) const;

  IterationModel(IterationModel&&) noexcept;
  IterationModel& operator=(IterationModel&&) noexcept;
  ~IterationModel();

 private:
  struct State;
  explicit IterationModel(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Of the cluster's own fits that are constants the first that is none of an engine, or has none for its chip under this
/// engine.
std::optional<Diagnostic> own_constants_problem(const Cluster& cluster, ServingEngine engine);
/// Fits try other values: from here on this file is read in place of catalog/serving/constants.toml. For programs that
/// make nothing else, before their first forecast. Errors: those of the file for any engine.
std::optional<Diagnostic> replace_serving_constants(const std::filesystem::path& path);

}  // namespace flopcast
