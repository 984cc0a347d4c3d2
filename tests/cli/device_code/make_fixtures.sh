#!/bin/sh
# Rebuilds the fixtures with the nvcc in PATH (13.0.88 made those here); run in this folder.
set -e
ARCHES="-gencode arch=compute_80,code=sm_80 -gencode arch=compute_90a,code=sm_90a"
nvcc -cubin -arch=sm_80 -o sm_80.cubin kernels.cu
nvcc -cubin -arch=sm_90a -o sm_90a.cubin kernels.cu
nvcc -fatbin -no-compress $ARCHES -o plain.fatbin kernels.cu
nvcc -fatbin -compress-mode=size $ARCHES -gencode arch=compute_80,code=compute_80 -o packed.fatbin kernels.cu
