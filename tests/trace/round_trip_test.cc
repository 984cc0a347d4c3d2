// Every field of every table message: what the writer is given is what protobuf reads.
#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "tests/trace/trace_files.h"

namespace hotproof::trace {
namespace {

using ::google::protobuf::Message;
using ::google::protobuf::util::MessageDifferencer;
using ::testing::ElementsAre;

// Fields that are zero say nothing about whether they are written.
void ExpectEveryFieldSet(const Message& message) {
  const auto& descriptor = *message.GetDescriptor();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  EXPECT_EQ(fields.size(), static_cast<size_t>(descriptor.field_count()))
      << descriptor.name() << ": " << message.ShortDebugString();
}

void ExpectSame(const Message& got, const Message& want) {
  ExpectEveryFieldSet(want);
  EXPECT_TRUE(MessageDifferencer::Equals(got, want))
      << "got  " << got.ShortDebugString() << "\nwant " << want.ShortDebugString();
}

class RoundTripTest : public ::testing::Test {
 protected:
  RoundTripTest() : writer_(std::make_unique<Writer>(CreateFile(folder_.File("a.hpt")))) {}

  const Tables& Read() {
    EXPECT_EQ(writer_->Flush(counters_), WriteResult::kOk);
    writer_.reset();
    auto reader = TraceReader::Open(folder_.File("a.hpt"));
    EXPECT_TRUE(reader.ok()) << reader.status();
    reader_ = std::move(*reader);
    EXPECT_TRUE(reader_->issues().empty()) << reader_->issues()[0].detail;
    return reader_->tables();
  }

