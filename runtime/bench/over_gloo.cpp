#include <cerar_gloo.h>

#include "runtime/bench/comparison.h"

namespace cerar::runtime {

void over_gloo(const Arguments& arguments, const std::function<void(const Comparison&)>& body) {
  require_job(arguments);
  const char* interface_name = arguments.interface_name.empty() ? nullptr : arguments.interface_name.c_str();
  const JobRank rank(*arguments.rank, *arguments.size,
                     make_job_comms(arguments.plan, [&](cerarComm_t* comm, cerarPlan_t plan) {
                       return cerarCommInitGloo(comm, *arguments.rank, *arguments.size, plan,
                                                arguments.store.c_str(), interface_name, nullptr);
                     }));
  body(job_comparison("gloo (one process per rank)", rank));
}

}  // namespace cerar::runtime
