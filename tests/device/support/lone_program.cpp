// lone_program DEVICE PLAN|-: makes an id for NCCL and a communicator of one rank on the device, and prints
// the result and the sentence. Links no stand-in: what it finds is what its library path holds.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "runtime/include/cerar.h"
#include "runtime/measure/time_limit.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  cerarPlan_t plan = nullptr;
  cerarComm_t comm = nullptr;
  cerarNcclId_t id{};
  cerarResult_t result = cerarGetNcclId(&id);
  if (result == cerarSuccess && std::string(argv[2]) != "-") result = cerarPlanLoad(&plan, argv[2]);
  if (result == cerarSuccess)
    result = cerarCommInitNcclId(&comm, &id, 0, 1, std::atoi(argv[1]), plan, cerar::TimeLimit(2000));
  std::printf("%d %s\n", static_cast<int>(result), result == cerarSuccess ? "" : cerarGetLastError());
  cerarCommDestroy(comm);
  cerarPlanFree(plan);
  return 0;
}