  ScratchFolder folder_;
  std::vector<uint64_t> sites_ = {0, 0, 0}, graphs_ = {0, 0, 0};
  CounterView counters_{sites_, graphs_};
  std::unique_ptr<Writer> writer_;
  std::unique_ptr<TraceReader> reader_;
};

TEST_F(RoundTripTest, HeaderAndALaterOneThatAdds) {
  HeaderEntry entry{.hotproof_version = "0.1.0",
                    .mode = MODE_COUNT,
                    .pid = 4294967295u,
                    .parent_pid = 17,
                    .host = "host",
                    .boot_id = "boot",
                    .process_start_ticks = 1ull << 60,
                    .executable = "/bin/x",
                    .arguments = {"x", "", "--y"},
                    .environment = {"A=1", "B="},
                    .start_realtime_ns = ~0ull,
                    .cupti_path = "/lib/cupti",
                    .cupti_version = 130001,
                    .driver_version = 13000,
                    .devices = {{.id = 3,
                                 .name = "H200",
                                 .uuid = "GPU-1",
                                 .compute_capability_major = 9,
                                 .compute_capability_minor = 1,
                                 .multiprocessors = 132,
                                 .memory_bytes = 141ull << 30,
                                 .l2_bytes = 50u << 20,
                                 .memory_clock_khz = 3201000,
                                 .memory_bus_bits = 6144}},
                    .interposers = true,
                    .counters_file = "",
                    .flush_period_ms = 250,
                    .quirks = {"q1", "q2"},
                    .chained_injection = "/lib/other",
                    .driver_name = "580.159.04"};
  writer_->AddHeader(entry);
  EXPECT_EQ(writer_->Flush(counters_), WriteResult::kOk);
  writer_->AddHeader({.counters_file = "missing.hpc",
                      .cupti_header_version = 130085,
                      .activity_kinds = {10, 1},
                      .refused_activity_kinds = {38}});
  EXPECT_EQ(writer_->Flush(counters_), WriteResult::kOk);
  writer_.reset();
  auto reader = TraceReader::Open(folder_.File("a.hpt"));
  ASSERT_TRUE(reader.ok()) << reader.status();

  Header want;
  want.set_format_major(1);
  want.set_format_minor(kFormatMinor);
  want.set_hotproof_version("0.1.0");
  want.set_mode(MODE_COUNT);
  want.set_pid(4294967295u);
  want.set_parent_pid(17);
  want.set_host("host");
  want.set_boot_id("boot");
  want.set_process_start_ticks(1ull << 60);
  want.set_executable("/bin/x");
  for (const char* argument : {"x", "", "--y"}) want.add_arguments(argument);
  for (const char* variable : {"A=1", "B="}) want.add_environment(variable);
  want.set_start_realtime_ns(~0ull);
  want.set_cupti_path("/lib/cupti");
  want.set_cupti_version(130001);
  want.set_driver_version(13000);
  Device* device = want.add_devices();
  device->set_id(3);
  device->set_name("H200");
  device->set_uuid("GPU-1");
  device->set_compute_capability_major(9);
  device->set_compute_capability_minor(1);
  device->set_multiprocessors(132);
  device->set_memory_bytes(141ull << 30);
  device->set_l2_bytes(50u << 20);
  device->set_memory_clock_khz(3201000);
  device->set_memory_bus_bits(6144);
  ExpectEveryFieldSet(*device);
  want.set_interposers(true);
  want.set_counters_file("missing.hpc");
  want.set_flush_period_ms(250);
  want.add_quirks("q1");
  want.add_quirks("q2");
  want.set_chained_injection("/lib/other");
  want.set_driver_name("580.159.04");
  want.set_cupti_header_version(130085);
  want.add_activity_kinds(10);
  want.add_activity_kinds(1);
  want.add_refused_activity_kinds(38);
  ExpectSame((*reader)->tables().header, want);
}

TEST_F(RoundTripTest, Kernel) {
  writer_->AddHeader({});
  const uint32_t offsets[] = {0, 8, 136}, sizes[] = {8, 128, 4};
  writer_->AddKernel({1, "name", 7, 0xFEDCBA9876543210u, offsets, sizes, 90, "a"});
  Kernel want;
  want.set_id(1);
  want.set_name("name");
  want.set_module_id(7);
  want.set_cubin_hash(0xFEDCBA9876543210u);
  for (uint32_t offset : offsets) want.add_parameter_offsets(offset);
  for (uint32_t size : sizes) want.add_parameter_sizes(size);
  want.set_architecture(90);
  want.set_architecture_suffix("a");
  ExpectSame(Read().kernels[1], want);
}

TEST_F(RoundTripTest, Attributes) {
  writer_->AddHeader({});
  writer_->AddAttributes(
      1, {2, 3, 4, 1ull << 40, 6, 7, 8, 9, 10, 11, 12, true, 15, 16, 17, 18, 19, 20});
  Attributes want;
  want.set_id(1);
  want.set_registers_per_thread(2);
  want.set_static_shared_bytes(3);
  want.set_local_bytes_per_thread(4);
  want.set_local_total_bytes(1ull << 40);
  want.set_launch_type(6);
  want.set_cluster_x(7);
  want.set_cluster_y(8);
  want.set_cluster_z(9);
  want.set_cluster_scheduling_policy(10);
  want.set_shared_memory_executed_bytes(11);
  want.set_shared_memory_carveout_requested(12);
  want.set_device_launched(true);
  want.set_partitioned_cache_executed(15);
  want.set_cache_config(16);
  want.set_shared_memory_config(17);
  want.set_channel_type(18);
  want.set_max_potential_cluster_size(19);
  want.set_max_active_clusters(20);
  ExpectSame(Read().attributes[1], want);
}

TEST_F(RoundTripTest, TensorMap) {
  writer_->AddHeader({});
  const uint64_t dims[] = {5120, 8}, strides[] = {1ull << 40};
  const uint32_t box[] = {128, 64}, steps[] = {1, 2};
  writer_->AddTensorMap({1, 9, dims, strides, box, steps, 1, 3, 2, true});
  TensorMap want;
  want.set_id(1);
  want.set_data_type(9);
  for (uint64_t dim : dims) want.add_global_dims(dim);
  want.add_global_strides(1ull << 40);
  for (uint32_t dim : box) want.add_box_dims(dim);
  for (uint32_t step : steps) want.add_element_strides(step);
  want.set_interleave(1);
  want.set_swizzle(3);
  want.set_kind(2);
  want.set_learnt(true);
  ExpectSame(Read().tensor_maps[1], want);
}

TEST_F(RoundTripTest, Site) {
  writer_->AddHeader({});
  writer_->AddKernel({.id = 1, .name = "k"});
  writer_->AddTensorMap({.id = 1});
  writer_->AddRangePath({.id = 1, .name = "a"});
  writer_->AddRangePath({.id = 2, .name = "b"});
  const std::string arguments("\0\1\377\0", 4);
  const uint32_t masked[] = {0, 16};
  const TensorMapUseEntry uses[] = {{64, 1}};
  const LibraryCallEntry call = {"cublasLtMatmul",
                                 {2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13,
                                  14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25}};
  writer_->AddSite({1,
                    1,
                    {2, 3, 4},
                    {5, 6, 7},
                    {8, 9, 10},
                    11,
                    true,
                    true,
                    true,
                    arguments,
                    masked,
                    true,
                    uses,
                    307,
                    true,
                    &call,
                    "/opt/_C.abi3.so",
                    true,
                    2,
                    1});
  Site want;
  want.set_id(1);
  want.set_kernel_id(1);
  want.set_grid_x(2);
  want.set_grid_y(3);
  want.set_grid_z(4);
  want.set_block_x(5);
  want.set_block_y(6);
  want.set_block_z(7);
  want.set_cluster_x(8);
  want.set_cluster_y(9);
  want.set_cluster_z(10);
  want.set_dynamic_shared_bytes(11);
  want.set_captured(true);
  want.set_cooperative(true);
  want.set_programmatic(true);
  want.set_arguments(arguments);
  want.add_masked_offsets(0);
  want.add_masked_offsets(16);
  want.set_arguments_overflowed(true);
  want.add_tensor_maps()->set_argument_offset(64);
  want.mutable_tensor_maps(0)->set_tensor_map_id(1);
  ExpectEveryFieldSet(want.tensor_maps(0));
  want.set_api_cbid(307);
  want.set_unattributed(true);
  LibraryCall& want_call = *want.mutable_library_call();
  want_call.set_entry_point("cublasLtMatmul");
  for (int number = 2; number <= 25; ++number) {
    const auto* field = want_call.GetDescriptor()->FindFieldByNumber(number);
    ASSERT_NE(field, nullptr) << number;
    const auto* reflection = want_call.GetReflection();
    if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_UINT64) {
      reflection->SetUInt64(&want_call, field, static_cast<uint64_t>(number));
    } else {
      reflection->SetUInt32(&want_call, field, static_cast<uint32_t>(number));
    }
  }
  ExpectEveryFieldSet(want_call);
  want.set_launching_library("/opt/_C.abi3.so");
  want.set_library_calls_overflowed(true);
  want.set_range_path(2);
  want.set_process_ranges(1);
  ExpectSame(Read().sites[1], want);
}

TEST_F(RoundTripTest, Graph) {
  writer_->AddHeader({});
  for (uint32_t id = 1; id <= 3; ++id) writer_->AddSite({.id = id});
  writer_->AddGraph({.id = 1});
  const uint64_t nodes[] = {~0ull, 5, 1ull << 63};
  const uint32_t sites[] = {3, 0, 1};
  const uint32_t caveats[] = {GRAPH_CAVEAT_CONDITIONAL, GRAPH_CAVEAT_UPDATED_UNSEEN};
  const uint64_t others[] = {0, ~0ull};
  const uint32_t types[] = {0, 13}, from[] = {4, 0}, to[] = {0, 3}, data[] = {0, 0xFFFFFF};
  writer_->AddGraph(
      {2, 77, 66, 1, nodes, sites, caveats, 4, 5, others, types, true, from, to, data});
  const GraphTable& got = Read().graphs[2];
  EXPECT_EQ(got.id, 2u);
  EXPECT_EQ(got.exec_graph_id, 77u);
  EXPECT_EQ(got.source_graph_id, 66u);
  EXPECT_EQ(got.replaces, 1u);
  EXPECT_THAT(got.node_ids, ElementsAre(~0ull, 5, 1ull << 63));
  EXPECT_THAT(got.node_sites, ElementsAre(3, 0, 1));
  EXPECT_THAT(got.caveats, ElementsAre(GRAPH_CAVEAT_CONDITIONAL, GRAPH_CAVEAT_UPDATED_UNSEEN));
  EXPECT_EQ(got.disabled_nodes, 4u);
  EXPECT_EQ(got.other_nodes, 5u);
  EXPECT_THAT(got.other_node_ids, ElementsAre(0, ~0ull));
  EXPECT_THAT(got.other_node_types, ElementsAre(0, 13));
  EXPECT_TRUE(got.edges_known);
  ASSERT_EQ(got.edges.size(), 2u);
  EXPECT_EQ(std::tuple(got.edges[0].from, got.edges[0].to, got.edges[0].data), std::tuple(4, 0, 0));
  EXPECT_EQ(std::tuple(got.edges[1].from, got.edges[1].to, got.edges[1].data),
            std::tuple(0, 3, 0xFFFFFF));
}

TEST_F(RoundTripTest, EdgesBetweenNodesThatAreNotThereAreNone) {
  writer_->AddHeader({});
  const uint64_t nodes[] = {1, 2};
  const uint32_t sites[] = {0, 0}, from[] = {0}, to[] = {2};
  writer_->AddGraph({.id = 1,
                     .node_ids = nodes,
                     .node_sites = sites,
                     .edges_known = true,
                     .edge_from = from,
                     .edge_to = to});
  EXPECT_EQ(writer_->Flush(counters_), WriteResult::kOk);
  writer_.reset();
  auto reader = TraceReader::Open(folder_.File("a.hpt"));
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->issues().size(), 1u);
  EXPECT_FALSE((*reader)->tables().graphs[1].edges_known);
  EXPECT_TRUE((*reader)->tables().graphs[1].edges.empty());
}

