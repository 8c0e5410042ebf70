# Changes to netns.sh of WireGuard's tests for Debian's WireGuard, each with its reason.
# wg(8) and the kernel take single prefixes away since 2025 only
/allowed-ips -192\.168\.0\.1\/32/d
s/((i == 388))/((i == 394))/
