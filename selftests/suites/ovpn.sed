# Changes to the scripts of OpenVPN's tests for omerta, each with its reason.
# The module; what it remembers of secrets ends with it
s/modprobe -q ovpn/modprobe omerta/
s/modprobe -r ovpn/modprobe -r omerta/
# A magic number is in front of what a record has in common with ovpn's
s/udp\[8:4\]/udp[12:4]/
s/ip6\[48:4\]/ip6[52:4]/
# Peers are found by their prefixes, not by routes
s/^ovpn_run_lan_traffic() {$/&\n\tip netns exec ovpn_peer0 omertactl peer set tun0 peer 1 allowed-ips +$OVPN_LAN_IP || return 1/
# Any prefix can be a peer's, and is the last one's that it was given to
/^ovpn_run_stage "validate peer VPN addresses"/d
s/ktap_set_plan 13/ktap_set_plan 12/
s/ktap_set_plan 14/ktap_set_plan 13/
# Peers do not expire, and no event tells of a deletion
s/^OVPN_JQ_FILTER='map(if .* |$/& map(select(.name == "peer-float-ntf")) |/
