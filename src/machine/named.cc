#include "flopcast/machine/named.h"

namespace flopcast {

Result<Machine> named_chip(const std::string& line, const Catalog& catalog,
                           const MachineOptions& options) {
  if (line.find(',') == std::string::npos) {
    const Result<Chip> chip = catalog.chip(line);
    if (!chip) return chip.error();
    return Machine::of(*chip, catalog, options);
  }
  Result<Cluster> cluster = catalog.cluster(line);
  if (!cluster) return cluster.error();
  return Machine::make(std::move(*cluster), catalog, options);
}

}  // namespace flopcast
