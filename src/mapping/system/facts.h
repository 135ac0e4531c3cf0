// What a number of a system rests on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flopcast/mapping.h"

namespace flopcast::mapping {

/// The fact of that key, or null.
const Fact* find_fact(const std::vector<Fact>& facts, std::string_view key);

/// Takes over another entry's fact under a new key and with this value; one that is not there is
/// assumed.
void take_fact(MappingSystem& system, std::string key, double value, std::string_view unit,
               const std::vector<Fact>& from, std::string_view known_as);

void note_fact(MappingSystem& system, std::string key, double value, std::string_view unit,
               std::string source, Basis basis);

}  // namespace flopcast::mapping
