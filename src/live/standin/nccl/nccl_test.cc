// Collectives of small tensors against plain loops, between processes that know nothing of Flopcast.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "live/wire/record.h"
#include "support/live_programs.h"

namespace flopcast::live {
namespace {

using namespace test;

using LiveNcclThreads = LivePrograms;

struct UniqueName {
  char text[128] = "everybody";
};

void* const kDefaultStream = nullptr;
constexpr int kFp32 = 7, kSum = 0;

/// Communicator and device memory of one rank, in the test's own words.
class RankOfTest {
 public:
  RankOfTest(const Library& cuda, int rank, int size) : cuda_(cuda), rank_(rank), size_(size) {
    cuda("cudaSetDevice", rank);
    cuda("ncclCommInitRank", &all, size, UniqueName(), rank);
  }
  template <typename T>
  void* on_device(const std::vector<T>& values) const {
    void* at = nullptr;
    cuda_("cudaMalloc", &at, values.size() * sizeof(T));
    cuda_("cudaMemcpy", at, static_cast<const void*>(values.data()), values.size() * sizeof(T), 1);
    return at;
  }
  template <typename T>
  std::vector<T> from_device(const void* at, std::size_t count) const {
    std::vector<T> values(count);
    cuda_("cudaMemcpy", static_cast<void*>(values.data()), at, count * sizeof(T), 2);
    return values;
  }
  int rank() const { return rank_; }
  int size() const { return size_; }
  const Library& cuda() const { return cuda_; }

  void* all = nullptr;

