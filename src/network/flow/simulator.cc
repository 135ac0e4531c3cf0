#include "flopcast/network/flows.h"
#include "network/flow/engine.h"

namespace flopcast {

using namespace network;  // the room's own names

struct FlowSimulator::State {
  flow::Engine engine;
};

FlowSimulator::FlowSimulator(std::span<const Rate> capacities, const Options& options)
    : state_(new State{flow::Engine(capacities, options)}) {}
FlowSimulator::FlowSimulator(FlowSimulator&&) noexcept = default;
FlowSimulator& FlowSimulator::operator=(FlowSimulator&&) noexcept = default;
FlowSimulator::~FlowSimulator() = default;

Result<FlowId> FlowSimulator::submit(const FlowSpec& spec, Time start) {
  return state_->engine.submit(spec, start);
}
std::optional<Diagnostic> FlowSimulator::update_start(FlowId flow, Time start) {
  return state_->engine.update_start(flow, start);
}
std::optional<Diagnostic> FlowSimulator::cancel(FlowId flow, Time at) {
  return state_->engine.cancel(flow, at);
}
Time FlowSimulator::advance(Time until) { return state_->engine.advance(until); }
Time FlowSimulator::now() const { return state_->engine.now(); }
FlowStatus FlowSimulator::query(FlowId flow) const { return state_->engine.query(flow, now()); }
FlowStatus FlowSimulator::query(FlowId flow, Time at) const {
  return state_->engine.query(flow, at);
}
std::vector<LinkUse> FlowSimulator::path(FlowId flow) const {
  return state_->engine.used_links(flow);
}
Rate FlowSimulator::link_rate(LinkId link) const { return state_->engine.link_rate(link); }
void FlowSimulator::set_horizon(Time time) { state_->engine.set_horizon(time); }
Time FlowSimulator::horizon() const { return state_->engine.horizon(); }
std::vector<CompletionChange> FlowSimulator::take_changes() {
  return state_->engine.take_changes();
}
FlowSimulator::Work FlowSimulator::work() const { return state_->engine.work(); }

}  // namespace flopcast
