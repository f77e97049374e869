# shellcheck shell=bash
# What the scripts of the action share. Sourced, never run. Bash 3.2 is enough: that is what macOS has.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# A line that the runner shows as an error of this step, and the end.
fail() {
    local text=${1//'%'/%25}
    text=${text//$'\r'/%0D}
    echo "::error title=bundlegate::${text//$'\n'/%0A}"
    exit 2
}

# cargo_toml KEY: a text of the [package] table.
cargo_toml() {
    sed -n '/^\[package\]/,/^\[/s/^'"$1"' = "\(.*\)"$/\1/p' "$root/Cargo.toml"
}

# set_output NAME VALUE: the form that takes any value; no line of the value is the delimiter.
set_output() {
    local delimiter=BUNDLEGATE_END
    while grep -qF "$delimiter" <<<"$2"; do delimiter+=_; done
    printf '%s<<%s\n%s\n%s\n' "$1" "$delimiter" "$2" "$delimiter" >>"$GITHUB_OUTPUT"
}

# sha256_of FILE; - is standard input.
sha256_of() {
    if command -v sha256sum >/dev/null; then
        sha256sum "$1" | cut -d' ' -f1
    else
        shasum -a 256 "$1" | cut -d' ' -f1
    fi
}

# The target triple of this runner, as release archives name it. Facts: RUNNER_OS and RUNNER_ARCH of the default variables of GitHub Actions.
runner_target() {
    case "${RUNNER_OS:-}-${RUNNER_ARCH:-}" in
        Linux-X64) echo x86_64-unknown-linux-musl ;;
        Linux-ARM64) echo aarch64-unknown-linux-musl ;;
        macOS-X64) echo x86_64-apple-darwin ;;
        macOS-ARM64) echo aarch64-apple-darwin ;;
        Windows-X64) echo x86_64-pc-windows-msvc ;;
        Windows-ARM64) echo aarch64-pc-windows-msvc ;;
        *) return 1 ;;
    esac
}