 private:
  const Library& cuda_;
  int rank_, size_;
};

/// Where two runs begin to differ; empty if they do not.
std::string differences(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const auto [one, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (one == a.end() && other == b.end()) return {};
  return (one == a.end() ? "(end)" : *one) + " instead of " + (other == b.end() ? "(end)" : *other);
}

// ---- types and reductions ----------------------------------------------------------------------

/// What each rank gives at place i: small whole numbers, which every type has.
double given(int rank, std::size_t i) { return 1 + (rank + static_cast<int>(i)) % 3; }

double expected(int reduction, int ranks, std::size_t i) {
  double value = given(0, i);
  for (int rank = 1; rank < ranks; ++rank) {
    const double next = given(rank, i);
    if (reduction == 1) {
      value *= next;
    } else if (reduction == 2) {
      value = std::max(value, next);
    } else if (reduction == 3) {
      value = std::min(value, next);
    } else {
      value += next;
    }
  }
  return reduction == 4 ? value / ranks : value;
}

/// Types that the compiler has not, by their bits: sign, `exponent` and `mantissa` bits.
struct Bits {
  int exponent, mantissa;
  std::uint64_t of(double value) const {
    if (value == 0) return 0;
    const int power = static_cast<int>(std::floor(std::log2(value)));
    const int bias = (1 << (exponent - 1)) - 1;
    const auto fraction =
        static_cast<std::uint64_t>(std::ldexp(value / std::exp2(power) - 1, mantissa));
    return static_cast<std::uint64_t>(power + bias) << mantissa | fraction;
  }
};

std::vector<std::uint8_t> encoded(int type, double value) {
  std::vector<std::uint8_t> bytes;
  const auto put = [&bytes](auto stored) {
    bytes.resize(sizeof stored);
    std::memcpy(bytes.data(), &stored, sizeof stored);
  };
  switch (type) {
    case 0:
      put(static_cast<std::int8_t>(value));
      break;
    case 1:
      put(static_cast<std::uint8_t>(value));
      break;
    case 2:
      put(static_cast<std::int32_t>(value));
      break;
    case 3:
      put(static_cast<std::uint32_t>(value));
      break;
    case 4:
      put(static_cast<std::int64_t>(value));
      break;
    case 5:
      put(static_cast<std::uint64_t>(value));
      break;
    case 6:
      put(static_cast<std::uint16_t>(Bits{5, 10}.of(value)));
      break;
    case 7:
      put(static_cast<float>(value));
      break;
    case 8:
      put(value);
      break;
    case 9:
      put(static_cast<std::uint16_t>(Bits{8, 7}.of(value)));
      break;
    case 10:
      put(static_cast<std::uint8_t>(Bits{4, 3}.of(value)));
      break;
    default:
      put(static_cast<std::uint8_t>(Bits{5, 2}.of(value)));
  }
  return bytes;
}

std::vector<std::uint8_t> all_encoded(int type, std::size_t count, auto value_of) {
  std::vector<std::uint8_t> all;
  for (std::size_t i = 0; i < count; ++i) {
    const std::vector<std::uint8_t> one = encoded(type, value_of(i));
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

TEST_F(LiveNcclThreads, EveryTypeIsReducedInEveryWay) {
  constexpr std::size_t kCount = 37;
  constexpr int kRanks = 4;  // averages are exact
  const auto told = run_ranks("dgx-h100", kRanks, [](const Library& cuda, Told& said, int rank) {
    const RankOfTest own(cuda, rank, kRanks);
    for (int type = 0; type <= 11; ++type) {
      for (int reduction = 0; reduction <= 4; ++reduction) {
        // 81 and 10 are no number of E5M2: products and sums of three kinds are rounded there.
        if (type == 11 && reduction < 2) continue;
        const auto mine =
            all_encoded(type, kCount, [rank](std::size_t i) { return given(rank, i); });
        void* const at = own.on_device(mine);
        cuda("ncclAllReduce", static_cast<const void*>(at), at, kCount, type, reduction, own.all,
             kDefaultStream);
        const auto wanted = all_encoded(type, kCount, [reduction, type](std::size_t i) {
          const double value = expected(reduction, kRanks, i);
          return type <= 5 ? std::floor(value) : value;
        });
        const std::string name = std::to_string(type) + "." + std::to_string(reduction);
        said[name] = own.from_device<std::uint8_t>(at, wanted.size()) == wanted ? 1 : 0;
      }
    }
  });
  for (const Told& rank : told) {
    EXPECT_EQ(rank.size(), 58u);
    for (const auto& [name, right] : rank) EXPECT_EQ(right, 1) << "type.reduction " << name;
  }
}

TEST_F(LiveNcclThreads, SumsOfSmallTypesAreRoundedAsTheGpuRounds) {
  const auto told = run_ranks("dgx-h100", 2, [](const Library& cuda, Told& said, int rank) {
    const RankOfTest own(cuda, rank, 2);
    const auto sum_of = [&](int type, std::uint16_t a, std::uint16_t b) {
      std::vector<std::uint16_t> value{rank == 0 ? a : b};
      void* const at = own.on_device(value);
      cuda("ncclAllReduce", static_cast<const void*>(at), at, std::size_t{1}, type, kSum, own.all,
           kDefaultStream);
      return static_cast<double>(own.from_device<std::uint16_t>(at, 1)[0]);
    };
    said["half_to_even"] = sum_of(6, 0x6800, 0x3c00);    // 2048 + 1 = 2048
    said["half_up"] = sum_of(6, 0x6800, 0x4200);         // 2048 + 3 = 2052
    said["half_too_large"] = sum_of(6, 0x7bff, 0x7bff);  // infinity
    said["half_smallest"] = sum_of(6, 0x0001, 0x0001);
    said["brain_zero"] = sum_of(9, 0x0000, 0x0000);
    said["brain_nan"] = sum_of(9, 0x7f80, 0xff80);  // infinity - infinity
  });
  for (const Told& rank : told) {
    EXPECT_EQ(rank.at("half_to_even"), 0x6800);
    EXPECT_EQ(rank.at("half_up"), 0x6802);
    EXPECT_EQ(rank.at("half_too_large"), 0x7c00);
    EXPECT_EQ(rank.at("half_smallest"), 2);
    EXPECT_EQ(rank.at("brain_zero"), 0);
    EXPECT_GT(static_cast<int>(rank.at("brain_nan")) & 0x7f, 0);
  }
}

// ---- operations --------------------------------------------------------------------------------

TEST_F(LiveNcclThreads, EveryOperationBringsWhatAPlainLoopDoes) {
  constexpr int kRanks = 3, kRoot = 1;
  constexpr std::size_t kCount = 5;
  const auto value = [](int rank, std::size_t i) {
    return static_cast<float>(100 * rank) + static_cast<float>(i);
  };
  const auto told = run_ranks("dgx-h100", kRanks, [&](const Library& cuda, Told& said, int rank) {
    const RankOfTest own(cuda, rank, kRanks);
    const auto mine = [&](std::size_t count) {
      std::vector<float> values(count);
      for (std::size_t i = 0; i < count; ++i) values[i] = value(rank, i);
      return values;
    };
    void* const one = own.on_device(mine(kCount));
    void* const many = own.on_device(mine(kRanks * kCount));
    const auto check = [&](const char* name, std::size_t count, auto wanted, auto call) {
      void* const to = own.on_device(std::vector<float>(count, -1.0F));
      call(to);
      const std::vector<float> got = own.from_device<float>(to, count);
      bool right = true;
      for (std::size_t i = 0; i < count; ++i) right = right && got[i] == wanted(i);
      said[name] = right ? 1 : 0;
    };
    const void* const send = one;
    const void* const send_many = many;
    const auto sum = [&](std::size_t i) { return value(0, i) + value(1, i) + value(2, i); };
    const auto r = static_cast<std::size_t>(rank);
    check("all_reduce", kCount, sum, [&](void* to) {
      cuda("ncclAllReduce", send, to, kCount, kFp32, kSum, own.all, kDefaultStream);
    });
    check(
        "reduce", kCount, [&](std::size_t i) { return rank == kRoot ? sum(i) : -1.0F; },
        [&](void* to) {
          cuda("ncclReduce", send, to, kCount, kFp32, kSum, kRoot, own.all, kDefaultStream);
        });
    check(
        "broadcast", kCount, [&](std::size_t i) { return value(kRoot, i); },
        [&](void* to) {
          cuda("ncclBroadcast", send, to, kCount, kFp32, kRoot, own.all, kDefaultStream);
        });
    const auto gathered = [&](std::size_t i) {
      return value(static_cast<int>(i / kCount), i % kCount);
    };
    check("all_gather", kRanks * kCount, gathered, [&](void* to) {
      cuda("ncclAllGather", send, to, kCount, kFp32, own.all, kDefaultStream);
    });
    check(
        "gather", kRanks * kCount,
        [&](std::size_t i) { return rank == kRoot ? gathered(i) : -1.0F; },
        [&](void* to) {
          cuda("ncclGather", send, to, kCount, kFp32, kRoot, own.all, kDefaultStream);
        });
    check(
        "reduce_scatter", kCount, [&](std::size_t i) { return sum(r * kCount + i); },
        [&](void* to) {
          cuda("ncclReduceScatter", send_many, to, kCount, kFp32, kSum, own.all, kDefaultStream);
        });
    check(
        "scatter", kCount, [&](std::size_t i) { return value(kRoot, r * kCount + i); },
        [&](void* to) {
          cuda("ncclScatter", send_many, to, kCount, kFp32, kRoot, own.all, kDefaultStream);
        });
    check(
        "all_to_all", kRanks * kCount,
        [&](std::size_t i) { return value(static_cast<int>(i / kCount), r * kCount + i % kCount); },
        [&](void* to) {
          cuda("ncclAlltoAll", send_many, to, kCount, kFp32, own.all, kDefaultStream);
        });
    check(
        "ring", kCount, [&](std::size_t i) { return value((rank + 2) % 3, i); },
        [&](void* to) {
          cuda("ncclGroupStart");
          cuda("ncclSend", send, kCount, kFp32, (rank + 1) % 3, own.all, kDefaultStream);
          cuda("ncclRecv", to, kCount, kFp32, (rank + 2) % 3, own.all, kDefaultStream);
          cuda("ncclGroupEnd");
        });
    int scaled = 0;
    float factor = static_cast<float>(rank + 1);
    cuda("ncclRedOpCreatePreMulSum", &scaled, static_cast<void*>(&factor), kFp32, 1, own.all);
    check(
        "scaled_sum", kCount,
        [&](std::size_t i) { return value(0, i) + 2 * value(1, i) + 3 * value(2, i); },
        [&](void* to) {
          cuda("ncclAllReduce", send, to, kCount, kFp32, scaled, own.all, kDefaultStream);
        });
    cuda("ncclRedOpDestroy", scaled, own.all);
    said["no_such_reduction"] =
        cuda("ncclAllReduce", send, one, kCount, kFp32, scaled, own.all, kDefaultStream);
  });
  for (const Told& rank : told) {
    EXPECT_EQ(rank.size(), 11u);
    for (const auto& [name, right] : rank)
      EXPECT_EQ(right, name == "no_such_reduction" ? 4 : 1) << name;
  }
}

TEST_F(LiveNcclThreads, WhatOneCallBringsTheNextGives) {
  const auto told = run_ranks("dgx-h100", 2, [](const Library& cuda, Told& said, int rank) {
    const RankOfTest own(cuda, rank, 2);
    void* const at = own.on_device(std::vector<float>{static_cast<float>(rank + 1)});
    void* const other = own.on_device(std::vector<float>{0});
    for (int i = 0; i < 3; ++i)
      cuda("ncclAllReduce", static_cast<const void*>(at), at, std::size_t{1}, kFp32, kSum, own.all,
           kDefaultStream);
    cuda("cudaMemcpyAsync", other, static_cast<const void*>(at), std::size_t{4}, 3, kDefaultStream);
    // What was to be brought is not, where something else has been put since.
    cuda("ncclAllReduce", static_cast<const void*>(at), at, std::size_t{1}, kFp32, kSum, own.all,
         kDefaultStream);
    cuda("cudaMemsetAsync", at, 0, std::size_t{4}, kDefaultStream);
    said["copied"] = static_cast<double>(own.from_device<float>(other, 1)[0]);
    said["set"] = static_cast<double>(own.from_device<float>(at, 1)[0]);
  });
  for (const Told& rank : told) EXPECT_EQ(rank, (Told{{"copied", 12}, {"set", 0}}));
}

/// Each gives 8 numbers of which it has written some; what nobody wrote reads as zero.
TEST_F(LiveNcclThreads, OfAPartThatIsValidInPlacesThosePlacesArrive) {
  constexpr std::size_t kCount = 8;
  constexpr int kInt32 = 2;
  const auto told = run_ranks("dgx-h100", 2, [](const Library& cuda, Told& said, int rank) {
    const RankOfTest own(cuda, rank, 2);
    void *mine = nullptr, *got = nullptr, *both = nullptr;
    for (void** at : {&mine, &got}) cuda("cudaMalloc", at, kCount * sizeof(std::int32_t));
    cuda("cudaMalloc", &both, 2 * kCount * sizeof(std::int32_t));
    const std::vector<std::int32_t> written(3, rank + 1);
    // Rank 0 writes 0 to 2, rank 1 writes 2 to 4.
    cuda("cudaMemcpy", static_cast<void*>(static_cast<std::int32_t*>(mine) + 2 * rank),
         static_cast<const void*>(written.data()), written.size() * sizeof(std::int32_t), 1);
    const void* const send = mine;
    const auto tell = [&](const char* name, const void* at, std::size_t count) {
      double digits = 0;
      for (const std::int32_t value : own.from_device<std::int32_t>(at, count))
        digits = 10 * digits + static_cast<double>(value);
      said[name] = digits;
    };
    cuda("ncclAllReduce", send, got, kCount, kInt32, kSum, own.all, kDefaultStream);
    tell("sum", got, kCount);
    cuda("ncclReduceScatter", send, got, kCount / 2, kInt32, kSum, own.all, kDefaultStream);
    tell("scattered_sum", got, kCount / 2);
    cuda("ncclAllGather", send, both, kCount, kInt32, own.all, kDefaultStream);
    tell("gathered_of_0", both, kCount);
    tell("gathered_of_1", static_cast<std::int32_t*>(both) + kCount, kCount);
    cuda("ncclGroupStart");
    cuda("ncclSend", send, kCount, kInt32, 1 - rank, own.all, kDefaultStream);
    cuda("ncclRecv", got, kCount, kInt32, 1 - rank, own.all, kDefaultStream);
    cuda("ncclGroupEnd");
    tell("received", got, kCount);
    // What came only in places is given on only in places.
    cuda("ncclAllReduce", static_cast<const void*>(got), got, kCount, kInt32, kSum, own.all,
         kDefaultStream);
    tell("sum_of_received", got, kCount);
    // An element of which half is valid is not; its bytes are, where they are only moved.
    void* halves = nullptr;
    cuda("cudaMalloc", &halves, kCount * sizeof(std::int32_t));
    cuda("cudaMemcpy", halves, static_cast<const void*>(written.data()),
         written.size() * sizeof(std::int32_t) - 2 * static_cast<std::size_t>(rank), 1);
    const void* const some = halves;
    cuda("ncclAllGather", some, both, kCount, kInt32, own.all, kDefaultStream);
    tell("halves_of_1", static_cast<std::int32_t*>(both) + kCount, kCount);
    cuda("ncclAllReduce", some, got, kCount, kInt32, kSum, own.all, kDefaultStream);
    tell("sum_of_halves", got, kCount);
  });
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(told[rank].at("sum"), 300000);
    EXPECT_EQ(told[rank].at("scattered_sum"), rank == 0 ? 30 : 0);
    EXPECT_EQ(told[rank].at("gathered_of_0"), 11100000);
    EXPECT_EQ(told[rank].at("gathered_of_1"), 222000);
    EXPECT_EQ(told[rank].at("received"), rank == 0 ? 222000 : 11100000);
    EXPECT_EQ(told[rank].at("sum_of_received"), 300000);
    EXPECT_EQ(told[rank].at("halves_of_1"), 22200000);
    EXPECT_EQ(told[rank].at("sum_of_halves"), 33000000);
  }
}

/// Rank 0 reads what rank 1 gives after it has received what rank 0 sends later: on a GPU nobody waits.
TEST_F(LiveNcclThreads, WhoNeedsBytesEarlyDoesNotHoldUpWhoBringsThem) {
  const auto once = [this] {
    return run_ranks("dgx-h100", 3, [](const Library& cuda, Told& said, int rank) {
      const RankOfTest own(cuda, rank, 3);
      void* side = nullptr;
      cuda("cudaStreamCreateWithFlags", &side, 1u);
      void *pair = nullptr, *with_two = nullptr;
      cuda("ncclCommSplit", own.all, rank < 2 ? 0 : -1, 0, &pair, kDefaultStream);
      cuda("ncclCommSplit", own.all, rank > 0 ? 0 : -1, 0, &with_two, kDefaultStream);
      void* const at = own.on_device(std::vector<float>{static_cast<float>(rank + 1)});
      void* const large = own.on_device(std::vector<float>(1 << 20));
      const auto reduce = [&](void* communicator, void* buffer, std::size_t count, void* stream) {
        cuda("ncclAllReduce", static_cast<const void*>(buffer), buffer, count, kFp32, kSum,
             communicator, stream);
      };
      // Ranks 1 and 2 wait for each other over the network before rank 1 gives anything.
      if (rank > 0) {
        reduce(with_two, large, std::size_t{1} << 20, side);
        cuda("cudaStreamSynchronize", side);
      }
      if (rank < 2) {
        reduce(pair, at, 1, side);
        reduce(pair, at, 1, side);  // gives what the first has brought
        said["value"] = static_cast<double>(own.from_device<float>(at, 1)[0]);
      }
    });
  };
  const std::vector<Told> first = once();
  const std::vector<std::string> tasks_of_first = tasks();
  EXPECT_EQ(first[0].at("value"), 6);
  EXPECT_EQ(first[1].at("value"), 6);
  EXPECT_TRUE(
      std::any_of(tasks_of_first.begin(), tasks_of_first.end(),
                  [](const std::string& line) { return line.ends_with("wait for values"); }));
  for (int again = 0; again < 5; ++again) {
    once();
    EXPECT_EQ(differences(tasks(), tasks_of_first), "");
  }
}

TEST_F(LiveNcclThreads, CommunicatorsOfOneProcessAndShrunkOnes) {
  const auto told = run_ranks("dgx-h100", 3, [](const Library& cuda, Told& said, int rank) {
    const RankOfTest own(cuda, rank, 3);
    if (rank != 1) {
      void* two = nullptr;
      int without = 1, place = -1, size = -1;
      cuda("ncclCommShrink", own.all, &without, 1, &two, kDefaultStream, 0);
      cuda("ncclCommUserRank", two, &place);
      cuda("ncclCommCount", two, &size);
      said["rank"] = place;
      said["size"] = size;
      void* const at = own.on_device(std::vector<float>{static_cast<float>(rank + 1)});
      cuda("ncclAllReduce", static_cast<const void*>(at), at, std::size_t{1}, kFp32, kSum, two,
           kDefaultStream);
      said["sum"] = static_cast<double>(own.from_device<float>(at, 1)[0]);
      said["dropped"] = cuda("ncclCommDestroy", two);
    }
    std::array<void*, 2> devices{};
    const std::array<int, 2> of_process{0, 1};
    cuda("ncclCommInitAll", static_cast<void*>(devices.data()), 2,
         static_cast<const void*>(of_process.data()));
    std::array<void*, 2> at{};
    cuda("ncclGroupStart");
    for (std::size_t i = 0; i < 2; ++i) {
      at[i] = own.on_device(std::vector<float>{static_cast<float>(10 * (i + 1))});
      cuda("ncclAllReduce", static_cast<const void*>(at[i]), at[i], std::size_t{1}, kFp32, kSum,
           devices[i], kDefaultStream);
    }
    cuda("ncclGroupEnd");
    said["both"] = static_cast<double>(own.from_device<float>(at[1], 1)[0]);
  });
  EXPECT_EQ(told[0], (Told{{"rank", 0}, {"size", 2}, {"sum", 4}, {"dropped", 0}, {"both", 30}}));
  EXPECT_EQ(told[1], (Told{{"both", 30}}));
  EXPECT_EQ(told[2].at("rank"), 1);
}

TEST_F(LiveNcclThreads, WhatAGraphHoldsEndsWithItUnlessItsCommunicatorWent) {
  // As PyTorch's process group does, whose function looks at the process group itself.
  const auto told = run_ranks("dgx-h100", 2, [](const Library& cuda, Told& said, int rank) {
    const RankOfTest own(cuda, rank, 2);
    std::array<int, 2> ended{};
    void* const at = own.on_device(std::vector<float>{1});
    void* stream = nullptr;
    cuda("cudaStreamCreate", &stream);
    const auto captured = [&](void* communicator, int& count) {
      void *graph = nullptr, *ready = nullptr, *object = nullptr;
      cuda("cudaStreamBeginCapture", stream, 2);
      cuda("ncclAllReduce", static_cast<const void*>(at), at, std::size_t{1}, kFp32, kSum,
           communicator, stream);
      cuda("cudaStreamEndCapture", stream, &graph);
      cuda(
          "cudaUserObjectCreate", &object, static_cast<void*>(&count),
          +[](void* of) { ++*static_cast<int*>(of); }, 1U, 1U);
      cuda("cudaGraphRetainUserObject", graph, object, 1U, 1U);
      cuda("cudaGraphInstantiate", &ready, graph, 0ULL);
      cuda("cudaGraphDestroy", graph);
      return ready;
    };
    void* two = nullptr;
    cuda("ncclCommSplit", own.all, 0, rank, &two, static_cast<void*>(nullptr));
    void* const first = captured(two, ended[0]);
    void* const second = captured(two, ended[1]);
    cuda("cudaGraphExecDestroy", first);
    said["dropped"] = cuda("ncclCommDestroy", two);
    cuda("cudaGraphExecDestroy", second);
    said["first"] = ended[0];
    said["second"] = ended[1];
  });
  EXPECT_EQ(told[0], (Told{{"dropped", 0}, {"first", 1}, {"second", 0}}));
}

// ---- who waits for whom ------------------------------------------------------------------------

TEST_F(LiveNcclThreads, ACollectiveThatARankNeverCallsIsTold) {
  const std::string problem = problem_of("dgx-h100", 4, [](const Library& cuda, Told&, int rank) {
    const RankOfTest own(cuda, rank, 4);
    void* const at = own.on_device(std::vector<float>(4));
    if (rank != 2) {
      cuda("ncclAllReduce", static_cast<const void*>(at), at, std::size_t{4}, kFp32, kSum, own.all,
           kDefaultStream);
    }
    cuda("ncclBroadcast", static_cast<const void*>(at), at, std::size_t{4}, kFp32, 0, own.all,
         kDefaultStream);
    cuda("cudaDeviceSynchronize");
  });
  EXPECT_NE(problem.find("rank 2 calls broadcast (fp32, root 0, 16 bytes), call 0 of communicator "
                         "0 of ranks 0-3"),
            std::string::npos)
      << problem;
  EXPECT_NE(problem.find("all_reduce (fp32 sum, 16 bytes)"), std::string::npos) << problem;
}

TEST_F(LiveNcclThreads, ACircleOfWaitsNamesItsCalls) {
  const std::string problem = problem_of("dgx-h100", 2, [](const Library& cuda, Told&, int rank) {
    const RankOfTest own(cuda, rank, 2);
    void* other = nullptr;
    cuda("ncclCommSplit", own.all, 0, 0, &other, kDefaultStream);
    void* const at = own.on_device(std::vector<float>(4));
    for (void* communicator : {rank == 0 ? own.all : other, rank == 0 ? other : own.all}) {
      cuda("ncclAllReduce", static_cast<const void*>(at), at, std::size_t{4}, kFp32, kSum,
           communicator, kDefaultStream);
      cuda("cudaDeviceSynchronize");
    }
  });
  EXPECT_NE(problem.find("communicator 0 of ranks 0-1; rank 0 waits in it; rank 1 never called it"),
            std::string::npos)
      << problem;
  EXPECT_NE(problem.find("communicator 1 of ranks 0-1; rank 1 waits in it; rank 0 never called it"),
            std::string::npos)
      << problem;
}

TEST_F(LiveNcclThreads, SendsThatNobodyReceivesAreTold) {
  const std::string problem = problem_of("dgx-h100", 2, [](const Library& cuda, Told&, int rank) {
    const RankOfTest own(cuda, rank, 2);
    void* const at = own.on_device(std::vector<float>(4));
    cuda("ncclSend", static_cast<const void*>(at), std::size_t{4}, kFp32, 1 - rank, own.all,
         kDefaultStream);
    cuda("ncclRecv", at, std::size_t{4}, kFp32, 1 - rank, own.all, kDefaultStream);
    cuda("cudaDeviceSynchronize");
  });
  EXPECT_NE(problem.find("send (fp32, rank 0 to 1, 16 bytes)"), std::string::npos) << problem;
  EXPECT_NE(problem.find("rank 1 called it behind work that has not ended"), std::string::npos)
      << problem;
}

TEST_F(LiveNcclThreads, WhoExpectsLessThanASmallMessageGetsItsBeginning) {
  const auto told = run_ranks("dgx-h100", 2, [](const Library& cuda, Told& said, int rank) {
    const RankOfTest own(cuda, rank, 2);
    void* const at = own.on_device(std::vector<float>{1.0F + static_cast<float>(rank), 5.0F, 6.0F});
    if (rank == 0) {
      cuda("ncclSend", static_cast<const void*>(at), std::size_t{3}, kFp32, 1, own.all,
           kDefaultStream);
    } else {
      cuda("ncclRecv", at, std::size_t{1}, kFp32, 0, own.all, kDefaultStream);
    }
    const std::vector<float> got = own.from_device<float>(at, 3);
    said["right"] = got == std::vector<float>{1.0F, 5.0F, 6.0F} ? 1 : 0;
  });
  for (const Told& rank : told) EXPECT_EQ(rank.at("right"), 1);
  const std::string problem = problem_of("dgx-h100", 2, [](const Library& cuda, Told&, int rank) {
    const RankOfTest own(cuda, rank, 2);
    void* const at = own.on_device(std::vector<float>(4));
    if (rank == 0) {
      cuda("ncclSend", static_cast<const void*>(at), std::size_t{1}, kFp32, 1, own.all,
           kDefaultStream);
    } else {
      cuda("ncclRecv", at, std::size_t{4}, kFp32, 0, own.all, kDefaultStream);
    }
    cuda("cudaDeviceSynchronize");
  });
  EXPECT_NE(problem.find("ranks 0 and 1 differ"), std::string::npos) << problem;
}

// ---- the same every time -----------------------------------------------------------------------

TEST_F(LiveNcclThreads, EightRanksMakeTheSameTasksHoweverTheyAreScheduled) {
  const auto once = [this](unsigned seed) {
    return run_ranks("dgx-h100", 8, [seed](const Library& cuda, Told& said, int rank) {
      const RankOfTest own(cuda, rank, 8);
      void *half = nullptr, *side = nullptr;
      cuda("ncclCommSplit", own.all, rank % 2, rank, &half, kDefaultStream);
      cuda("cudaStreamCreateWithFlags", &side, 1u);
      void* const at = own.on_device(std::vector<float>{1});
      void* const large = own.on_device(std::vector<float>(1 << 18));
      unsigned random = seed + static_cast<unsigned>(rank);
      for (int step = 0; step < 8; ++step) {
        random = random * 1664525u + 1013904223u;
        usleep(random >> 22);
        cuda("ncclAllReduce", static_cast<const void*>(large), large, std::size_t{1} << 18, kFp32,
             kSum, step % 2 == 0 ? half : own.all, side);
        cuda("ncclAllReduce", static_cast<const void*>(at), at, std::size_t{1}, kFp32, kSum,
             own.all, kDefaultStream);
        if ((rank + step) % 3 == 0) cuda("cudaStreamSynchronize", side);
      }
      said["value"] = static_cast<double>(own.from_device<float>(at, 1)[0]);
    });
  };
  EXPECT_EQ(once(0)[7].at("value"), std::pow(8.0, 8));
  const std::vector<std::string> first = tasks();
  EXPECT_GT(first.size(), 300u);
  for (unsigned seed = 1; seed < 5; ++seed) {
    once(seed);
    EXPECT_EQ(differences(tasks(), first), "") << seed;
  }
}

}  // namespace
}  // namespace flopcast::live
