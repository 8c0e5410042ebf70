# What netns.sh of WireGuard's tests needs to run on Debian's WireGuard, and why.
# wg(8) and the kernel take single prefixes away since 2025 only
/allowed-ips -192\.168\.0\.1\/32/d
s/((i == 388))/((i == 394))/
