# Gives the machine to the topology: the network card that Vagrant reaches it by moves into a network namespace of its own
# (management) with its address, and an ssh daemon there lets the lab in. What is left in the machine's own namespace is
# the topology's, as on a node that has no other network: no second default route, no address that no rule expects.
# Arguments: SSH_CONNECTION and the home folder of whoever runs it. Standard input: the daemon's configuration.
set -e
mkdir -p /run/lab /run/netns /run/sshd
cat > /run/lab/sshd.conf
cat "$2/.ssh/authorized_keys" > /run/lab/authorized_keys
chmod 600 /run/lab/authorized_keys

set -- $1
server=$3
device=$(ip -oneline -4 address | awk -v address="$server" '{ split($4, parts, "/") } parts[1] == address { print $2 }')
[ -n "$device" ] || { echo "no device has the address $server" >&2; exit 1; }
prefix=$(ip -oneline -4 address show dev "$device" | awk '{ print $4; exit }')
gateway=$(ip -4 route show default dev "$device" | awk '$2 == "via" { print $3; exit }')

cat > /run/lab/move-management << EOF
set -x
# The one who asked for this is still connected by the card that moves.
sleep 1
# What would configure devices, rename them or set the clock by itself.
if [ -d /run/systemd/system ]; then
  systemctl stop systemd-udevd-control.socket systemd-udevd-kernel.socket systemd-udevd.service \
    systemd-networkd.socket systemd-networkd.service NetworkManager.service systemd-timesyncd.service chrony.service \
    apt-daily.timer apt-daily-upgrade.timer
fi
for client in dhclient dhcpcd udhcpc; do
  for pid in \$(pidof \$client); do kill \$pid; done
done
ip netns add management
ip link set $device netns management
ip -netns management link set lo up
ip -netns management address add $prefix dev $device
ip -netns management link set $device up
[ -z "$gateway" ] || ip -netns management route add default via $gateway
ip -4 address flush scope global
ip -4 route flush table main
# nsenter and not ip netns exec: what is mounted later must appear to every session alike.
exec nsenter --net=/run/netns/management /usr/sbin/sshd -f /run/lab/sshd.conf
EOF
setsid sh /run/lab/move-management < /dev/null > /run/lab/move-management.log 2>&1 &
