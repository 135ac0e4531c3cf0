#include <fmt/format.h>

#include <ostream>

#include "flopcast/network.h"

namespace flopcast {

void write_simgrid_platform(const Topology& topology, std::ostream& out) {
  out << "<?xml version=\"1.0\"?>\n"
         "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
         "<platform version=\"4.1\">\n"
         "<zone id=\"cluster\" routing=\"Full\">\n";
  const std::uint32_t hosts = topology.endpoints();
  // A host computes nothing here; SimGrid wants a speed all the same.
  for (std::uint32_t host = 0; host < hosts; ++host) {
    out << fmt::format("<host id=\"{}\" speed=\"1Gf\"/>\n", host);
  }
  const auto links = topology.links();
  for (std::size_t i = 0; i < links.size(); ++i) {
    out << fmt::format("<link id=\"l{}\" bandwidth=\"{}Bps\" latency=\"{}ps\"/>\n", i,
                       links[i].capacity.bytes_per_second().value, links[i].latency.ps);
  }
  std::vector<LinkId> path;
  for (std::uint32_t src = 0; src < hosts; ++src) {
    for (std::uint32_t dst = 0; dst < hosts; ++dst) {
      if (src == dst) continue;
      path.clear();
      topology.route(src, dst, 0, path);
      out << fmt::format("<route src=\"{}\" dst=\"{}\" symmetrical=\"NO\">", src, dst);
      for (const LinkId link : path) out << fmt::format("<link_ctn id=\"l{}\"/>", link);
      out << "</route>\n";
    }
  }
  out << "</zone>\n</platform>\n";
}

}  // namespace flopcast
