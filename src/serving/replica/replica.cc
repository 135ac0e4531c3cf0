#include "flopcast/serving/replica.h"

#include "serving/replica/engine.h"

namespace flopcast {

using namespace serving;

namespace serving {
namespace {

EngineTerms engine_terms(const IterationModel& model, const Deployment& deployment,
                         const ServingMemory& memory) {
  const EngineSettings& settings = deployment.settings;
  const std::int64_t blocks =
      settings.kv_tokens > 0 ? settings.kv_tokens / settings.block : memory.blocks;
  return {
      rank_terms(settings, blocks, model.context_cap(), model.in_flight(), deployment.layout.dp),
      0};
}

}  // namespace
}  // namespace serving

struct Replica::State {
  Engine<IterationModel> engine;
};

Replica::Replica(const IterationModel& model, const Deployment& deployment,
                 const ServingMemory& memory, const Options& options)
    : state_(new State{{model, engine_terms(model, deployment, memory), options}}) {}
Replica::Replica(Replica&&) noexcept = default;
Replica& Replica::operator=(Replica&&) noexcept = default;
Replica::~Replica() = default;

std::optional<Diagnostic> Replica::submit(const ReplicaRequest& request, Time at) {
  return state_->engine.submit(request, at);
}
Time Replica::next() const { return state_->engine.next(); }
void Replica::advance(Time until, std::vector<ReplicaEvent>& events) {
  state_->engine.advance(until, events);
}
void Replica::cancel(std::uint32_t id) { state_->engine.cancel(id); }
std::int64_t Replica::waiting() const { return state_->engine.waiting(); }
std::int64_t Replica::running() const { return state_->engine.running(); }
std::int64_t Replica::blocks_used() const { return state_->engine.blocks_used(); }
std::int64_t Replica::blocks() const { return state_->engine.blocks(); }
std::int64_t Replica::outstanding_tokens() const { return state_->engine.outstanding_tokens(); }
std::int64_t Replica::cached_tokens(std::span<const std::uint64_t> prefix,
                                    std::int64_t prefix_block) const {
  return state_->engine.cached_tokens(prefix, prefix_block);
}
const ReplicaCounts& Replica::counts() const { return state_->engine.counts(); }
std::span<const IterationSample> Replica::samples() const { return state_->engine.samples(); }

}  // namespace flopcast