TEST_F(RoundTripTest, StreamProblemClockFooter) {
  writer_->AddHeader({});
  writer_->AddStream({1, 2, 3, 4});
  writer_->AddProblem({PROBLEM_CUPTI_ERROR, 8, "call", 9});
  writer_->AddClockPair({1, 2, 3});
  writer_->AddClockPair({4, 5, 6});
  writer_->AddFooter({1, "signal 15", 2, 3, 4, 5, true});
  const Tables& tables = Read();
  Stream stream;
  stream.set_id(1);
  stream.set_device_id(2);
  stream.set_context_id(3);
  stream.set_stream_id(4);
  ExpectSame(tables.streams[1], stream);
  Problem problem;
  problem.set_kind(PROBLEM_CUPTI_ERROR);
  problem.set_count(8);
  problem.set_detail("call");
  problem.set_realtime_ns(9);
  ASSERT_EQ(tables.problems.size(), 1u);
  ExpectSame(tables.problems[0], problem);
  ASSERT_EQ(tables.clocks.size(), 2u);
  ClockPair clock;
  clock.set_cupti_ns(4);
  clock.set_realtime_ns(5);
  clock.set_monotonic_ns(6);
  ExpectSame(tables.clocks[1], clock);
  Footer footer;
  footer.set_realtime_ns(1);
  footer.set_reason("signal 15");
  footer.set_launches(2);
  footer.set_records(3);
  footer.set_dropped(4);
  footer.set_discarded(5);
  footer.set_flushed(true);
  ASSERT_TRUE(tables.has_footer);
  ExpectSame(tables.footer, footer);
}

