#!/usr/bin/env bash
# Finds bundlegate for the action: the binary that is given; one of this version on the path; the release archive for this runner, if
# its SHA-256 is the one in release/SHA256SUMS; else says that it has to be built. Outputs: binary, or build, build-folder, cache-key.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

version=$(cargo_toml version)
exe=bundlegate
[[ "${RUNNER_OS:-}" != Windows ]] || exe=bundlegate.exe

# version_of BINARY
version_of() {
    "$1" --version 2>/dev/null | sed -n '1s/^bundlegate \([^ ]*\).*/\1/p'
}

if [[ -n "${INPUT_BINARY:-}" ]]; then
    [[ -x "$INPUT_BINARY" ]] || fail "binary: expected a program that can be started, found $INPUT_BINARY"
    [[ -n "$(version_of "$INPUT_BINARY")" ]] || fail "binary: expected bundlegate, found $INPUT_BINARY, which does not say its version"
    set_output binary "$INPUT_BINARY"
    exit 0
fi

if found=$(command -v bundlegate) && [[ "$(version_of "$found")" == "$version" ]]; then
    echo "bundlegate $version is on the path: $found"
    set_output binary "$found"
    exit 0
fi

folder="${RUNNER_TOOL_CACHE:-$HOME/.cache}/bundlegate/$version"

# download TARGET: the release archive, checked, unpacked into $folder.
download() {
    local asset="bundlegate-$version-$1.tar.gz" base expected actual
    expected=$(sed -n 's/^\([0-9a-f]\{64\}\)  '"$asset"'$/\1/p' "$root/release/SHA256SUMS")
    if [[ -z "$expected" ]]; then
        echo "release/SHA256SUMS does not list $asset"
        return 1
    fi
    base="${INPUT_DOWNLOAD_URL:-$(cargo_toml repository)/releases/download/v$version}"
    local archive="${RUNNER_TEMP:?}/$asset"
    if ! curl --fail --silent --show-error --location --retry 3 --max-time 120 --output "$archive" "${base%/}/$asset"; then
        echo "$asset could not be downloaded from $base"
        return 1
    fi
    actual=$(sha256_of "$archive")
    # Another content is no reason to try something else: it is an attack or a broken release.
    [[ "$actual" == "$expected" ]] || fail "$asset: expected SHA-256 $expected (release/SHA256SUMS), found $actual"
    if [[ -z "${INPUT_DOWNLOAD_URL:-}" ]] && command -v gh >/dev/null && [[ -n "${GH_TOKEN:-${GITHUB_TOKEN:-}}" ]]; then
        local repository
        repository=$(cargo_toml repository)
        gh attestation verify "$archive" --repo "${repository#https://github.com/}" \
            || fail "$asset: its build provenance attestation does not hold"
    fi
    mkdir -p "$folder"
    tar -xzf "$archive" -C "$folder" "$exe"
    rm -f "$archive"
}

if [[ -x "$folder/$exe" && "$(version_of "$folder/$exe")" == "$version" ]]; then
    set_output binary "$folder/$exe"
    exit 0
fi
if target=$(runner_target) && download "$target"; then
    set_output binary "$folder/$exe"
    exit 0
fi

command -v cargo >/dev/null || fail "bundlegate $version cannot be had: there is no release archive for this runner, and no cargo to build it; give the input \`binary\`"
echo "bundlegate $version is built from the action's own checkout"
set_output build true
set_output build-folder "$folder"
set_output cache-key "bundlegate-$version-${RUNNER_OS:-unknown}-${RUNNER_ARCH:-unknown}-$(cat "$root/Cargo.lock" "$root/rust-toolchain.toml" | sha256_of -)-$(git -C "$root" rev-parse HEAD 2>/dev/null || cargo_toml version)"
