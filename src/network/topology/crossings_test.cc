// The ways of many messages at once against those of one after the other.
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "flopcast/network.h"
#include "network/topology/divisor.h"

namespace flopcast::network {
namespace {

using Message = Topology::Message;

Topology::Crossings one_by_one(const Topology& topology, const std::vector<Message>& messages,
                               std::size_t around, std::uint64_t first_flow) {
  Topology::Crossings out;
  std::vector<LinkId> path;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    path.clear();
    topology.route(messages[i].src, messages[i].dst, first_flow + i, path);
    for (const LinkId link : path) {
      const auto met = std::ranges::find(out.links, link, &LinkUse::link);
      if (met == out.links.end()) {
        out.links.push_back({link, 1});
      } else {
        ++met->weight;
      }
    }
    const Time latency = topology.latency(path);
    out.slowest = std::max(out.slowest, latency);
    if (i < around) out.around += latency;
  }
  return out;
}

/// Runs of messages inside groups, some repeated elsewhere, and others between any two chips.
std::vector<Message> some_messages(std::uint32_t chips, std::uint32_t group) {
  std::vector<Message> run, messages;
  const auto chip = [](std::uint32_t below) { return *rc::gen::inRange(0U, below); };
  for (int i = *rc::gen::inRange(1, 30); i > 0; --i) {
    const int kind = *rc::gen::inRange(0, 4);
    if (kind == 0) {
      run.clear();
      for (int k = *rc::gen::inRange(1, 6); k > 0; --k) run.push_back({chip(group), chip(group)});
    } else if (kind == 1) {
      messages.push_back({chip(chips), chip(chips)});
    } else {
      const std::uint32_t first = chip(chips / group) * group;
      for (const Message& m : run) messages.push_back({first + m.src, first + m.dst});
    }
  }
  return messages;
}

RC_GTEST_PROP(Crossings, AreThoseOfTheMessagesOneByOne, ()) {
  const std::string fabric = *rc::gen::element<std::string>(
      "6 x dgx-h100", "37 x dgx-h100", "8 x dgx-h100, fat-tree 2x4, oversubscription 3",
      "16 x dgx-h100, fat-tree 2x2x4, oversubscription 2", "12 x dgx-h100, torus 2x3x2",
      "24 x dgx-h100, dragonfly 2x3x4", "16 x dgx-1-v100", "tpu-v4, torus 4x6x2 ici-v4",
      "h100, fully-connected 4 nvlink4, torus 2x3 ndr, switch 4 hdr", "8 x dgx-h100, ports 3",
      "a100_pairwise_nvlink", "h100, ring 5 nvlink4, ring 4 ndr, fully-connected 3 hdr");
  const auto cluster = Catalog::builtin().cluster(fabric);
  RC_ASSERT(cluster.ok());
  const RoutingOptions options{static_cast<Balancing>(*rc::gen::inRange(0, 3)), 3,
                               *rc::gen::arbitrary<bool>()};
  const auto topology = Topology::build(*cluster, options);
  RC_ASSERT(topology.ok());
  const auto inner =
      std::ranges::find_if(cluster->levels, [](const Level& l) { return l.size > 1; });
  for (int again = 0; again < 3; ++again) {
    const auto messages = some_messages(topology->endpoints(), inner->size);
    const std::size_t around = *rc::gen::inRange<std::size_t>(0, messages.size() + 2);
    const auto whole = topology->crossings(messages, around, 5);
    const auto expected = one_by_one(*topology, messages, around, 5);
    RC_ASSERT(whole.slowest == expected.slowest);
    RC_ASSERT(whole.around == expected.around);
    RC_ASSERT(whole.links.size() == expected.links.size());
    for (std::size_t i = 0; i < whole.links.size(); ++i) {
      RC_ASSERT(whole.links[i].link == expected.links[i].link);
      RC_ASSERT(whole.links[i].weight == expected.links[i].weight);
    }
  }
}

RC_GTEST_PROP(Divisor, DividesAsTheNumberDoes, ()) {
  const auto bits = [](int most) {  // numbers of all sizes
    return *rc::gen::arbitrary<std::uint64_t>() >> (64 - *rc::gen::inRange(1, most + 1));
  };
  const auto number = static_cast<std::uint32_t>(std::max<std::uint64_t>(bits(32), 1));
  const Divisor divisor(number);
  const std::uint64_t limit = std::numeric_limits<std::uint64_t>::max() / number;
  for (const std::uint64_t n : {bits(64), limit, limit - 1, limit + 1, bits(32) * number,
                                bits(32) * number - 1, std::uint64_t{0} - 1}) {
    RC_ASSERT(n / divisor == n / number);
    RC_ASSERT(n % divisor == n % number);
    const auto small = static_cast<std::uint32_t>(n);
    RC_ASSERT(small / divisor == small / number);
    RC_ASSERT(small % divisor == small % number);
  }
}

}  // namespace
}  // namespace flopcast::network
