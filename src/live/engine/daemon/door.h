// Where the processes of a machine come: a socket without a name in the file system, and the memory that they share.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "flopcast/base.h"
#include "live/wire/region.h"
#include "live/wire/socket.h"

namespace flopcast::live {

/// Its region, unmapped when it goes.
class MappedRegion {
 public:
  explicit MappedRegion(Region* region = nullptr) : region_(region) {}
  MappedRegion(MappedRegion&& other) noexcept : region_(std::exchange(other.region_, nullptr)) {}
  MappedRegion& operator=(MappedRegion&& other) noexcept {
    std::swap(region_, other.region_);
    return *this;
  }
  MappedRegion(const MappedRegion&) = delete;
  MappedRegion& operator=(const MappedRegion&) = delete;
  ~MappedRegion();
  Region* get() const { return region_; }

 private:
  Region* region_;
};

/// A process that has come.
struct Caller {
  Hello hello;
  Descriptor socket, memory;
  MappedRegion region;
};

class Door {
 public:
  /// Under a name that no other process of the machine has. Errors: no socket, no shared memory.
  static Result<std::unique_ptr<Door>> open();
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  /// @param admit called for each that comes, before it goes on, by a thread that does nothing else
  void welcome(std::function<void(Caller caller)> admit);
  /// Value of FLOPCAST_LIVE_SOCKET for the processes.
  const std::string& name() const { return name_; }
  /// What they share, at the beginning of a file.
  Common& common() { return *common_; }
  int file() const { return memory_.get(); }

 private:
  Door(Descriptor listener, Descriptor memory, std::string name)
      : listener_(std::move(listener)), memory_(std::move(memory)), name_(std::move(name)) {}
  void stand(const std::function<void(Caller caller)>& admit);

  Descriptor listener_, memory_;
  std::string name_;
  Common* common_ = nullptr;
  std::atomic<bool> over_{false};
  std::thread doorman_;
};

}  // namespace flopcast::live
