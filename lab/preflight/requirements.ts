/** What the lab needs from the machine, and the Debian package that brings it. */

export interface Requirement {
  /** Program looked for on PATH, /usr/sbin and /sbin. */
  program: string;
  debianPackage: string;
  purpose: string;
}

export const requirements: readonly Requirement[] = [
  { program: 'ip', debianPackage: 'iproute2', purpose: 'namespaces, links, routes, rules' },
  { program: 'tc', debianPackage: 'iproute2', purpose: "the CNI's way to the pods" },
  { program: 'bridge', debianPackage: 'iproute2', purpose: "the CNI's tunnel peers" },
  { program: 'nft', debianPackage: 'nftables', purpose: "kuport's rules, NAT routers, counters" },
  { program: 'iptables-restore', debianPackage: 'iptables', purpose: "Cilium's and kube-proxy's own rules" },
  { program: 'conntrack', debianPackage: 'conntrack', purpose: 'connection tracking entries' },
  { program: 'wg', debianPackage: 'wireguard-tools', purpose: 'the mesh' },
  { program: 'tcpdump', debianPackage: 'tcpdump', purpose: 'captures' },
  { program: 'ping', debianPackage: 'iputils-ping', purpose: 'reachability of the mesh' },
  { program: 'sysctl', debianPackage: 'procps', purpose: 'kernel settings of each host' },
  { program: 'unshare', debianPackage: 'util-linux', purpose: 'the namespaces of the lab' },
  { program: 'nsenter', debianPackage: 'util-linux', purpose: 'entering a host of the lab' },
];

/** Needed only where the kernel has no WireGuard. */
export const userspaceWireguard: Requirement = {
  program: 'wireguard-go',
  debianPackage: 'wireguard-go',
  purpose: 'the mesh, where the kernel has no WireGuard',
};

/** Needed only for labs of virtual machines. */
export const machineRequirements: readonly Requirement[] = [
  { program: 'qemu-system-x86_64', debianPackage: 'qemu-system-x86', purpose: 'virtual machines' },
  { program: 'mmdebstrap', debianPackage: 'mmdebstrap', purpose: "building the machines' image" },
  { program: 'mksquashfs', debianPackage: 'squashfs-tools', purpose: "building the machines' image" },
  { program: 'cpio', debianPackage: 'cpio', purpose: "building the machines' image" },
  { program: 'depmod', debianPackage: 'kmod', purpose: "building the machines' image" },
  { program: 'zstd', debianPackage: 'zstd', purpose: 'unpacking kernels' },
  { program: 'xz', debianPackage: 'xz-utils', purpose: 'unpacking kernels and modules' },
  { program: 'lz4', debianPackage: 'lz4', purpose: 'unpacking kernels' },
];

/** Needed by the tests only: the API is also tried with the client that everyone uses, and the Vagrantfile with Vagrant. */
export const testRequirements: readonly Requirement[] = [
  { program: 'kubectl', debianPackage: 'kubernetes-client', purpose: "tests of the lab's Kubernetes API" },
  // Brings Vagrant itself as well.
  { program: 'vagrant', debianPackage: 'vagrant-libvirt', purpose: 'checking the Vagrantfile' },
];
