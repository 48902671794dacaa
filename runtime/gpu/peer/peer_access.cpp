#include "runtime/gpu/peer/peer_access.h"

#include <fmt/format.h>

#include <cstdint>
#include <vector>

#include "runtime/base/error.h"

namespace cerar::runtime {
namespace {

bool data_arrive(const DeviceHandle& from, const DeviceHandle& to) {
  constexpr std::size_t kWords = 65536;
  std::vector<std::uint32_t> pattern(kWords), found(kWords);
  for (std::size_t i = 0; i < kWords; ++i) pattern[i] = static_cast<std::uint32_t>(i) * 2654435761u + 12345u;
  const std::size_t bytes = kWords * sizeof(std::uint32_t);
  const Driver& d = driver();
  const DeviceBuffer source(from, bytes), target(to, bytes);
  const OnDevice current(*from);
  const DeviceStream stream(from);
  check(d.cuMemcpyHtoDAsync_v2(source.address(), pattern.data(), bytes, stream.get()), "copying to a device");
  check(d.cuMemcpyPeerAsync(target.address(), to->context(), source.address(), from->context(), bytes,
                            stream.get()),
        "copying between devices");
  check(d.cuStreamSynchronize(stream.get()), "waiting for a copy between devices");
  const OnDevice there(*to);
  const DeviceStream back(to);
  check(d.cuMemcpyDtoHAsync_v2(found.data(), target.address(), bytes, back.get()), "copying from a device");
  check(d.cuStreamSynchronize(back.get()), "waiting for a copy from a device");
  return found == pattern;
}

}  // namespace

void open_peer_access(const DeviceHandle& from, const DeviceHandle& to) {
  if (from->context() == to->context()) return;
  const Driver& d = driver();
  int can = 0;
  check(d.cuDeviceCanAccessPeer(&can, from->ordinal(), to->ordinal()), "asking for access between devices");
  if (!can) return;
  const OnDevice current(*from);
  const CuResult enabled = d.cuCtxEnablePeerAccess(to->context(), 0);
  if (enabled != kCuSuccess && enabled != kCuPeerAccessAlreadyEnabled) return;
  if (data_arrive(from, to)) return;
  if (enabled == kCuPeerAccessAlreadyEnabled)  // another part of the program relies on it
    throw Error(
        ErrorCode::system,
        fmt::format("what device {} writes into memory of device {} does not arrive; switch off access "
                    "control (ACS) and the IOMMU, or do not enable access between these devices.",
                    from->ordinal(), to->ordinal()));
  d.cuCtxDisablePeerAccess(to->context());
}

}  // namespace cerar::runtime