TEST_F(RoundTripTest, OperationClass) {
  writer_->AddHeader({});
  writer_->AddOperationClass({1, OPERATION_EVENT_RECORD, 3, 4, 5, 6, 7, true, true, 10, 11, 12,
                              13, 14, 15});
  OperationClass want;
  want.set_id(1);
  want.set_kind(OPERATION_EVENT_RECORD);
  want.set_copy_kind(3);
  want.set_source_memory(4);
  want.set_destination_memory(5);
  want.set_flags(6);
  want.set_channel_type(7);
  want.set_device_launched(true);
  want.set_peer(true);
  want.set_source_device(10);
  want.set_source_context(11);
  want.set_destination_device(12);
  want.set_destination_context(13);
  want.set_synchronization_type(14);
  want.set_return_value(15);
  ExpectSame(Read().operation_classes[1], want);
}

TEST_F(RoundTripTest, RangePathsOfSitesAndNodes) {
  writer_->AddHeader({});
  writer_->AddRangePath({.id = 1, .name = "request", .domain = "server", .source = RANGE_START_END});
  writer_->AddRangePath({.id = 2, .name = "mlp", .source = RANGE_PUSH_POP});
  writer_->AddRangePath({.id = 3,
                         .parent = 2,
                         .name = "gemm",
                         .domain = "torch",
                         .source = RANGE_PUSH_POP,
                         .payload_kind = PAYLOAD_UNSIGNED,
                         .payload = 1ull << 63,
                         .many = true});
  writer_->AddSite({.id = 1, .range_path = 3, .process_ranges = 1});
  const uint64_t ids[] = {7, 8};
  const uint32_t sites[] = {1, 1}, paths[] = {3, 2}, process[] = {1, 9};
  writer_->AddGraph({.id = 1,
                     .node_ids = ids,
                     .node_sites = sites,
                     .node_range_paths = paths,
                     .node_process_ranges = process});
  writer_->AddGraph({.id = 2, .node_ids = ids, .node_sites = sites});
  const Tables tables = Read();
  RangePath want;
  want.set_id(3);
  want.set_parent(2);
  want.set_name("gemm");
  want.set_domain("torch");
  want.set_many(true);
  want.set_source(RANGE_PUSH_POP);
  want.set_payload_kind(PAYLOAD_UNSIGNED);
  want.set_payload(1ull << 63);
  ASSERT_EQ(tables.range_paths.size(), 4u);
  ExpectSame(tables.range_paths[3], want);
  EXPECT_EQ(tables.range_paths[1].domain(), "server");
  EXPECT_EQ(tables.sites[1].range_path(), 3u);
  EXPECT_EQ(tables.sites[1].process_ranges(), 1u);
  EXPECT_THAT(tables.graphs[1].node_range_paths, ElementsAre(3, 2));
  EXPECT_THAT(tables.graphs[1].node_process_ranges, ElementsAre(1, 0));  // no chunk defines 9
  EXPECT_TRUE(tables.graphs[2].node_range_paths.empty());
}

