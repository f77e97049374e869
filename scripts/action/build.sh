#!/usr/bin/env bash
# Builds bundlegate from the action's own checkout into $BUILD_FOLDER, unless the cache brought it. Output: binary.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

exe=bundlegate
[[ "${RUNNER_OS:-}" != Windows ]] || exe=bundlegate.exe
if [[ ! -x "$BUILD_FOLDER/$exe" ]]; then
    # The checkout can be read-only and shared by jobs: what is built lies elsewhere.
    build="${RUNNER_TEMP:?}/bundlegate-build"
    (cd "$root" && cargo build --release --locked --bin bundlegate --target-dir "$build")
    mkdir -p "$BUILD_FOLDER"
    cp "$build/release/$exe" "$BUILD_FOLDER/$exe"
fi
"$BUILD_FOLDER/$exe" --version
set_output binary "$BUILD_FOLDER/$exe"
