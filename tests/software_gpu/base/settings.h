#pragma once

namespace software_gpu {

constexpr int kMostDevices = 16;
constexpr int kGreatestPriority = -5;  ///< of streams; the least is 0

/// What the environment says of the machine that is imitated; read once.
struct Settings {
  int devices;          ///< SOFTWARE_GPU_DEVICES, 0 to 16, default 4
  int multiprocessors;  ///< SOFTWARE_GPU_MULTIPROCESSORS, default 8
  bool peers;           ///< SOFTWARE_GPU_PEERS, default 1: devices can map each other's memory
  int driver_version;   ///< SOFTWARE_GPU_DRIVER, default 13000
};
const Settings& settings();

/// Compute capability of the devices, 80 for 8.0: SOFTWARE_GPU_ARCH, default 80, or what was set.
int architecture();
void set_architecture(int number);  ///< 0: as the environment says

/// An integer of the environment.
int environment_number(const char* name, int otherwise);

/// Sleeps for the next random delay of the calling thread.
void random_delay();
/// Delays from now on, see software_gpu_delays; negative: as the environment says.
void set_delays(int at_most_us, unsigned seed);

}  // namespace software_gpu
