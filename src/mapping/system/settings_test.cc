#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flopcast/mapping.h"
#include "mapping/system/settings.h"
#include "support/temporary_folder.h"

namespace flopcast::mapping {
namespace {

using testing::HasSubstr;

MappingSystem sn10() {
  SystemOptions options;
  options.topology = "torus:4x2";
  return *mapping_system("8 x sn10", options, Catalog::builtin());
}

MappingSystem changed(std::string_view setting, std::string_view value) {
  MappingSystem system = sn10();
  const auto done = set_system(system, setting, value);
  EXPECT_TRUE(done) << setting << ": " << (done ? "" : done.error().text());
  return system;
}

TEST(SystemSettings, EveryNameTakesAValueAndSaysSo) {
  for (const std::string& setting : system_settings()) {
    const auto unit = mapping::setting_unit(setting);
    const std::string value = unit ? "3" + std::string(unit_name(*unit)) : "yes";
    const MappingSystem system = changed(setting, value);
    const bool noted = std::any_of(system.facts.begin(), system.facts.end(), [&](const Fact& fact) {
      return fact.key.starts_with(setting) && fact.basis == Basis::kAssumed;
    });
    EXPECT_TRUE(noted) << setting;
  }
}

TEST(SystemSettings, AreAllInTheReference) {
  const std::string reference = flopcast::test::read_text("docs/reference/cluster.md");
  for (const std::string& setting : system_settings()) {
    EXPECT_THAT(reference, HasSubstr("`" + setting + "`"));
  }
}

TEST(SystemSettings, QuantitiesAndFactors) {
  EXPECT_EQ(changed("sram", "500MB").sram.value, 500e6);
  EXPECT_EQ(changed("sram", "2x").sram.value, 2 * 335544320.0);
  EXPECT_EQ(changed("memory-bandwidth", "0.5x").memory_bandwidth.value, 100e9);
  EXPECT_EQ(changed("memory-capacity", "0").memory_capacity.value, 0);
  EXPECT_EQ(changed("memory-price", "3").prices.memory_usd, 3);
  EXPECT_DOUBLE_EQ(changed("link-latency", "150ns").dimensions[1].latency.value, 150e-9);
  EXPECT_EQ(changed("link-latency", "0").dimensions[1].latency.value, 0);
  EXPECT_TRUE(changed("kernel-by-kernel", "yes").kernel_by_kernel);
}

TEST(SystemSettings, OneDimensionOrAll) {
  const MappingSystem all = changed("link-bandwidth", "3x");
  EXPECT_EQ(all.dimensions[0].bandwidth.value, 150e9);
  EXPECT_EQ(all.dimensions[1].bandwidth.value, 150e9);
  const MappingSystem outer = changed("link-bandwidth-1", "25GB/s");
  EXPECT_EQ(outer.dimensions[0].bandwidth.value, 50e9);
  EXPECT_EQ(outer.dimensions[1].bandwidth.value, 25e9);
}

// The peak is that of the tiles: whichever is changed, the other follows.
TEST(SystemSettings, TilesAndPeakGoTogether) {
  const MappingSystem more = changed("tiles", "2080");
  EXPECT_EQ(more.chip.tiles.count, 2080U);
  EXPECT_DOUBLE_EQ(more.peak.value, more.chip.tiles.peak().value);
  EXPECT_DOUBLE_EQ(changed("tile-frequency", "1.6GHz").peak.value, 307.2e12 * 1.6 / 1.25);
  EXPECT_DOUBLE_EQ(changed("tile-height", "2x").peak.value, 614.4e12);
  const MappingSystem faster = changed("peak", "400TFLOP/s");
  EXPECT_DOUBLE_EQ(faster.peak.value, faster.chip.tiles.peak().value);
}

TEST(SystemSettings, RefusesWhatItCannotRead) {
  const std::pair<std::string_view, std::string_view> bad[] = {
      {"sram", "3us"},  {"sram", "0"},      {"sram", ""},
      {"sram", "-1x"},  {"tiles", "1.5"},   {"tiles", "0.0001x"},
      {"peak", "1GHz"}, {"speed", "1x"},    {"link-bandwidth-2", "1x"},
      {"", "1"},        {"tiles", "1e12"},  {"link-bandwidth-x", "1x"},
      {"sram", "40"},   {"peak", "1e12"},   {"link-latency", "2"},
      {"sram", "1xx"},  {"peak", "1e999x"}, {"kernel-by-kernel", "perhaps"},
  };
  for (const auto& [setting, value] : bad) {
    MappingSystem system = sn10();
    const auto done = set_system(system, setting, value);
    ASSERT_FALSE(done) << setting << " " << value;
    EXPECT_EQ(done.error().code, ErrorCode::kUsage) << setting;
    EXPECT_FALSE(done.error().hint.empty()) << setting << " " << value;
  }
  MappingSystem system = sn10();
  EXPECT_THAT(set_system(system, "srm", "1MB").error().hint, HasSubstr("'sram'"));
  system.chip.tiles = {};
  EXPECT_THAT(set_system(system, "tiles", "8").error().what, HasSubstr("not known"));
}

TEST(SystemSettings, AFactorOfTheUnknownIsRefused) {
  MappingSystem system = sn10();
  system.memory_bandwidth = {};
  const auto done = set_system(system, "memory-bandwidth", "2x");
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().hint, HasSubstr("give a value"));
}

}  // namespace
}  // namespace flopcast::mapping
