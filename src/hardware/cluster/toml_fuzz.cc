// Any bytes as a cluster file, and as a catalogue file's entries.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "hardware/cluster/builder.h"
#include "hardware/cluster/testing.h"
#include "support/fuzz_target.h"

FUZZ_TARGET(data, size) {
  using namespace flopcast;
  using namespace flopcast::hardware;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<TomlFile> file = parse_toml(text, "fuzz.toml", false);
  if (!file) return 0;
  check_cluster(ClusterBuilder(Catalog::builtin()).from_toml(*file));
  const Result<std::vector<NamedTable>> chips = tables_of(*file, "chip");
  if (!chips) return 0;
  for (const NamedTable& entry : *chips) {
    const Result<Chip> chip = read_chip(*file, *entry.table, entry.name, Catalog::builtin());
    test::check(chip || !chip.error().what.empty());
  }
  return 0;
}
