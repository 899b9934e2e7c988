#!/usr/bin/env bash
# promtool 2.42.0 and 3.5.3: "check metrics" passes a histogram that cannot be one.
#
# Expected: promtool check metrics, which reads what a program would expose and exits with 3 at a gauge named x_total,
# finds buckets that fall, a histogram without the bucket +Inf, a count unlike that bucket, and a negative counter.
# Seen: it prints nothing and exits with 0 for all four. It checks names, units, help texts and repeated series, and no
# value. Prometheus takes such a histogram as well, and histogram_quantile computes a number from it. A test of an
# exporter has to compare the values of buckets itself.
#
# Prints what was seen; exits with 1 if that changes. Unpacks Debian's prometheus into a temporary folder.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
(cd "$folder" && apt-get download -qq prometheus && dpkg -x prometheus_*.deb .) || {
    echo "needs Debian's package prometheus" >&2
    exit 2
}
promtool="$folder"/usr/bin/promtool
head='# HELP x_seconds Seconds.
# TYPE x_seconds histogram'
falling="$head
x_seconds_bucket{le=\"1\"} 5
x_seconds_bucket{le=\"2\"} 3
x_seconds_bucket{le=\"+Inf\"} 4
x_seconds_sum 1
x_seconds_count 4"
endless="$head
x_seconds_bucket{le=\"1\"} 5
x_seconds_sum 1
x_seconds_count 5"
unequal="$head
x_seconds_bucket{le=\"+Inf\"} 5
x_seconds_sum 1
x_seconds_count 7"
negative='# HELP x_total Reports.
# TYPE x_total counter
x_total -1'
misnamed='# HELP x_total Reports.
# TYPE x_total gauge
x_total 1'
seen=""
for name in falling endless unequal negative misnamed; do
    code=0
    printed=$(printf '%s\n' "${!name}" | "$promtool" check metrics 2>&1) || code=$?
    echo "$name: exit status $code $printed"
    seen="$seen $code"
done
echo "expected 3 for all; seen$seen"
[ "$seen" = " 0 0 0 0 3" ]
