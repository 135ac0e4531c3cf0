// Names of operations, algorithms and protocols, as files and people write them.
#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

#include "flopcast/network/collectives.h"

namespace flopcast {
namespace {

constexpr std::array<std::string_view, 8> kOps = {"all_reduce", "all_gather", "reduce_scatter",
                                                  "broadcast",  "reduce",     "all_to_all",
                                                  "send_recv",  "barrier"};
constexpr std::array<std::string_view, 12> kAlgorithms = {
    "auto",         "ring",  "tree", "halving_doubling", "direct", "bruck",
    "hierarchical", "torus", "nvls", "nvls_tree",        "pat",    "dual_network"};
constexpr std::array<std::string_view, 4> kProtocols = {"auto", "LL", "LL128", "Simple"};
constexpr std::array<std::string_view, 5> kSources = {"best", "table", "fitted", "nccl",
                                                      "alpha_beta"};

/// Lower case without '_', '-' and ' ': "AllReduce", "all-reduce" and "all_reduce" are one.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '_' || c == '-' || c == ' ') continue;
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

template <typename Enum, std::size_t kCount>
std::optional<Enum> parse(const std::array<std::string_view, kCount>& names,
                          std::string_view text) {
  const std::string wanted = plain(text);
  for (std::size_t i = 0; i < kCount; ++i) {
    if (plain(names[i]) == wanted) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view name(CollectiveOp op) { return kOps[static_cast<std::size_t>(op)]; }
std::string_view name(CollectiveAlgorithm algorithm) {
  return kAlgorithms[static_cast<std::size_t>(algorithm)];
}
std::string_view name(CollectiveProtocol protocol) {
  return kProtocols[static_cast<std::size_t>(protocol)];
}
std::string_view name(CollectiveSource source) {
  return kSources[static_cast<std::size_t>(source)];
}

std::optional<CollectiveOp> parse_collective_op(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, CollectiveOp>, 6> kAlso = {{
      {"sendrecv", CollectiveOp::kSendRecv},
      {"p2p", CollectiveOp::kSendRecv},
      {"a2a", CollectiveOp::kAllToAll},
      {"alltoallv", CollectiveOp::kAllToAll},
      {"alltoall", CollectiveOp::kAllToAll},
      {"bcast", CollectiveOp::kBroadcast},
  }};
  const std::string wanted = plain(text);
  for (const auto& [also, op] : kAlso) {
    if (wanted == also) return op;
  }
  return parse<CollectiveOp>(kOps, text);
}
std::optional<CollectiveAlgorithm> parse_collective_algorithm(std::string_view text) {
  return parse<CollectiveAlgorithm>(kAlgorithms, text);
}
std::optional<CollectiveProtocol> parse_collective_protocol(std::string_view text) {
  return parse<CollectiveProtocol>(kProtocols, text);
}
std::optional<CollectiveSource> parse_collective_source(std::string_view text) {
  return parse<CollectiveSource>(kSources, text);
}

double bus_bandwidth_factor(CollectiveOp op, unsigned ranks) {
  const double p = std::max(ranks, 1U);
  switch (op) {
    case CollectiveOp::kAllReduce:
      return 2 * (p - 1) / p;
    case CollectiveOp::kAllGather:
    case CollectiveOp::kReduceScatter:
    case CollectiveOp::kAllToAll:
      return (p - 1) / p;
    default:
      return 1;
  }
}

}  // namespace flopcast
