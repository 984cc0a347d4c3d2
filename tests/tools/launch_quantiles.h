// Printed by tests/tools/launch_quantiles.py from 3 recorded vLLM servers in examples/ (652,543
// eager launches): each value at 0.005, 1/16, 2/16, ..., 0.995.
#pragma once

namespace hotproof::tools {

constexpr int kQuantiles = 17;
constexpr double kEnterGapNs[kQuantiles] = {4596,  11654, 14010, 18522,  20543, 22381,
                                            23219, 24075, 25150, 26468,  28672, 34136,
                                            38182, 42262, 64825, 118010, 240483};
constexpr double kEnterGapRatio[kQuantiles] = {0.437, 0.579, 0.624, 0.728, 0.901, 0.945,
                                               0.967, 0.984, 1.000, 1.018, 1.042, 1.080,
                                               1.153, 1.279, 1.399, 1.711, 13.417};
constexpr double kCallNs[kQuantiles] = {4403, 4850, 5045, 5144, 5254, 5361, 5492, 5660,  5848,
                                        6116, 6432, 6688, 6993, 7286, 7690, 8709, 128985};
constexpr double kCallRatio[kQuantiles] = {0.225, 0.749, 0.814, 0.856, 0.890, 0.919,
                                           0.947, 0.973, 1.000, 1.028, 1.062, 1.103,
                                           1.153, 1.218, 1.317, 1.592, 10.107};
constexpr double kDurationNs[kQuantiles] = {768,   1664,  5665,  7135,  12800, 14240,
                                            14272, 14272, 14304, 14304, 14432, 23040,
                                            39264, 52112, 58368, 58400, 303009};
constexpr double kDurationRatio[kQuantiles] = {0.703, 0.975, 0.981, 0.988, 0.991, 0.994,
                                               0.997, 0.999, 1.000, 1.001, 1.003, 1.005,
                                               1.009, 1.015, 1.027, 1.074, 1.182};
constexpr double kStartDelayNs[kQuantiles] = {-2356, 570,  949,  1205, 1409, 1603, 1801, 1998, 2186,
                                              2381,  2613, 2944, 3332, 3686, 4197, 4804, 5828};
constexpr double kQueuedGapNs[kQuantiles] = {31,   1088, 1377, 2272, 2368, 2432, 2687, 2943, 3008,
                                             3040, 3072, 3105, 3168, 3263, 3424, 3553, 85408};

}  // namespace hotproof::tools
