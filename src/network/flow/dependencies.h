// What flows wait for and who waits for them.
//
// The edges of a flow lie side by side; each is also in the list of the flow that is waited for.
#pragma once

#include <cstdint>
#include <vector>

#include "flopcast/network/flows.h"
#include "network/flow/free_runs.h"
#include "network/rates/numbers.h"

namespace flopcast::network::flow {

class Dependencies {
 public:
  struct Edge {
    FlowId before;       ///< what is waited for
    std::uint32_t flow;  ///< who waits
    std::uint32_t next;  ///< of the same list
  };

  /// Room for edges. @return the first.
  std::uint32_t take(std::uint32_t count) { return free_.take(edges_, count); }
  void give_back(std::uint32_t first, std::uint32_t count) {
    free_.give_back(edges_, first, count);
  }
  Edge& operator[](std::uint32_t edge) { return edges_[edge]; }
  const Edge& operator[](std::uint32_t edge) const { return edges_[edge]; }

  // A list is named by its first edge; kNone: empty.
  void enlist(std::uint32_t& list, std::uint32_t edge) {
    edges_[edge].next = list;
    list = edge;
  }
  void strike(std::uint32_t& list, std::uint32_t edge) {
    std::uint32_t* at = &list;
    while (*at != kNone && *at != edge) at = &edges_[*at].next;
    if (*at != kNone) *at = edges_[edge].next;
  }
  template <typename Visit>
  void for_each(std::uint32_t list, Visit visit) const {
    for (; list != kNone; list = edges_[list].next) visit(edges_[list].flow);
  }
  template <typename Visit>
  void for_first(std::uint32_t list, int count, Visit visit) const {
    for (; list != kNone && count > 0; list = edges_[list].next, --count) visit(edges_[list].flow);
  }
  void prefetch(std::uint32_t list) const {
    if (list != kNone) __builtin_prefetch(&edges_[list]);
  }
  std::size_t bytes() const { return edges_.capacity() * sizeof(Edge); }

 private:
  std::vector<Edge> edges_;
  FreeRuns<Edge, &Edge::next> free_;
};

}  // namespace flopcast::network::flow
