// What a run was like, rank by rank, counted as its tasks become known.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "live/engine/account/activity.h"
#include "live/engine/account/steps.h"
#include "live/engine/session/session.h"

namespace flopcast::live {

class Account {
 public:
  /// @param names texts of task names
  void add(const ToldTask& told, const Processor& on, std::string_view name);
  std::uint64_t tasks() const { return tasks_; }
  Time end() const { return end_; }
  /// By number; memory is the daemon's to tell.
  std::vector<LiveRank> ranks() const;

 private:
  struct Rank {
    Activity activity;
    std::map<std::int64_t, StepFinder> streams;  ///< by number
    std::map<std::int64_t, std::uint64_t> kernels;
    StepMarks marks;
  };

  std::uint32_t kind_of(std::uint32_t name, std::string_view text);

  std::unordered_map<std::uint32_t, std::uint32_t> kinds_;  ///< by name
  std::unordered_map<std::string, std::uint32_t> kinds_by_words_;
  std::uint64_t tasks_ = 0;
  Time end_;
  std::map<std::int32_t, Rank> ranks_;
};

}  // namespace flopcast::live
