#!/usr/bin/env bash
# Opens the HTML report in headless Chromium: no script runs but its own, no request goes out, and the page is accessible.
# Needs Rust, Node 20 or later with npm, and Chromium (`apt-get install chromium`; BUNDLEGATE_CHROMIUM names another one).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
fail() {
    echo "tests/browser/run.sh: $*" >&2
    exit 1
}
command -v npm >/dev/null || fail "npm is missing: install Node 20 or later"
chromium=${BUNDLEGATE_CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
[[ -n "$chromium" ]] || fail "Chromium is missing: install it, or name one in BUNDLEGATE_CHROMIUM"
export BUNDLEGATE_CHROMIUM="$chromium"

pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
export BUNDLEGATE_PAGES="$pages"
(cd ../.. && cargo test --quiet --locked --test it pages::pages)
[[ -f "$pages/report.html" ]] || fail "cargo test wrote no page: is tests/it/pages.rs in the test binary?"
cmp -s package-lock.json node_modules/.lock-installed || { npm ci --silent --no-audit --no-fund && cp package-lock.json node_modules/.lock-installed; }
case "${1:-test}" in
    test) node page.test.mjs "$pages" ;;
    screenshots) node screenshots.mjs "$pages" ../../docs/images ;;
    *) fail "expected test or screenshots, found '$1'" ;;
esac
