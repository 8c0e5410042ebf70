# Changes to udpgso_bench.sh for omerta, each with its reason.
# Between namespaces instead of through the loopback, by devices with packets as long as
# Ethernet's
/^run_one() {$/a\
	ip netns add far\
	trap "wake_children; ip netns del far" EXIT\
	ip link add out0 mtu 9000 type veth peer name out1 mtu 9000 netns far\
	ip addr add 10.254.0.1/24 dev out0\
	ip -netns far addr add 10.254.0.2/24 dev out1\
	ip link set out0 up\
	ip -netns far link set out1 up\
	"$TUNNEL" omr0 10.254.0.1 far omr1 10.254.0.2\
	ip addr add 10.9.0.1/24 dev omr0\
	ip addr add fd09::1/64 dev omr0\
	ip -netns far addr add 10.9.0.2/24 dev omr1\
	ip -netns far addr add fd09::2/64 dev omr1\
	ip link set omr0 mtu 1500 up\
	ip -netns far link set omr1 mtu 1500 up
s/-D 127.0.0.1/-D 10.9.0.2/
s/-D ::1/-D fd09::2/
s/^	\.\/udpgso_bench_rx/	ip netns exec far &/
s/ss -lnHi/ip netns exec far &/
