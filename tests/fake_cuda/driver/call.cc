#include <signal.h>
#include <unistd.h>

#include "tests/fake_cuda/driver/driver.h"
#include "tests/fake_cuda/faults.h"

namespace fake_cuda {
namespace {

std::atomic<uint32_t> g_next_correlation{1};
thread_local int t_depth = 0;
thread_local uint32_t t_correlation = 0;

}  // namespace

Call::Call(CUpti_CallbackId id, const char* name, const void* params, const char* symbol)
    : id_(id), allowed_(Initialised()) {
  if (!allowed_) return;
  if (t_depth++ == 0) t_correlation = g_next_correlation.fetch_add(1);
  data_.functionName = name;
  data_.functionParams = params;
  data_.symbolName = symbol;
  data_.functionReturnValue = &result_;
  data_.correlationData = &correlation_data_;
  data_.correlationId = t_correlation;
  const Tracer* tracer = GetTracer();
  reported_ = tracer != nullptr && tracer->wants(CUPTI_CB_DOMAIN_DRIVER_API, id);
  if (reported_) Report(CUPTI_API_ENTER);
}

CUresult Call::Return(CUresult result) {
  result_ = result;
  if (reported_) Report(CUPTI_API_EXIT);
  --t_depth;
  return result;
}

void Call::Report(CUpti_ApiCallbackSite site) {
  const Tracer* tracer = GetTracer();
  if (tracer == nullptr) return;
  data_.callbackSite = site;
  data_.context = CurrentContext();
  data_.contextUid = data_.context == nullptr ? 0 : data_.context->id;
  tracer->api(id_, &data_);
}

uint32_t CurrentCorrelationId() { return t_correlation; }

void CountLaunchCall() {
  static std::atomic<uint64_t> launches{0};
  const uint64_t launch = launches.fetch_add(1) + 1;
  if (GetFaults().kill_at_launch != 0 && launch == GetFaults().kill_at_launch)
    kill(getpid(), SIGKILL);
}

void ReportResource(CUpti_CallbackId id, CUcontext context, CUstream stream, void* descriptor) {
  const Tracer* tracer = GetTracer();
  if (tracer == nullptr || !tracer->wants(CUPTI_CB_DOMAIN_RESOURCE, id)) return;
  CUpti_ResourceData data = {};
  data.context = context;
  data.resourceHandle.stream = stream;
  data.resourceDescriptor = descriptor;
  tracer->resource(id, &data);
}

void ReportGraph(CUpti_CallbackId id, CUpti_GraphData data, CUcontext context) {
  ReportResource(id, context, nullptr, &data);
}

}  // namespace fake_cuda
