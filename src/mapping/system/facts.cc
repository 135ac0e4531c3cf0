#include "mapping/system/facts.h"

#include <algorithm>

namespace flopcast::mapping {

const Fact* find_fact(const std::vector<Fact>& facts, std::string_view key) {
  const auto found =
      std::find_if(facts.begin(), facts.end(), [&](const Fact& fact) { return fact.key == key; });
  return found == facts.end() ? nullptr : &*found;
}

void note_fact(MappingSystem& system, std::string key, double value, std::string_view unit,
               std::string source, Basis basis) {
  put_fact(system.facts, {std::move(key), value, std::string(unit), std::move(source), basis});
}

void take_fact(MappingSystem& system, std::string key, double value, std::string_view unit,
               const std::vector<Fact>& from, std::string_view known_as) {
  const Fact* known = find_fact(from, known_as);
  note_fact(system, std::move(key), value, unit, known == nullptr ? "assumed" : known->source,
            known == nullptr ? Basis::kAssumed : known->basis);
}

}  // namespace flopcast::mapping
