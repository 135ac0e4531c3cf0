// The public doors of the closed forms.
#include "serving/search/steady.h"

namespace flopcast {

using namespace serving;  // the room's own names

SteadyState steady_state(const IterationModel& model, const ServingMemory& memory,
                         const EngineSettings& settings, const ServingLayout& layout, double users,
                         double input, double output) {
  return SteadySolver(model, memory, settings, layout, input, output).at(users);
}

ServingBound serving_bound(const IterationModel& model, const ServingMemory& memory,
                           const EngineSettings& settings, const ServingLayout& layout,
                           double input, double output) {
  ServingBound bound;
  bound.ttft = {least_ttft(model, settings, layout, input)};
  if (output > 1) bound.tpot = {least_tpot(model, settings, layout, input)};
  const TokenWorks works =
      least_works(model, memory, settings, layout, {input + output / 2, input + 1});
  bound.output_tokens_per_s = output / work_of(works, output - 1, input);
  return bound;
}

}  // namespace flopcast
