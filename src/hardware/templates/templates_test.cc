// Templates as they are printed: our own readers take them, every key that these know is in them, and they fit a terminal.
#include "flopcast/hardware/templates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flopcast/hardware.h"
#include "hardware/entry/set_entry.h"
#include "support/temporary_folder.h"

namespace flopcast::hardware {
namespace {

using ::testing::HasSubstr;

std::string text_of(const std::string& name) {
  std::vector<std::string> known = hardware_templates();
  for (const std::string& more : mapping_templates()) known.push_back(more);
  const auto text = template_text(name, known);
  EXPECT_TRUE(text) << name;
  return text ? *text : std::string();
}

Cluster cluster_of(const test::TemporaryFolder& folder, const std::string& name) {
  const auto made =
      Catalog::builtin().cluster(folder.write(name + ".toml", text_of(name)).string());
  EXPECT_TRUE(made) << name << ": " << (made ? "" : made.error().text());
  return made ? *made : Cluster{};
}

TEST(HardwareTemplates, ReadBackAsTheyArePrinted) {
  const test::TemporaryFolder folder;
  const Cluster chip = cluster_of(folder, "chip");
  EXPECT_EQ(chip.chip.name, "my-chip");
  EXPECT_EQ(chip.chip.hbm_capacity.value, 96e9);
  EXPECT_EQ(chip.chip.matrix_rate(DataType::kBf16).value, 990e12);
  const Cluster node = cluster_of(folder, "node");
  EXPECT_EQ(node.chips(), 8U);
  EXPECT_EQ(node.levels[0].port_bandwidth.value, 450e9);
  const Cluster cluster = cluster_of(folder, "cluster");
  EXPECT_EQ(cluster.chips(), 512U);
  EXPECT_EQ(cluster.levels[1].port_bandwidth.value, 50e9);
  const Cluster link = cluster_of(folder, "link");
  EXPECT_DOUBLE_EQ(link.levels[1].latency.value, 5e-6);
  const Cluster system = cluster_of(folder, "system");
  EXPECT_EQ(system.chip.on_chip_memory.value, 320e6);
  EXPECT_EQ(system.chips(), 8U);
}

TEST(HardwareTemplates, HaveEveryKeyOfTheirReaders) {
  const std::string chip = text_of("chip"), node = text_of("node");
  for (const std::string& key : chip_keys()) {
    const std::size_t dot = key.find('.');
    EXPECT_THAT(chip, HasSubstr((dot == key.npos ? key : key.substr(dot + 1)) + " = ")) << key;
  }
  for (const std::string& key : level_keys()) EXPECT_THAT(node, HasSubstr(key + " = ")) << key;
}

TEST(HardwareTemplates, FitATerminal) {
  for (const char* name : {"chip", "node", "cluster", "link", "graph", "system"}) {
    const std::string text = text_of(name);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      EXPECT_LE(end - at, 80U) << name << ": " << text.substr(at, end - at);
      at = end + 1;
    }
  }
}

TEST(HardwareTemplates, OthersAreRefusedWithThoseThereAre) {
  const auto none = template_text("graph", hardware_templates());
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().hint, HasSubstr("chip, node, cluster, link"));
}

}  // namespace
}  // namespace flopcast::hardware
