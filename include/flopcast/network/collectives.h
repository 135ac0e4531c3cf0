// Floor 2: how long a collective takes: closed form, lockstep macro-flow, expanded flows.
//
// Sizes follow nccl-tests: all_reduce, broadcast, reduce: the buffer; all_gather: the whole output;
// reduce_scatter: the whole input; all_to_all: the send buffer of one rank; send_recv: the message.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/hardware.h"
#include "flopcast/network.h"
#include "flopcast/network/flows.h"

namespace flopcast {

/// What ranks do together.
enum class CollectiveOp : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAllToAll,
  kSendRecv,
  kBarrier
};
/// How they do it.
enum class CollectiveAlgorithm : std::uint8_t {
  kAuto,  ///< what NCCL would choose
  kRing,
  kTree,
  kHalvingDoubling,
  kDirect,
  kBruck,
  kHierarchical,
  kTorus,
  kNvls,
  kNvlsTree,
  kPat,
  kDualNetwork,  ///< Subramanian et al.: flat rings over a fast and a slow network
};
/// NCCL's protocols: how a message is cut and told to have arrived.
enum class CollectiveProtocol : std::uint8_t { kAuto, kLl, kLl128, kSimple };
/// What a time is to rest on.
enum class CollectiveSource : std::uint8_t {
  kBest,  ///< table, else fitted, else NCCL's constants
  kTable,
  kFitted,
  kNcclConstants,
  kAlphaBeta,  ///< the textbook form over the cluster's latencies and bandwidths
};
std::string_view name(CollectiveOp op);                                  ///< "all_reduce"
std::optional<CollectiveOp> parse_collective_op(std::string_view text);  ///< also "AllReduce"
std::string_view name(CollectiveAlgorithm algorithm);                    ///< "ring"
std::string_view name(CollectiveProtocol protocol);                      ///< "Simple"
std::string_view name(CollectiveSource source);  ///< "best", "nccl", "alpha_beta"
/// by the names that `name` gives, "auto" too
std::optional<CollectiveAlgorithm> parse_collective_algorithm(std::string_view text);
/// by the names that `name` gives, "auto" too
std::optional<CollectiveProtocol> parse_collective_protocol(std::string_view text);
/// by the names that `name` gives
std::optional<CollectiveSource> parse_collective_source(std::string_view text);
/// Bus bandwidth over algorithm bandwidth (nccl-tests): 2(p-1)/p for all_reduce, ...
double bus_bandwidth_factor(CollectiveOp op, unsigned ranks);

/// One collective.
struct CollectiveQuery {
  CollectiveOp op = CollectiveOp::kAllReduce;  ///< what is done
  Bytes size;                                  ///< bytes; of what: see the head of this file
  DataType type = DataType::kBf16;             ///< of the elements that are reduced
  /// Members as chips of the cluster; empty: all of them.
  std::vector<std::uint32_t> ranks;
  /// kAuto: what NCCL would choose
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kAuto;
  CollectiveProtocol protocol = CollectiveProtocol::kAuto;  ///< kAuto: what NCCL would choose
  CollectiveSource source = CollectiveSource::kBest;        ///< what the time is to rest on
};

/// How long it takes, and what that rests on.
struct CollectiveTime {
  Seconds time;                   ///< until the last rank is done
  Seconds low, high;              ///< 10-90 % band
  Basis basis = Basis::kAssumed;  ///< of `time`
  std::string source;             ///< in words: "table h100-sxm all_reduce 8 ranks, NCCL 2.27.3"
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;  ///< the one taken
  CollectiveProtocol protocol = CollectiveProtocol::kSimple;   ///< the one taken
  /// What one level of the cluster adds.
  struct Part {
    std::string level;          ///< its name
    Seconds latency, transfer;  ///< of messages; of bytes
  };
  std::vector<Part> parts;  ///< by level
  /// Every algorithm and protocol considered, fastest first.
  struct Candidate {
    CollectiveAlgorithm algorithm;  ///< considered
    CollectiveProtocol protocol;    ///< considered
    Seconds time;                   ///< it would take
  };
  std::vector<Candidate> candidates;  ///< fastest first
};

/// The first half of a CollectiveTime: for callers that ask again and again.
struct CollectiveEstimate {
  Seconds time;                   ///< until the last rank is done
  Seconds low, high;              ///< 10-90 % band
  Basis basis = Basis::kAssumed;  ///< of `time`
  std::string_view source;        ///< in words; the model's, valid as long as it
};

class CollectiveFit;  // flopcast/network/fit.h
/// Measurements of the machine's owner.
struct OwnCollectives {
  std::shared_ptr<const CollectiveFit> fit;  ///< what they say
  std::string file;                          ///< that they are in
};

/// Collective times on one cluster. Thread-safe once made.
class CollectiveModel {
 public:
  struct State;  ///< the library's own
  /// Measurements hold for clusters with the numbers of what they were taken on; where numbers were
  /// overridden (Cluster::nominal) they are moved: times the closed form's time on this cluster over that on the
  /// one without overrides.
  /// @param fit measurements to answer from, which must live as long as the model; none: the
  /// catalogue's. @param own measurements of this very machine, its network between nodes included: they answer first,
  /// what they do not hold is left to `fit`. Errors: one that says itself to be of another node or chip.
  static Result<CollectiveModel> make(const Cluster& cluster, const CollectiveFit* fit = nullptr,
                                      std::span<const OwnCollectives> own = {});
  /// Level 0, closed form: the collective is alone on its links.
  Result<CollectiveTime> time(const CollectiveQuery& query) const;
  /// The same numbers and words as time(), without what the time is made of and what else was considered.
  /// Once a case has been asked for that measurements answer, other sizes of it take no memory.
  Result<CollectiveEstimate> estimate(const CollectiveQuery& query) const;
  const Cluster& cluster() const;  ///< as given

  CollectiveModel(CollectiveModel&&) noexcept;
  CollectiveModel& operator=(CollectiveModel&&) noexcept;
  ~CollectiveModel();

 private:
  explicit CollectiveModel(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Levels 1 and 2: the flows of a collective, for a simulator that others use as well.
enum class Expansion : std::uint8_t {
  kMacroFlow,  ///< one variable per phase: NCCL's lockstep, the slowest edge paces all
  kExpanded,   ///< every message of every step, with its dependencies
};
/// What submit_collective added to the simulator.
struct CollectiveFlows {
  std::vector<FlowId> flows;  ///< all of them
  std::vector<FlowId> last;   ///< complete when all of these are
};
/// Submits the collective to `flows` at `start`, after `after`.
Result<CollectiveFlows> submit_collective(FlowSimulator& flows, const Topology& topology,
                                          const Cluster& cluster, const CollectiveQuery& query,
                                          Expansion expansion, Time start,
                                          std::span<const FlowId> after = {});

}  // namespace flopcast
