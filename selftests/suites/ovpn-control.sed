# Changes to the scripts of OpenVPN's tests for ovpn itself, each with its reason.
# Schemas of netlink specs are not looked at
s/--family \\$/--no-schema &/
