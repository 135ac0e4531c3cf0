#include "whatif/check_answer.h"

#include <vector>

#include "base/numeric/answer_check.h"

namespace flopcast::whatif {
namespace {

void check_total(AnswerCheck& check, std::string_view name, const std::optional<double>& value) {
  if (value) check.amount(name, *value);
}

void check_totals(AnswerCheck& check, const WhatIfTotals& totals) {
  check_total(check, "tokens per step", totals.tokens_per_step);
  check_total(check, "tokens per second", totals.tokens_per_s);
  check_total(check, "memory", totals.memory_bytes);
  check_total(check, "energy", totals.energy_j);
  check_total(check, "cost", totals.cost_usd);
  check_total(check, "cost of a million tokens", totals.usd_per_million_tokens);
  if (totals.mfu) check.share("MFU", *totals.mfu);
}

/// Each part is rounded to the picosecond on its own.
void check_parts(AnswerCheck& check, const WhatIfAnswer& answer) {
  std::vector<double> before, after;
  for (const WhatIfPart& part : answer.parts) {
    check.time(part.part, part.before);
    check.time(part.part, part.after);
    before.push_back(part.before.seconds());
    after.push_back(part.after.seconds());
  }
  if (answer.parts.empty()) return;
  check.sum("the step before", before, answer.before.seconds());
  check.sum("the step after", after, answer.after.seconds());
}

}  // namespace

std::optional<Diagnostic> check_answer(const WhatIfAnswer& answer) {
  if (!answer.refused.empty()) return std::nullopt;
  AnswerCheck check("the answer");
  check.time("the step before", answer.before);
  check.band("the step after", answer.band.low, answer.after, answer.band.high);
  check.time("the host's step before", answer.host_before);
  check.time("the host's step after", answer.host_after);
  for (const WhatIfBand::Source& source : answer.band.sources) {
    check.time("a doubt", source.below);
    check.time("a doubt", source.above);
  }
  for (const WhatIfStep& step : answer.steps) {
    for (const Time time : {step.before_gpu, step.after_gpu, step.before_host, step.after_host}) {
      check.time(step.name, time);
    }
  }
  check_parts(check, answer);
  check_totals(check, answer.totals_before);
  check_totals(check, answer.totals);
  return check.problem();
}

}  // namespace flopcast::whatif
