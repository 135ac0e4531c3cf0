// Clusters as people say them: "64 nodes of 8 H100", "400G InfiniBand". What is said is found in the catalogue, or refused
// with what it may have meant.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "flopcast/hardware.h"

namespace flopcast::hardware {

/// How many of what; 0 and "" for what is not said.
struct SpokenMachine {
  unsigned nodes = 0;     ///< "64 nodes"
  unsigned per_node = 0;  ///< chips in each: "of 8 H100"
  unsigned named = 0;     ///< of the name, whatever that is: "512 H100"
  bool chips = false;     ///< `named` are chips: "512 GPUs of ..."
  std::string name;       ///< "H100"
};
/// Words in any order: counts, nodes, chips, "per node", and what is left over as the name. Nothing where counts do not go
/// together.
std::optional<SpokenMachine> spoken_machine(std::string_view text);

/// The chip by what it is called every day: without its vendor, with its memory or its socket ("NVIDIA H100 SXM5 80GB",
/// "A100 40GB", "H100s"). None where no chip has what is said.
const Chip* spoken_chip(const Catalog& catalog, std::string_view text);

/// What joins nodes: "400G InfiniBand", "NDR InfiniBand", "8 x 200G RoCE".
struct SpokenLink {
  unsigned ports = 0;  ///< of a node; 0: not said
  double gbit = 0;     ///< a second and port; 0: not said
  std::string family;  ///< "InfiniBand", "Ethernet", "Slingshot"; "": not said
  std::string link;    ///< of the catalogue; "": none is so, or not enough is said
  std::string wrong;   ///< what does not go together, or is not there, where there is no link
  std::string hint;    ///< what to write
};
/// Nothing where the words are about something else.
std::optional<SpokenLink> spoken_link(const Catalog& catalog, std::string_view text);

}  // namespace flopcast::hardware
