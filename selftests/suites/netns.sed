# Changes to netns.sh of WireGuard's tests for omerta, each with its reason.
# The device
s/type wireguard/type omerta/
# A ping is 84 bytes long inside, and counted as such
/-stats link show dev wg0/,/^((/s/rx_bytes == 1372 && (tx_bytes == 1428 || tx_bytes == 1460)/rx_bytes == 840 \&\& tx_bytes == 840/
/-stats link show dev wg0/,/^((/s/tx_bytes == 1372 && (rx_bytes == 1428 || rx_bytes == 1460)/tx_bytes == 840 \&\& rx_bytes == 840/
# and 128 bytes outside, with a header, a tag and padding; an empty record has 32. Handshakes are not counted
s/rx_bytes == 1372 && (tx_bytes == 1428 || tx_bytes == 1460)/rx_bytes == 1280 \&\& (tx_bytes == 1280 || tx_bytes == 1312)/
s/tx_bytes == 1372 && (rx_bytes == 1428 || rx_bytes == 1460)/tx_bytes == 1280 \&\& (rx_bytes == 1280 || rx_bytes == 1312)/
# if none shares its record with others
s/^# Before calling tests.*/n1 omertactl link set wg0 batch off/
s/^(( timestamp != 0 ))$/&; n1 omertactl link set wg0 batch on/
# A record of 1300 bytes has a header, three tags and the outer headers
s/--length 1360/--length 1392/
# An agent keeps its namespace
s/^pp ip netns delete \$netns1$/pp wg end; &/
# Private keys are shown as they were given
/"+\${key1:1}"/d
# Handshakes are counted nowhere else, and an agent needs a moment to begin one
/^# Make sure persistent keep alives/,/^ip1 link del dev veth1/{
s/^# Make sure persistent keep alives.*/n1 iptables -A OUTPUT -p udp --dport 1/
s/^# This should also happen.*/n1 iptables -Z OUTPUT/
s/^ip1 link set dev wg0 up$\|^n1 wg set wg0 private-key <(echo "\$key1")$/&; sleep 1/
s/n1 wg show wg0 transfer/n1 iptables -nvxL OUTPUT | awk '\/dpt:1 *$\/ { print "_ _", $2 }'/
}
# The log tells what was lost if a check fails
s/^cleanup() {$/&\n\tn1 omertactl stats all || :; n2 omertactl stats all || :; n1 nstat -az || :; n2 nstat -az || :/
