# Changes to bareudp.sh for omerta, each with its reason.
# The devices: which is the other end is a setting of theirs, not the packet's, and so there
# are others for each outer family
/link help/,/^	fi$/d
/link add name bareudp_ns1/c\
	ip netns exec "${NS1}" "$TUNNEL" bareudp_ns1 192.0.2.21 "${NS2}" bareudp_ns2 192.0.2.22\
	ip -netns "${NS1}" link set bareudp_ns1 up\
	ip -netns "${NS2}" link set bareudp_ns2 up
/link add name bareudp_ns2/d
/action tunnel_key/d
/# IPv4 over UDPv6/i\
	ip -netns "${NS1}" link delete bareudp_ns1\
	ip -netns "${NS2}" link delete bareudp_ns2\
	ip netns exec "${NS1}" "$TUNNEL" bareudp_ns1 2001:db8::21 "${NS2}" bareudp_ns2 2001:db8::22\
	ip -netns "${NS1}" link set bareudp_ns1 up\
	ip -netns "${NS2}" link set bareudp_ns2 up
# It carries IP only
/^setup_overlay_mpls$/d
/^test_overlay mpls_uc/d
