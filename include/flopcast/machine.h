// Floor 3: one machine. What its kernels and transfers take, and what else forecasts of it rest on: made once from a
// cluster, changed by one function. A measurement holds for a machine by its numbers: for others it is what was
// measured, times the model's time on the machine over the model's on the one that was measured.
//
//   const Machine machine = *Machine::make(*catalog.cluster("64 x dgx-h100"), catalog);
//   machine.kernels().time(gemm);  machine.transfers().estimate(all_reduce);
//   const Machine faster = *machine.with({MachineNumber::kHbmBandwidth}, {1.1, true});
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/base/quantity.h"
#include "flopcast/cost.h"
#include "flopcast/hardware.h"
#include "flopcast/network/collectives.h"

namespace flopcast {

/// What a knob changes.
enum class MachineNumber : std::uint8_t {
  kMatrixRate,  ///< dense FLOP/s of matrix units, of every type by the same factor; as a value: bf16's
  kRates,       ///< likewise of matrix and vector units
  kHbmBandwidth,   ///< B/s
  kHbmCapacity,    ///< B
  kPower,          ///< W that a chip is held to
  kHostBandwidth,  ///< B/s between a chip and its host
  kLinkBandwidth,  ///< B/s of a port
  kLinkLatency,    ///< s of a message
};
/// One number of a machine; links are those of `levels` levels from `first_level` on.
struct Knob {
  MachineNumber number = MachineNumber::kHbmBandwidth;  ///< which
  unsigned first_level = 0;                             ///< innermost that is changed, of links
  unsigned levels = ~0U;                                ///< how many, as far as there are
};
/// What the number of a knob counts.
UnitKind unit_of(MachineNumber number);

/// The cluster with one number changed; Cluster::nominal is the one that it was before any change. Errors
/// (kUsage): a number that no hardware has, levels that the cluster has not or that are a graph.
Result<Cluster> with_changed(const Cluster& cluster, const Knob& knob,
                             const QuantityChange& amount);

/// What a machine's models are made with.
struct MachineOptions {
  KernelModelOptions kernels;                  ///< how kernels are priced
  const CollectiveFit* collectives = nullptr;  ///< must outlive the machine; none: the catalogue's
  /// What the cluster's own fits may be of: what the question that is asked makes use of. Those of kernels and collectives
  /// are read here, others by who asks.
  std::vector<FitKind> uses = {FitKind::kNetwork, FitKind::kKernels};
  std::string_view asker = "this question";  ///< of whom errors say that it would not use one
};

/// Of a question that makes use of these kinds of fits alone.
inline MachineOptions with_uses(std::vector<FitKind> uses, std::string_view asker) {
  MachineOptions options;
  options.uses = std::move(uses);
  options.asker = asker;
  return options;
}

/// The models of one cluster. Immutable, thread-safe, quick to copy.
class Machine {
 public:
  /// Errors: those of KernelModel::make and CollectiveModel::make; a fit of the cluster that is of another kind than may be,
  /// of another chip or node, or does not hold what it should.
  /// @param catalog must outlive the machine.
  static Result<Machine> make(Cluster cluster, const Catalog& catalog,
                              const MachineOptions& options = {});
  /// Of one chip that nothing joins to others. Errors: as above.
  static Result<Machine> of(const Chip& chip, const Catalog& catalog,
                            const MachineOptions& options = {});
  /// The same with one number changed. Errors: those of with_changed() and make().
  Result<Machine> with(const Knob& knob, const QuantityChange& amount) const;

  const Cluster& cluster() const;            ///< as given
  const KernelModel& kernels() const;        ///< of its chip
  const CollectiveModel& transfers() const;  ///< between its chips
  /// A chip held below the power of its nominal one runs at lower clocks: the share of its rates that is left where
  /// those go with power to this exponent. 1 where either power is not known.
  double power_share(double exponent) const;

 private:
  struct State;
  explicit Machine(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace flopcast
