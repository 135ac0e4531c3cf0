#include "analytic/step/pass_time.h"

#include <algorithm>

namespace flopcast::analytic {
namespace {

TimePart part_of(Group group) {
  switch (group) {
    case Group::kContext:
      return TimePart::kContext;
    case Group::kExpert:
    case Group::kExpertTensor:
      return TimePart::kExpert;
    default:
      return TimePart::kTensor;
  }
}

/// Share of the transfer that runs behind `cover` seconds of kernels.
struct Hiding {
  double share = 0, cover_s = 0;
};

Hiding hiding(const Sent& sent, const PassTiming& t) {
  if (!sent.overlappable) return {};
  switch (sent.transfer.group) {
    case Group::kContext:
      return {t.overlap.context ? 1.0 : 0.0, sent.cover_s};
    case Group::kExpert:
    case Group::kExpertTensor:
      // What hides it belongs to another microbatch: there is enough of it.
      return {t.overlap.experts ? t.constants.expert_overlap : 0, 1e300};
    default:
      // Megatron's asynchronous linear layer; PyTorch's DTensor waits for what it sends.
      if (sent.async_s > 0 && t.constants.whole_inputs == 0) {
        return {t.constants.async_overlap, sent.async_s};
      }
      return {t.overlap.tensor ? t.constants.tensor_overlap : 0, sent.cover_s};
  }
}

/// Rows go to every expert apart, or once to each place that needs them.
Bytes sent_bytes(const Sent& sent, const PassTiming& t) {
  const double once = share_sent_once(sent.transfer, t.layouts[sent.transfer.group]);
  return sent.transfer.size * (1 + t.constants.expert_once * (once - 1));
}

void add_transfers(const PassCost& pass, const PassTiming& t, Parts& out,
                   std::array<double, 5>& rests_on) {
  for (const Sent& sent : pass.sent) {
    const GroupTimes::Answer answer = t.times.time(
        sent.transfer.op, sent_bytes(sent, t), sent.transfer.type, t.layouts[sent.transfer.group]);
    const double all = answer.seconds * sent.count / t.constants.collective_share;
    const Hiding h = hiding(sent, t);
    const double hidden = h.share * std::min(all, h.cover_s);
    at(out, part_of(sent.transfer.group)) += all - hidden;
    at(out, TimePart::kContention) += t.constants.contention * hidden;
    rests_on[static_cast<std::size_t>(answer.basis)] += all - hidden;
  }
}

Parts pass_parts(const PassCost& pass, const PassTiming& t, std::array<double, 5>& rests_on) {
  Parts parts{};
  at(parts, TimePart::kMatrix) = pass.matrix_s;
  at(parts, TimePart::kAttention) = pass.attention_s;
  at(parts, TimePart::kMemoryBound) = pass.memory_s;
  add_transfers(pass, t, parts, rests_on);
  for (std::size_t i = 0; i < rests_on.size(); ++i) rests_on[i] += pass.rests_on_s[i];
  // Where the host is slower than the chip, the chip waits for its launches.
  at(parts, TimePart::kHost) = std::max(0.0, pass.launches_s - sum(parts));
  return parts;
}

}  // namespace

double sum(const Parts& parts) {
  double all = 0;
  for (const double part : parts) all += part;
  return all;
}

double sent_s(const Parts& pass) {
  double seconds = 0;
  for (const TimePart part : {TimePart::kTensor, TimePart::kContext, TimePart::kExpert}) {
    seconds += pass[static_cast<std::size_t>(part)];
  }
  return seconds;
}

void add(Parts& to, const Parts& from, double times) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i] * times;
}

ListTime time_list(const ListCost& cost, const PassTiming& timing) {
  ListTime time;
  time.forward = pass_parts(cost.forward, timing, time.rests_on_s);
  time.backward_input = pass_parts(cost.backward_input, timing, time.rests_on_s);
  time.backward_weight = pass_parts(cost.backward_weight, timing, time.rests_on_s);
  Parts again = pass_parts(cost.recompute, timing, time.rests_on_s);
  at(again, TimePart::kRecompute) = at(again, TimePart::kMatrix) + at(again, TimePart::kAttention) +
                                    at(again, TimePart::kMemoryBound);
  at(again, TimePart::kMatrix) = at(again, TimePart::kAttention) = 0;
  at(again, TimePart::kMemoryBound) = 0;
  add(time.backward_input, again);
  time.forward_s = sum(time.forward);
  time.input_s = sum(time.backward_input);
  time.weight_s = sum(time.backward_weight);
  return time;
}

}  // namespace flopcast::analytic
