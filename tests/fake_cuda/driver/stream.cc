// Streams, events and capture.
#include <algorithm>
#include <mutex>

#include "tests/fake_cuda/driver/driver.h"

namespace fake_cuda {
namespace {

std::atomic<uint32_t> g_next_stream_id{7};  // the first context's null stream is 7
std::mutex g_mutex;                         // lists of streams

uint32_t NewChannel() {
  static std::atomic<uint32_t> next{0};
  return next.fetch_add(1) % 16;
}

void ClearCapture(CUstream stream) {
  stream->capture = nullptr;
  stream->capture_origin = nullptr;
  stream->capture_tail.clear();
}

void BeginCapture(CUstream stream, CUgraph graph) {
  stream->capture = graph;
  stream->capture_origin = stream;
  stream->capture_tail.clear();
}

}  // namespace

uint32_t NewStreamId() { return g_next_stream_id.fetch_add(1); }

CUstream ResolveStream(CUstream stream, bool per_thread) {
  CUcontext context = CurrentContext();
  if (stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) {
    if (context == nullptr) return nullptr;
    if (!per_thread && stream != CU_STREAM_PER_THREAD) return &context->null_stream;
    std::lock_guard<std::mutex> lock(g_mutex);
    if (context->per_thread_stream.id == 0) context->per_thread_stream.id = NewStreamId();
    return &context->per_thread_stream;
  }
  return stream;
}

void DestroyAllStreams(CUcontext context) {
  for (CUstream stream : context->streams)
    ReportResource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, context, stream, nullptr);
  std::lock_guard<std::mutex> lock(g_mutex);
  context->streams.clear();
}

uint64_t ContextBusyUntilNs(CUcontext context) {
  std::lock_guard<std::mutex> lock(g_mutex);
  uint64_t busy = std::max(context->null_stream.busy_until_ns.load(),
                           context->per_thread_stream.busy_until_ns.load());
  for (CUstream stream : context->streams) busy = std::max(busy, stream->busy_until_ns.load());
  return busy;
}

void ReportSynchronization(CUpti_ActivitySynchronizationType type, uint64_t start_ns,
                           CUcontext context, CUstream stream, CUevent event, CUresult result) {
  const Tracer* tracer = GetTracer();
  if (tracer == nullptr) return;
  Work work = {};
  work.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  work.synchronization = type;
  work.start_ns = start_ns;
  work.end_ns = NowNs();
  work.correlation_id = CurrentCorrelationId();
  work.context_id = stream != nullptr    ? stream->context->id
                    : event != nullptr   ? event->context_id
                    : context != nullptr ? context->id
                                         : 0;
  work.stream_id = stream != nullptr ? stream->id : CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  work.event_id = event != nullptr ? event->id : CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  work.event_sync_id =
      event != nullptr ? event->sync_id.load() : CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  work.result = result;
  tracer->work(work);
}

void CaptureNode(CUstream stream, CUgraphNodeType type, const CUgraphNode_st& content) {
  CUgraphNode node = AddNode(stream->capture, type, stream->capture_tail, content);
  stream->capture_tail = {node};
}

}  // namespace fake_cuda

using namespace fake_cuda;

namespace {

CUresult Create(CUstream* stream) {
  CUcontext context = CurrentContext();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *stream = new CUstream_st;
  (*stream)->context = context;
  (*stream)->id = NewStreamId();
  (*stream)->channel = NewChannel();
  {
    std::lock_guard<std::mutex> lock(fake_cuda::g_mutex);
    context->streams.push_back(*stream);
  }
  ReportResource(CUPTI_CBID_RESOURCE_STREAM_CREATED, context, *stream, nullptr);
  return CUDA_SUCCESS;
}

}  // namespace

FAKE_EXPORT CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  FAKE_CALL(cuStreamCreate, stream, flags);
  return call.Return(Create(stream));
}

FAKE_EXPORT CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  FAKE_CALL(cuStreamCreateWithPriority, stream, flags, priority);
  return call.Return(Create(stream));
}

FAKE_EXPORT CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  FAKE_CALL(cuStreamGetCtx, stream, context);
  *context = stream == nullptr ? CurrentContext() : stream->context;
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuStreamDestroy_v2(CUstream stream) {
  FAKE_CALL(cuStreamDestroy_v2, stream);
  ReportResource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, stream->context, stream, nullptr);
  {
    std::lock_guard<std::mutex> lock(fake_cuda::g_mutex);
    std::erase(stream->context->streams, stream);
  }
  return call.Return(CUDA_SUCCESS);  // the object stays, as a context's does
}

