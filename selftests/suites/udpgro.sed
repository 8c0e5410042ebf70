# Changes to udpgro.sh for omerta, each with its reason.
# The devices, with packets as long as Ethernet's
s|^	ip link add type veth$|	ip link add out0 mtu 9000 type veth peer name out1 mtu 9000 netns "${PEER_NS}"\
	ip addr add 10.254.0.1/24 dev out0\
	ip -netns "${PEER_NS}" addr add 10.254.0.2/24 dev out1\
	ip link set out0 up\
	ip -netns "${PEER_NS}" link set out1 up\
	"$TUNNEL" veth0 10.254.0.1 "${PEER_NS}" veth1 10.254.0.2\
	ip link set veth0 mtu 1500\
	ip -netns "${PEER_NS}" link set veth1 mtu 1500|
/link set dev veth1 netns/d
