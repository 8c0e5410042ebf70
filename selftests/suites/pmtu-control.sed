# Changes to pmtu.sh for vxlan itself, each with its reason.
# The machine has no which(1)
s/which/command -v/g