TEST_F(RoundTripTest, SnapshotsHoldAbsoluteCounts) {
  writer_->AddHeader({});
  writer_->AddSite({.id = 1});
  writer_->AddSite({.id = 2});
  writer_->AddGraph({.id = 1});
  writer_->AddSnapshot({SNAPSHOT_REASON_MARK, "steady", 5, 6, 1}, counters_);
  sites_[0] = 2;
  sites_[2] = 7;
  writer_->AddSnapshot({.reason = SNAPSHOT_REASON_END_CAPTURE}, counters_);
  EXPECT_EQ(writer_->Flush(counters_), WriteResult::kOk);
  sites_[2] = 9;
  graphs_[1] = 3;
  graphs_[2] = 4;  // a graph that no chunk defines
  writer_->AddSnapshot({.reason = SNAPSHOT_REASON_FIRST_REPLAY}, counters_);
  const Tables& tables = Read();
  ASSERT_EQ(tables.snapshots.size(), 3u);
  EXPECT_EQ(tables.snapshots[0].reason, SNAPSHOT_REASON_MARK);
  EXPECT_EQ(tables.snapshots[0].label, "steady");
  EXPECT_EQ(tables.snapshots[0].realtime_ns, 5u);
  EXPECT_EQ(tables.snapshots[0].correlation_id, 6u);
  EXPECT_EQ(tables.snapshots[0].graph_id, 1u);
  EXPECT_THAT(tables.snapshots[0].asked.sites, ElementsAre(0, 0, 0));
  EXPECT_THAT(tables.snapshots[1].asked.sites, ElementsAre(2, 0, 7));
  EXPECT_THAT(tables.snapshots[2].asked.sites, ElementsAre(2, 0, 9));
  EXPECT_THAT(tables.snapshots[2].asked.graphs, ElementsAre(4, 3));
  EXPECT_TRUE(tables.snapshots[2].asked_exact);
  EXPECT_THAT(tables.asked.sites, ElementsAre(2, 0, 9));
}

TEST_F(RoundTripTest, TextThatIsNotUtf8StaysReadable) {
  writer_->AddHeader(
      {.executable = "/caf\xE9/\xC3\xA9", .arguments = {"\xF0\x9F\x98\x80", "\xED\xA0\x80"}});
  writer_->AddKernel({.id = 1, .name = "\xC0\x80\xF5k\xE2\x82"});
  const Tables& tables = Read();
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(tables.header.executable(), "/caf" + r + "/\xC3\xA9");
  EXPECT_EQ(tables.header.arguments(0), "\xF0\x9F\x98\x80");
  EXPECT_EQ(tables.header.arguments(1), r + r + r);
  EXPECT_EQ(tables.kernels[1].name(), r + r + r + "k" + r + r);
}

TEST_F(RoundTripTest, NothingPendingWritesNothing) {
  writer_->AddHeader({});
  EXPECT_TRUE(writer_->has_pending_tables());
  EXPECT_EQ(writer_->FlushTables(counters_), WriteResult::kOk);
  EXPECT_FALSE(writer_->has_pending_tables());
  const uint64_t bytes = writer_->bytes_written();
  EXPECT_EQ(writer_->Flush(counters_), WriteResult::kOk);
  EXPECT_EQ(writer_->FlushTables(counters_), WriteResult::kOk);
  EXPECT_EQ(writer_->bytes_written(), bytes);
  ++sites_[1];
  EXPECT_EQ(writer_->Flush(counters_), WriteResult::kOk);
  EXPECT_GT(writer_->bytes_written(), bytes);
}

}  // namespace
}  // namespace hotproof::trace
