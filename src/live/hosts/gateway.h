// The other machines of a run, beside its engine: waits for them, hears what their processes write, and tells those what the engine says.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "flopcast/base.h"
#include "live/engine/daemon/daemon.h"
#include "live/engine/daemon/far.h"
#include "live/hosts/connection.h"
#include "live/hosts/frames.h"
#include "live/hosts/post_office.h"

namespace flopcast::live {

/// Of all machines of a run, as each of them is told.
struct MachineGroup {
  MeetingPlace place;  ///< where the first one waits for the others
  std::string token;   ///< that all of them were given
  std::uint32_t own = 0, count = 1;
  std::uint64_t words = 0;  ///< of the command, in one number
};

/// A process that a machine had started has ended there.
struct FarEnding {
  std::uint32_t machine = 0;
  std::uint32_t process = 0;  ///< in the order in which that machine started them
  int status = 0;
  std::string last_line;  ///< that it wrote to its standard error
};

class Gateway final : public FarHosts {
 public:
  ~Gateway() override;

  /// Errors: as MeetingPoint::open().
  static Result<std::unique_ptr<Gateway>> open(const MachineGroup& group);
  /// Until all others have come. Who has another token is sent away. Errors: one that means another run, stopped, nobody in time.
  /// @param refused told of each that was sent away
  std::optional<Diagnostic> gather(const std::function<bool()>& stop,
                                   const std::function<void(const std::string&)>& refused);
  /// The machines, as this one knows them.
  Machines machines() const;
  /// The interface of this machine that the others come by.
  std::string interface() const;
  /// They start their processes. @param daemon lives as long as this
  void begin(Daemon& daemon, WelcomeFrame welcome);

  /// Processes that have ended since the last call.
  std::vector<FarEnding> ended();
  /// Machines whose processes have not all ended.
  std::size_t running();
  /// Functions that are not there and that processes of the others called.
  std::vector<std::string> remarks();
  /// They end all of their processes; returns when they have, or after some seconds. @param why empty: it has ended well
  void end_all(const std::string& why);

  void begin_walk() override;
  Sight walked(std::vector<BusyThread>& busy) override;
  void carry() override;
  std::optional<Diagnostic> problem() override;

 private:
  class Host;
  explicit Gateway(const MachineGroup& group);
  std::optional<Diagnostic> admit(std::unique_ptr<Connection> connection,
                                  const std::function<void(const std::string&)>& refused);
  void pass_on(std::uint32_t from, std::span<const std::byte> frame, FrameReader& reader);
  void to_others(std::uint32_t but, FrameWriter& frame);
  Host* host_of(std::uint32_t machine);

  MachineGroup group_;
  std::unique_ptr<MeetingPoint> point_;
  Daemon* daemon_ = nullptr;
  std::optional<PostOffice> office_;
  std::chrono::steady_clock::time_point told_readers_;
  std::mutex lock_;
  std::condition_variable changed_;
  std::vector<FarEnding> endings_;  ///< under the lock, as all below
  std::vector<std::string> remarks_;
  std::optional<Diagnostic> problem_;
  std::vector<std::unique_ptr<Host>>
      hosts_;  ///< by machine, but this one; goes first: their threads use the rest
};

}  // namespace flopcast::live
