// Schedules in which partners at power-of-two distances, or everybody, exchange parts.
#include "flopcast/network/closed_form.h"
#include "network/collective/schedule.h"
#include "network/collective/schedule_builder.h"

namespace flopcast::network::schedules {

using closed_form::ceil_log2;
using closed_form::floor_log2;

namespace {

void halving(ScheduleBuilder& builder, unsigned p) {
  for (unsigned d = p / 2; d > 0; d /= 2) {
    builder.round(true);
    for (unsigned r = 0; r < p; ++r) {
      const unsigned partner = r ^ d, base = partner / d * d;
      builder.send(r, partner, d, [&](unsigned i) { return base + i; });
    }
  }
}

void doubling(ScheduleBuilder& builder, unsigned p) {
  for (unsigned d = 1; d < p; d *= 2) {
    builder.round(false);
    for (unsigned r = 0; r < p; ++r) {
      builder.send(r, r ^ d, d, [&](unsigned i) { return r / d * d + i; });
    }
  }
}

/// Ranks beyond the power of two hand their data to a partner, or get the result from it.
void fold(ScheduleBuilder& builder, unsigned core, unsigned p, bool in) {
  builder.round(in);
  for (unsigned r = core; r < p; ++r) {
    builder.send(in ? r : r - core, in ? r - core : r, core, [](unsigned i) { return i; });
  }
}

}  // namespace

Schedule halving_doubling(CollectiveOp op, unsigned p, Detail detail) {
  const unsigned core = 1U << floor_log2(p);
  ScheduleBuilder builder(p, core, detail);
  if (op == CollectiveOp::kAllReduce) fold(builder, core, p, true);
  if (op != CollectiveOp::kAllGather) halving(builder, core);
  if (op != CollectiveOp::kReduceScatter) doubling(builder, core);
  if (op == CollectiveOp::kAllReduce) fold(builder, core, p, false);
  return std::move(builder).take();
}

namespace {

Schedule bruck_all_gather(unsigned p, Detail detail) {
  ScheduleBuilder builder(p, p, detail);
  for (unsigned d = 1; d < p; d *= 2) {
    builder.round(false);
    for (unsigned r = 0; r < p; ++r) {
      builder.send(r, (r + p - d) % p, std::min(d, p - d), [&](unsigned i) { return (r + i) % p; });
    }
  }
  return std::move(builder).take();
}

/// What has to go o ranks further travels the bits of o, lowest first.
Schedule bruck_all_to_all(unsigned p, Detail detail) {
  ScheduleBuilder builder(p, p, detail);
  for (unsigned d = 1; d < p; d *= 2) {
    builder.round(false);
    std::vector<unsigned> offsets;
    for (unsigned o = d; o < p; ++o) {
      if (o & d) offsets.push_back(o);
    }
    for (unsigned r = 0; r < p; ++r) {
      builder.send(r, (r + d) % p, static_cast<unsigned>(offsets.size()), [&](unsigned i) {
        const unsigned source = (r + p - offsets[i] % d) % p;
        return source * p + (source + offsets[i]) % p;
      });
    }
  }
  return std::move(builder).take();
}

}  // namespace

Schedule bruck(CollectiveOp op, unsigned p, Detail detail) {
  return op == CollectiveOp::kAllToAll ? bruck_all_to_all(p, detail) : bruck_all_gather(p, detail);
}

Schedule pairwise(unsigned p, Detail detail) {
  ScheduleBuilder builder(p, p, detail);
  for (unsigned d = 1; d < p; ++d) {
    builder.round(false);
    for (unsigned r = 0; r < p; ++r) {
      const unsigned peer = (r + d) % p;
      builder.send(r, peer, 1, [&](unsigned) { return r * p + peer; });
    }
  }
  return std::move(builder).take();
}

Schedule direct(CollectiveOp op, unsigned p, Detail detail) {
  const bool rooted = op == CollectiveOp::kBroadcast || op == CollectiveOp::kReduce;
  ScheduleBuilder builder(p, rooted ? 1 : p, detail);
  const auto all_pairs = [&](bool reduces, auto&& id) {
    builder.round(reduces);
    for (unsigned r = 0; r < p; ++r) {
      for (unsigned d = 1; d < p; ++d) {
        const unsigned peer = (r + d) % p;
        builder.send(r, peer, 1, [&](unsigned) { return id(r, peer); });
      }
    }
  };
  if (rooted) {
    const bool in = op == CollectiveOp::kReduce;
    builder.round(in);
    for (unsigned r = 1; r < p; ++r) {
      builder.send(in ? r : 0, in ? 0 : r, 1, [](unsigned) { return 0U; });
    }
  } else if (op == CollectiveOp::kAllToAll) {
    all_pairs(false, [&](unsigned r, unsigned peer) { return r * p + peer; });
  } else {
    if (op != CollectiveOp::kAllGather)
      all_pairs(true, [](unsigned, unsigned peer) { return peer; });
    if (op != CollectiveOp::kReduceScatter)
      all_pairs(false, [](unsigned r, unsigned) { return r; });
  }
  return std::move(builder).take();
}

Schedule pat(CollectiveOp op, unsigned p, Detail detail) {
  ScheduleBuilder builder(p, p, detail);
  const bool reduces = op == CollectiveOp::kReduceScatter;
  // Part c reaches the rank o further on along the bits of o, highest first; a reduce-scatter runs
  // the same tree backwards.
  const unsigned rounds = ceil_log2(p);
  for (unsigned i = 0; i < rounds; ++i) {
    const unsigned h = 1U << (reduces ? i : rounds - 1 - i);
    const unsigned count = (p - h + 2 * h - 1) / (2 * h);  // o = 0, 2h, 4h ... with o + h < p
    builder.round(reduces);
    for (unsigned r = 0; r < p; ++r) {
      const unsigned dst = reduces ? (r + p - h) % p : (r + h) % p;
      const unsigned nearer = reduces ? h : 0;
      builder.send(r, dst, count, [&](unsigned j) { return (r + 2 * p - nearer - 2 * h * j) % p; });
    }
  }
  return std::move(builder).take();
}

}  // namespace flopcast::network::schedules
