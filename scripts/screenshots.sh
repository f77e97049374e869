#!/usr/bin/env bash
# Makes docs/images/{report,terminal,comment}.png anew from the example in examples/orders.
# Needs what tests/browser/run.sh needs, and the DejaVu fonts (`apt-get install fonts-dejavu-core`).
set -euo pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/../tests/browser/run.sh" screenshots
