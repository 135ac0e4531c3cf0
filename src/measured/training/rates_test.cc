// One spelling of a bandwidth is one number, whoever reads it; or its reader refuses it and repeats what it found.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <functional>
#include <string>
#include <vector>

#include "base/rate_words.h"
#include "flopcast/base/quantity.h"
#include "flopcast/machine.h"
#include "flopcast/mapping.h"
#include "flopcast/network/traffic.h"
#include "measured/training/system.h"
#include "support/temporary_folder.h"

namespace flopcast::measured {
namespace {

/// Bytes a second that a spelling stands for, 400 Gb/s where it does not say otherwise.
struct Spelling {
  std::string text;
  double bytes_per_s = 50e9;
  bool words_alone = false;  ///< of descriptions: those who read a quantity refuse it
};
const std::vector<Spelling>& spellings() {
  static const std::vector<Spelling> all = {{"50GB/s"},
                                            {"50GBps"},
                                            {"50 GB/s"},
                                            {"0.05TB/s"},
                                            {"50000MB/s"},
                                            {"400Gb/s"},
                                            {"400 Gb/s"},
                                            {"400Gbps"},
                                            {"400Gbit/s"},
                                            {"400Gbits/s"},
                                            {"400Gb/sec"},
                                            {"50GB/sec"},
                                            {"0.4Tb/s"},
                                            {"400000Mb/s"},
                                            {"50Gbyte/s"},
                                            {"50Gbytes/s"},
                                            {"50GiB/s", 50 * 0x1p30},
                                            {"50GB", 50e9, true},
                                            {"400Gb", 50e9, true},
                                            {"400G", 50e9, true},
                                            {"400gbps", 50e9, true},
                                            {"400GbE", 50e9, true}};
  return all;
}
const std::vector<std::string>& no_rates() {
  static const std::vector<std::string> all = {"50mB/s", "400GBPS", "50 furlongs", "3us", "80W"};
  return all;
}

/// Reads a text; an error where it refuses.
using Reader = std::function<Result<double>(const std::string& text)>;

double of_network(const Cluster& cluster) {
  return cluster.levels[cluster.node_levels].port_bandwidth.value;
}
Result<double> of_cluster(const Result<Cluster>& cluster) {
  if (!cluster) return cluster.error();
  return of_network(*cluster);
}

Result<double> by_file(const std::string& name, const std::string& text) {
  const test::TemporaryFolder folder;
  return of_cluster(Catalog::builtin().cluster(folder.write(name, text).string()));
}

std::string simai_with(const std::string& rate) {
  const std::string rail = " " + rate + " 0.0005ms 0\n";
  return "10 2 2 4 12 A100\n4 5 6 7 8 9 \n"
         "0 4 2400Gbps 0.000025ms 0\n1 4 2400Gbps 0.000025ms 0\n"
         "2 5 2400Gbps 0.000025ms 0\n3 5 2400Gbps 0.000025ms 0\n"
         "0 6" +
         rail + "1 7" + rail + "2 6" + rail + "3 7" + rail +
         "6 8 400Gbps 0.0005ms 0\n7 8 400Gbps 0.0005ms 0\n"
         "6 9 400Gbps 0.0005ms 0\n7 9 400Gbps 0.0005ms 0\n";
}

Result<double> of_knob(const std::string& text) {
  const auto change = parse_change(text, UnitKind::kBytesPerSecond);
  if (!change) return change.error();
  const Result<Cluster> cluster = Catalog::builtin().cluster("2 x dgx-h100");
  if (!cluster) return cluster.error();
  return of_cluster(
      with_changed(*cluster, {MachineNumber::kLinkBandwidth, cluster->node_levels}, *change));
}

Result<double> of_memory(const std::string& text) {
  const auto system = mapping_system("8 x h100", {.memory = text}, Catalog::builtin());
  if (!system) return system.error();
  return system->memory_bandwidth.value;
}

Result<double> of_traffic(const std::string& text) {
  const auto rows = parse_traffic("src,dst,bytes,limit\n0,1,1MB," + text + "\n", "flows.csv");
  if (!rows) return rows.error();
  return rows->front().limit.bytes_per_second().value;
}

struct Named {
  std::string name;
  Reader read;
  bool blanks = true;   ///< it takes a blank between number and unit
  bool repeats = true;  ///< its refusals name the text
};
std::vector<Named> readers() {
  const auto quantity = [](const std::string& text) -> Result<double> {
    const auto rate = parse_bandwidth(text);
    if (!rate) return rate.error();
    return rate->value;
  };
  const auto line = [](const std::string& text) {
    return of_cluster(Catalog::builtin().cluster("2 x dgx-h100, nic.bandwidth " + text));
  };
  const auto toml = [](const std::string& text) {
    return by_file("c.toml", "cluster = \"2 x dgx-h100, nic.bandwidth " + text + "\"\n");
  };
  const auto simai = [](const std::string& text) { return by_file("t.txt", simai_with(text)); };
  return {{"quantity", quantity},
          {"line", line},
          {"TOML", toml},
          {"SimAI", simai, false},
          {"knob", of_knob},
          {"memory", of_memory},
          {"traffic", of_traffic, true, false}};
}

TEST(Rates, OfOneSpellingAreOneNumberWhoeverReadsThem) {
  for (const Named& reader : readers()) {
    for (const Spelling& spelling : spellings()) {
      if (!reader.blanks && spelling.text.find(' ') != std::string::npos) continue;
      const Result<double> read = reader.read(spelling.text);
      const std::string what = reader.name + ": " + spelling.text;
      if (spelling.words_alone) {
        ASSERT_FALSE(read) << what;
        if (!reader.repeats) continue;
        EXPECT_NE(read.error().text().find(spelling.text), std::string::npos)
            << what << ": " << read.error().text();
      } else {
        ASSERT_TRUE(read) << what << ": " << read.error().text();
        EXPECT_NEAR(*read / spelling.bytes_per_s, 1, 1e-9) << what;
      }
    }
    for (const std::string& none : no_rates()) {
      if (!reader.blanks && none.find(' ') != std::string::npos) continue;
      EXPECT_FALSE(reader.read(none)) << reader.name << ": " << none;
    }
  }
}

// Descriptions of networks have the same units and some of their own.
TEST(Rates, InWordsAreTheSame) {
  for (const Spelling& spelling : spellings()) {
    for (const std::string& words : {"8x " + spelling.text, "8x NDR " + spelling.text + " per port",
                                     "4x 1Gb/s, 8x " + spelling.text + " per node"}) {
      const NodePorts ports = parse_ports(words, 8);
      EXPECT_EQ(ports.ports, 8U) << words;
      EXPECT_NEAR(ports.bytes_per_s / spelling.bytes_per_s, 1, 1e-9) << words;
    }
    const NodePorts each = parse_ports(spelling.text + " per GPU", 4);
    EXPECT_EQ(each.ports, 4U) << spelling.text;
    EXPECT_NEAR(each.bytes_per_s / spelling.bytes_per_s, 1, 1e-9) << spelling.text;
  }
  for (const std::string& none : no_rates()) {
    EXPECT_FALSE(next_rate("8x " + none, 0)) << none;
    EXPECT_EQ(parse_ports("8x " + none, 8).ports, 0U) << none;
  }
}

TEST(Rates, InWordsEndWhereTheirUnitDoes) {
  const std::string_view words = "2 x 12.5 GB/s each";
  const auto rate = next_rate(words, 0);
  ASSERT_TRUE(rate);
  EXPECT_EQ(words.substr(rate->begin, rate->end - rate->begin), "12.5 GB/s");
  EXPECT_FALSE(next_rate(words, rate->end));
  EXPECT_FALSE(next_rate("", 0));
  EXPECT_FALSE(next_rate("99999999999999999999999999999999 cables", 0));
}

}  // namespace
}  // namespace flopcast::measured
