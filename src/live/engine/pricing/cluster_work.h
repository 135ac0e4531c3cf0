// The work of a live run on a cluster of the catalogue.
#pragma once

#include "flopcast/machine/training.h"
#include "live/engine/pricing/kernels.h"
#include "live/engine/pricing/transfers.h"
#include "live/engine/session/work.h"

namespace flopcast::live {

class ClusterWork final : public Work {
 public:
  /// @param operators a table of the user's; empty: none. Errors: those of that, of the models of kernels and of collectives.
  static Result<ClusterWork> make(const Cluster& cluster, const Catalog& catalog,
                                  const std::filesystem::path& operators = {});

  Time kernel(const Record& record, std::string_view signature) override;
  Time copy(const Record& record) override;
  Time alone(const Transfer& what) override { return transfers_.alone(what); }
  bool fills_chip(const Record& record, std::string_view signature) override {
    return kernels_.fills_chip(signature, record.word[0] * record.word[1]);
  }
  double contention() const override { return contention_; }
  double straggling() const override { return straggling_; }
  void begin(std::uint64_t transfer, const Transfer& what, Time start) override;
  std::optional<Time> next_end() override { return transfers_.next_end(); }
  std::vector<std::pair<std::uint64_t, Time>> advance(Time until) override {
    return transfers_.advance(until);
  }

  const KernelPrices& kernels() const { return kernels_; }
  /// The first transfer that the network could not carry.
  const std::optional<Diagnostic>& problem() const { return problem_; }

 private:
  ClusterWork(KernelPrices kernels, Transfers transfers, BytesPerSecond host_link,
              const TrainingConstants& known)
      : kernels_(std::move(kernels)),
        transfers_(std::move(transfers)),
        host_link_(host_link),
        contention_(known.contention),
        straggling_(known.straggler) {}

  KernelPrices kernels_;
  Transfers transfers_;
  BytesPerSecond host_link_;  ///< between a chip and its host
  double contention_ = 0;     ///< share of a chip's computing that transfers beside it take
  double straggling_ = 0;     ///< for each doubling of the nodes that wait for each other
  std::optional<Diagnostic> problem_;
};

}  // namespace flopcast::live
