#!/bin/bash
# Everything that wants a GPU, in one go: the tests, the memory checker, the benchmark, and what the caller adds.
#
#   bash tests/gpu.sh
#
# needs python3 with numpy, numba, trimesh, hypothesis, pytest, pytest-timeout and cupy, but no installation of this
# project; with pytest-xdist four processes share the tests of the renderer and of tracecore. Scenes that it does not
# ship are looked for in TRACECORE_SCENES. Settings, by environment:
#
#   OUT            folder for logs and figures (default: output/gpu)
#   PYTHON         interpreter (default: python3)
#   GPU_EXTRA      more commands, one a line, each with a time limit of GPU_EXTRA_LIMIT seconds (default: 300)
#   GPU_SKIP       parts to leave out, separated by spaces: vectors renderer tracecore builds faults memcheck
#                  racecheck bench benchmark
#
# Every command has a time limit. The last lines are a summary; the exit status is 1 if anything failed.
set -u
cd "$(dirname "$0")/.." || exit 1
PYTHON=${PYTHON:-python3}
OUT=${OUT:-output/gpu}
mkdir -p "$OUT"
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1
scene_folder=${TRACECORE_SCENES:-$PWD/../shared/scenes}
summary=()
failed=0

side_by_side=$("$PYTHON" -c 'import xdist; print("-n 4 --dist loadfile")' 2>/dev/null)

part() { # part NAME SECONDS COMMAND...: run with a time limit, keep the log, note the outcome
    local name=$1 limit=$2 start=$SECONDS status
    shift 2
    if [[ " ${GPU_SKIP:-} " == *" $name "* ]]; then
        summary+=("SKIP $name (GPU_SKIP)")
        return
    fi
    echo "=== $name: $*"
    timeout --kill-after=10 "$limit" "$@" 2>&1 | tee "$OUT/$name.log"
    status=${PIPESTATUS[0]}
    if [[ $status == 0 ]]; then
        summary+=("PASS $name ($((SECONDS - start)) s)")
    else
        summary+=("FAIL $name (status $status, $((SECONDS - start)) s, $OUT/$name.log)")
        failed=1
    fi
}

reason='from tracecore.cuda.device import gpu_name, gpu_unavailable_reason as why
print("GPU:", why() or gpu_name()); raise SystemExit(why() is not None)'
part device 60 "$PYTHON" -c "$reason"
if [[ $failed == 0 ]]; then
    # Processors beside such GPUs have vectors of 512 bits, those of other test machines maybe not.
    part vectors 200 "$PYTHON" -m pytest tests/renderer/test_vector_loops.py tests/renderer/test_photon_shading.py \
        tests/shaders -q -p no:cacheprovider
    part renderer 300 "$PYTHON" -m pytest -m gpu tests/renderer $side_by_side -q --durations=5 -p no:cacheprovider
    part tracecore 900 "$PYTHON" -m pytest -m gpu tests/tracecore ${side_by_side/loadfile/load} -q --durations=5 \
        -p no:cacheprovider
    # Every kernel for every architecture and mode of dispatch, of which `make test` compiles a third.
    part builds 500 env TRACECORE_EVERY_BUILD=1 "$PYTHON" -m pytest tests/tracecore/test_nvrtc.py -q -p no:cacheprovider

    # Kernels that fail on purpose; 100 renders are more than a look at it needs.
    part faults 400 "$PYTHON" tests/inject_gpu_faults.py --runs 24 --log "$OUT/faults.txt"

    if command -v compute-sanitizer >/dev/null; then
        for tool in memcheck racecheck; do
            part "$tool" 400 compute-sanitizer --tool "$tool" --error-exitcode 9 --report-api-errors no \
                "$PYTHON" -m pytest -m gpu tests/tracecore/test_gpu.py tests/tracecore/test_device_ploc.py \
                tests/tracecore/test_update.py -q -p no:cacheprovider -k "few_hits or few_triangles or shaken"
        done
    else
        summary+=("SKIP memcheck racecheck (no compute-sanitizer)")
    fi

    kitchen=$scene_folder/bart-kitchen/aff/kitchen.aff
    if [[ -f $kitchen ]]; then
        part bench 300 "$PYTHON" -m renderer bench "$kitchen" --samples 4 --ao-rays 8 --json "$OUT/bench.json"
    else
        part bench 300 "$PYTHON" -m renderer bench kitchen --samples 4 --ao-rays 8 --json "$OUT/bench.json"
    fi
    part benchmark 240 "$PYTHON" -m renderer bench launches --json "$OUT/benchmark.json"

    count=0
    while IFS= read -r command; do
        [[ -z ${command// /} ]] && continue
        count=$((count + 1))
        part "extra$count" "${GPU_EXTRA_LIMIT:-300}" bash -c "$command"
    done <<<"${GPU_EXTRA:-}"
fi

echo "=== summary"
printf '%s\n' "${summary[@]}"
exit "$failed"