FAKE_EXPORT CUresult cuStreamSynchronize(CUstream stream) {
  FAKE_CALL(cuStreamSynchronize, stream);
  const uint64_t start_ns = NowNs();
  CUstream s = ResolveStream(stream);
  SleepUntilNs(s->busy_until_ns.load());
  ReportSynchronization(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, start_ns, nullptr, s,
                        nullptr, CUDA_SUCCESS);
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuStreamQuery(CUstream stream) {
  FAKE_CALL(cuStreamQuery, stream);
  CUstream s = ResolveStream(stream);
  const uint64_t start_ns = NowNs();
  const CUresult result =
      s->busy_until_ns.load() > start_ns ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
  ReportSynchronization(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, start_ns, nullptr, s,
                        nullptr, result);
  return call.Return(result);
}

FAKE_EXPORT CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  FAKE_CALL(cuStreamWaitEvent, stream, event, flags);
  CUstream s = ResolveStream(stream);
  if (event->capture == nullptr) {
    uint64_t busy = s->busy_until_ns.load();
    const uint64_t start_ns = NowNs();
    while (busy < event->done_ns && !s->busy_until_ns.compare_exchange_weak(busy, event->done_ns)) {
    }
    ReportSynchronization(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT, start_ns, nullptr, s,
                          event, CUDA_SUCCESS);
    return call.Return(CUDA_SUCCESS);
  }
  if (s->capture == nullptr) {
    s->capture = event->capture;
    s->capture_origin = event->capture_origin;
    s->capture_tail.clear();
  }
  for (CUgraphNode node : event->capture_tail)
    if (std::find(s->capture_tail.begin(), s->capture_tail.end(), node) == s->capture_tail.end())
      s->capture_tail.push_back(node);
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  FAKE_CALL(cuStreamBeginCapture_v2, stream, mode);
  BeginCapture(stream, NewGraph());
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph,
                                                 const CUgraphNode* dependencies,
                                                 const CUgraphEdgeData* edges, size_t count,
                                                 CUstreamCaptureMode mode) {
  FAKE_CALL(cuStreamBeginCaptureToGraph, stream, graph, dependencies, edges, count, mode);
  BeginCapture(stream, graph);
  stream->capture_tail.assign(dependencies, dependencies + count);
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  FAKE_CALL(cuStreamEndCapture, stream, graph);
  if (stream->capture == nullptr) return call.Return(CUDA_ERROR_ILLEGAL_STATE);
  *graph = stream->capture;
  {
    std::lock_guard<std::mutex> lock(fake_cuda::g_mutex);
    for (CUstream other : stream->context->streams)
      if (other->capture == *graph) ClearCapture(other);
  }
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  FAKE_CALL(cuStreamIsCapturing, stream, status);
  *status = ResolveStream(stream)->capture != nullptr ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                                      : CU_STREAM_CAPTURE_STATUS_NONE;
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  FAKE_CALL(cuLaunchHostFunc, stream, function, data);
  CUstream s = ResolveStream(stream);
  if (s->capture != nullptr) {
    CUgraphNode_st content;
    content.host = {function, data};
    CaptureNode(s, CU_GRAPH_NODE_TYPE_HOST, content);
  } else {
    SleepUntilNs(s->busy_until_ns.load());
    function(data);
  }
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuEventCreate(CUevent* event, unsigned flags) {
  FAKE_CALL(cuEventCreate, event, flags);
  static std::atomic<uint32_t> next_id{1};
  *event = new CUevent_st;
  (*event)->id = next_id.fetch_add(1);
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuEventDestroy_v2(CUevent event) {
  FAKE_CALL(cuEventDestroy_v2, event);
  delete event;
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuEventRecord(CUevent event, CUstream stream) {
  FAKE_CALL(cuEventRecord, event, stream);
  CUstream s = ResolveStream(stream);
  event->capture = s->capture;
  event->capture_origin = s->capture_origin;
  event->capture_tail = s->capture_tail;
  event->done_ns = std::max(NowNs(), s->busy_until_ns.load());
  if (const Tracer* tracer = GetTracer(); tracer != nullptr && s->capture == nullptr) {
    static std::atomic<uint64_t> next_sync_id{1};
    event->sync_id = next_sync_id.fetch_add(1);
    event->context_id = s->context->id;
    Work work = {};
    work.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
    work.correlation_id = CurrentCorrelationId();
    work.context_id = s->context->id;
    work.stream_id = s->id;
    work.event_id = event->id;
    work.event_sync_id = event->sync_id;
    tracer->work(work);
  }
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuEventSynchronize(CUevent event) {
  FAKE_CALL(cuEventSynchronize, event);
  const uint64_t start_ns = NowNs();
  SleepUntilNs(event->done_ns);
  ReportSynchronization(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, start_ns, nullptr,
                        nullptr, event, CUDA_SUCCESS);
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuEventQuery(CUevent event) {
  FAKE_CALL(cuEventQuery, event);
  const uint64_t start_ns = NowNs();
  const CUresult result = event->done_ns > start_ns ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
  ReportSynchronization(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, start_ns, nullptr,
                        nullptr, event, result);
  return call.Return(result);
}

FAKE_EXPORT CUresult cuEventElapsedTime_v2(float* ms, CUevent from, CUevent to) {
  FAKE_CALL(cuEventElapsedTime_v2, ms, from, to);
  *ms = static_cast<float>(static_cast<double>(to->done_ns - from->done_ns) / 1e6);
  return call.Return(CUDA_SUCCESS);
}
