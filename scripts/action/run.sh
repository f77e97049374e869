#!/usr/bin/env bash
# Runs one command of bundlegate with the inputs of the action, which come as INPUT_NAME. No input is ever part of a script.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# Each line of a text that is not blank, without the carriage return that Windows leaves; into the array `lines`.
lines=()
split() {
    local line
    lines=()
    while IFS= read -r line || [[ -n "$line" ]]; do
        line=${line%$'\r'}
        [[ -z "${line//[[:space:]]/}" ]] || lines+=("$line")
    done <<<"$1"
}

split "${INPUT_MASK:-}"
for value in ${lines[@]+"${lines[@]}"}; do
    text=${value//'%'/%25}
    echo "::add-mask::${text//$'\r'/%0D}"
done

command=${INPUT_COMMAND:-}
args=()

# flag NAME VALUE: nothing where the value is empty. As one word, so that a value that begins with a dash is no option.
flag() {
    [[ -z "$2" ]] || args+=("--$1=$2")
}

# flags NAME LINES: one for each line.
flags() {
    local value
    split "$2"
    for value in ${lines[@]+"${lines[@]}"}; do args+=("--$1=$value"); done
}

# switch NAME VALUE
switch() {
    case "$2" in
        true) args+=("--$1") ;;
        false | '') ;;
        *) fail "$1: expected true or false, found $2" ;;
    esac
}

inputs() {
    flag target "${INPUT_TARGET:-}"
    flag bundle "${INPUT_BUNDLE:-}"
    flag base-bundle "${INPUT_BASE_BUNDLE:-}"
    flag state "${INPUT_STATE:-}"
    flag warnings "${INPUT_WARNINGS:-}"
}

cli() {
    flag cli "${INPUT_CLI:-}"
    flag profile "${INPUT_PROFILE:-}"
    flags var "${INPUT_VAR:-}"
    flags select "${INPUT_SELECT:-}"
}

reports=
report() {
    reports=yes
    # A report beside the plan would be taken for a part of a collected folder.
    local folder="${RUNNER_TEMP:?}/bundlegate"
    mkdir -p "$folder" || fail "cannot make $folder"
    json=$(mktemp "$folder/$command-XXXXXX") || fail "cannot write into $folder"
    rm -f "$json"
    html="$json.html"
    json="$json.json"
    args+=("--output=json=$json" "--output=html=$html")
    flags output "${INPUT_OUTPUT:-}"
}

subject() {
    inputs
    flag policy "${INPUT_POLICY:-}"
    flag trusted-ref "${INPUT_TRUSTED_REF:-}"
    flag approvals "${INPUT_APPROVALS:-}"
    flag log "${INPUT_LOG:-}"
}

plans=("${INPUT_PLAN:-gate}")
case "$command" in
    collect)
        flag target "${INPUT_TARGET:-}"
        flag out "${INPUT_PLAN:-gate}"
        cli
        plans=()
        ;;
    check)
        inputs
        flag policy "${INPUT_POLICY:-}"
        flag trusted-ref "${INPUT_TRUSTED_REF:-}"
        switch review-ok "${INPUT_REVIEW_OK:-}"
        flag log "${INPUT_LOG:-}"
        report
        ;;
    show)
        inputs
        report
        ;;
    comment)
        inputs
        flag policy "${INPUT_POLICY:-}"
        flag trusted-ref "${INPUT_TRUSTED_REF:-}"
        ;;
    approve)
        subject
        ;;
    authorize)
        subject
        switch explain "${INPUT_EXPLAIN:-}"
        report
        ;;
    deploy)
        subject
        switch explain "${INPUT_EXPLAIN:-}"
        flag witness "${INPUT_WITNESS:-}"
        cli
        report
        ;;
    verify)
        inputs
        flag policy "${INPUT_POLICY:-}"
        flag after-plan "${INPUT_AFTER_PLAN:-}"
        flag witness "${INPUT_WITNESS:-}"
        flag log "${INPUT_LOG:-}"
        cli
        report
        ;;
    audit)
        flags output "${INPUT_OUTPUT:-}"
        split "${INPUT_PLAN:-gate}"
        plans=(${lines[@]+"${lines[@]}"})
        ;;
    *)
        fail "command: expected collect, check, show, comment, approve, authorize, deploy, verify or audit, found ${command:-nothing}"
        ;;
esac
split "${INPUT_ARGS:-}"
args+=(${lines[@]+"${lines[@]}"})

"${BUNDLEGATE:?}" "$command" ${args[@]+"${args[@]}"} ${plans[@]+-- "${plans[@]}"}
code=$?

# bundlegate wrote the outputs of its report; what never came to a report has its exit code here, and no verdict.
set_output exit-code "$code"
if [[ -n "$reports" ]]; then
    [[ ! -f "$json" ]] || set_output report-json "$json"
    [[ ! -f "$html" ]] || set_output report-html "$html"
fi
exit "$code"
