// lab/backends/vm/image/image.ts
import { statfsSync } from "node:fs";
import { dirname as dirname2 } from "node:path";
import { existsSync as existsSync4, mkdirSync as mkdirSync4 } from "node:fs";

// lab/backends/vm/image/cache.ts
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
function cacheFolder() {
  return process.env.KUPORT_CACHE_FOLDER ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "kuport");
}
function hashOf(inputs) {
  const lines = Object.entries(inputs).sort(([a], [b]) => a < b ? -1 : 1).map(([name, value]) => `${name}=${value}
`);
  return createHash("sha256").update(lines.join("")).digest("hex").slice(0, 12);
}
var inputsFile = "inputs.json";
function readInputs(folder) {
  try {
    return JSON.parse(readFileSync(join(folder, inputsFile), "utf8"));
  } catch {
    return {};
  }
}
function brief(text) {
  if (text === void 0) return "nothing";
  return text.length > 40 ? `${text.slice(0, 37)}\u2026` : text;
}
function reasonToBuild(kind, inputs) {
  const folder = imageFolder(kind, inputs);
  if (existsSync(join(folder, inputsFile))) return null;
  const previous = olderImages(kind, folder).map((name) => readInputs(join(cacheFolder(), name)));
  const [last] = previous;
  if (last === void 0) return "there is none yet";
  const changed = [.../* @__PURE__ */ new Set([...Object.keys(last), ...Object.keys(inputs)])].filter(
    (name) => last[name] !== inputs[name]
  );
  return changed.map((name) => `${name} changed from ${brief(last[name])} to ${brief(inputs[name])}`).join(", ");
}
function imageFolder(kind, inputs) {
  return join(cacheFolder(), `${kind}-${hashOf(inputs)}`);
}
function olderImages(kind, folder) {
  const pattern = new RegExp(`^${kind.replaceAll(".", "\\.")}-[0-9a-f]{12}$`);
  try {
    return readdirSync(cacheFolder()).filter((name) => pattern.test(name) && join(cacheFolder(), name) !== folder);
  } catch {
    return [];
  }
}
function runs(pid) {
  return existsSync(`/proc/${pid}`);
}
function sweepHalfBuilt() {
  if (!existsSync(cacheFolder())) return [];
  const left = readdirSync(cacheFolder()).filter((name) => {
    const [, pid] = /\.building-(\d+)$/.exec(name) ?? [];
    return pid !== void 0 && !runs(Number(pid));
  });
  for (const name of left) rmSync(join(cacheFolder(), name), { recursive: true, force: true });
  return left;
}
async function buildImage(kind, inputs, build) {
  const folder = imageFolder(kind, inputs);
  const working = `${folder}.building-${process.pid}`;
  rmSync(working, { recursive: true, force: true });
  mkdirSync(working, { recursive: true, mode: 448 });
  try {
    await build(working);
    writeFileSync(join(working, inputsFile), `${JSON.stringify(inputs, null, 2)}
`);
    rmSync(folder, { recursive: true, force: true });
    renameSync(working, folder);
  } finally {
    rmSync(working, { recursive: true, force: true });
  }
  for (const name of olderImages(kind, folder)) rmSync(join(cacheFolder(), name), { recursive: true, force: true });
  return folder;
}

// lab/backends/vm/image/guest-node.ts
import { execa } from "execa";
var everywhere = /^(linux-vdso|ld-linux|libc|libm|libdl|libpthread|librt|libatomic|libgcc_s|libstdc\+\+)[.-]/;
async function guestNode(execPath = process.execPath) {
  const debian = { file: null, description: "Debian's nodejs" };
  const { stdout, exitCode } = await execa("ldd", [execPath], { reject: false });
  if (exitCode !== 0) return debian;
  const libraries = stdout.split("\n").map((line) => line.trim().split(/[\s/]+/).find((word) => word.includes(".so")) ?? "").filter((name) => name !== "");
  const selfContained = libraries.length > 0 && libraries.every((name) => everywhere.test(name));
  return selfContained ? { file: execPath, description: process.version } : debian;
}

// lab/backends/vm/image/kernel.ts
import { chmodSync as chmodSync2, cpSync as cpSync2, existsSync as existsSync3, mkdirSync as mkdirSync3, readdirSync as readdirSync2, readFileSync as readFileSync4, rmSync as rmSync3, symlinkSync, writeFileSync as writeFileSync4 } from "node:fs";
import { basename, join as join4 } from "node:path";
import { execa as execa4 } from "execa";

// lab/backends/vm/image/root.ts
import { chmodSync, cpSync, mkdirSync as mkdirSync2, readFileSync as readFileSync2, rmSync as rmSync2, writeFileSync as writeFileSync2 } from "node:fs";
import { join as join3 } from "node:path";
import { execa as execa2 } from "execa";
import ssh2 from "ssh2";

// lab/project.ts
import { existsSync as existsSync2 } from "node:fs";
import { dirname, join as join2 } from "node:path";
import { fileURLToPath } from "node:url";
function findRoot() {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync2(join2(folder, "package.json"))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error(`no package.json above ${fileURLToPath(import.meta.url)}`);
    folder = parent;
  }
  return folder;
}
var projectRoot = findRoot();

// lab/backends/vm/image/root.ts
var suite = "trixie";
var packages = [
  "busybox-static",
  "conntrack",
  "ethtool",
  "iproute2",
  "iptables",
  "iputils-ping",
  "ipset",
  "kmod",
  "nftables",
  "openssh-server",
  "procps",
  "tcpdump",
  "wireguard-tools"
];
var guestFolder = join3(projectRoot, "lab", "backends", "vm", "image", "guest");
function guestFile(name) {
  return readFileSync2(join3(guestFolder, name), "utf8");
}
async function rootInputs(node) {
  return {
    suite,
    packages: packages.join(" "),
    node: (node ?? await guestNode()).description,
    init: hashOf({ init: guestFile("init") }),
    sshd: hashOf({ sshd: guestFile("sshd.conf") })
  };
}
function rootImage(folder) {
  return {
    folder,
    disk: join3(folder, "root.squashfs"),
    privateKey: join3(folder, "machine-key"),
    busybox: join3(folder, "busybox")
  };
}
async function buildRoot(inputs, node) {
  const folder = await buildImage("root", inputs, async (working) => {
    const keys = ssh2.utils.generateKeyPairSync("ed25519", { comment: "kuport lab" });
    writeFileSync2(join3(working, "machine-key"), keys.private, { mode: 384 });
    const overlay = writeOverlay(join3(working, "overlay"), keys.public, node);
    const tar = join3(working, "root.tar");
    const wanted = node.file === null ? [...packages, "nodejs"] : packages;
    await execa2("mmdebstrap", [
      ...["--quiet", "--variant=minbase", `--include=${wanted.join(",")}`],
      ...['--aptopt=Acquire::Languages "none"'],
      ...["doc", "man", "locale", "info"].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`),
      `--customize-hook=sync-in ${overlay} /`,
      // An empty machine-id is what a file system shared by many machines must have.
      '--customize-hook=rm -rf "$1"/boot/* "$1"/var/cache/apt/*; : > "$1"/etc/machine-id; : > "$1"/etc/fstab',
      '--customize-hook=mkdir -p "$1"/usr/lib/modules',
      ...[suite, tar]
    ]);
    await execa2("mksquashfs", ["-", join3(working, "root.squashfs"), "-tar", "-comp", "lz4", "-quiet", "-no-progress"], {
      inputFile: tar
    });
    await execa2("tar", ["-x", "-f", tar, "-C", working, "--transform=s|.*/||", "./usr/bin/busybox"]);
    rmSync2(tar);
    rmSync2(overlay, { recursive: true });
  });
  return rootImage(folder);
}
function writeOverlay(folder, publicKey, node) {
  const write = (path, text, mode) => {
    const target = join3(folder, path);
    mkdirSync2(join3(target, ".."), { recursive: true });
    writeFileSync2(target, text);
    chmodSync(target, mode);
  };
  write("usr/sbin/lab-init", guestFile("init"), 493);
  write("etc/ssh/sshd_config.d/lab.conf", guestFile("sshd.conf"), 420);
  write("root/.ssh/authorized_keys", `${publicKey}
`, 384);
  chmodSync(join3(folder, "root/.ssh"), 448);
  chmodSync(join3(folder, "root"), 448);
  write("etc/hosts", "127.0.0.1 localhost\n", 420);
  if (node.file !== null) {
    mkdirSync2(join3(folder, "usr/local/bin"), { recursive: true });
    cpSync(node.file, join3(folder, "usr/local/bin/node"), { dereference: true });
  }
  return folder;
}

// lab/backends/vm/image/vmlinux.ts
import { readFileSync as readFileSync3, writeFileSync as writeFileSync3 } from "node:fs";
import { execa as execa3 } from "execa";
var formats = [
  { magic: Buffer.from([40, 181, 47, 253]), unpack: ["zstd", "-d", "-c", "-q"] },
  { magic: Buffer.from([2, 33, 76, 24]), unpack: ["lz4", "-d", "-c", "-q"] },
  { magic: Buffer.from([253, 55, 122, 88, 90, 0]), unpack: ["xz", "-d", "-c", "-q"] },
  { magic: Buffer.from([31, 139, 8]), unpack: ["gzip", "-d", "-c", "-q"] }
];
var elf = Buffer.from("\x7FELF", "latin1");
async function extractVmlinux(compressed, plain) {
  const image = readFileSync3(compressed);
  for (const { magic, unpack } of formats) {
    for (let at = image.indexOf(magic); at >= 0; at = image.indexOf(magic, at + 1)) {
      const [tool, ...args] = unpack;
      const { stdout } = await execa3(tool, args, {
        input: image.subarray(at),
        encoding: "buffer",
        reject: false,
        maxBuffer: 512 * 1024 * 1024
      });
      if (stdout === void 0 || !Buffer.from(stdout.subarray(0, 4)).equals(elf)) continue;
      writeFileSync3(plain, stdout);
      return;
    }
  }
  throw new Error(`${compressed}: no compressed kernel found in it (${image.length} bytes)`);
}

// lab/backends/vm/image/kernel.ts
var bootModules = ["virtio_pci", "virtio_blk", "overlay", "squashfs"];
function kernelInputs(release, root) {
  return {
    suite: release.suite,
    "boot modules": bootModules.join(" "),
    "initrd init": hashOf({ init: guestFile("initrd-init") }),
    // The initial RAM disk holds its busybox.
    root: hashOf(root)
  };
}
function kernelImage(folder) {
  return {
    folder,
    vmlinux: join4(folder, "vmlinux"),
    initrd: join4(folder, "initrd.cpio"),
    modules: join4(folder, "modules.squashfs")
  };
}
function kernelKind(release) {
  return `kernel-${release.name}`;
}
async function buildKernel(release, inputs, root) {
  const folder = await buildImage(kernelKind(release), inputs, async (working) => {
    const tar = join4(working, "kernel.tar");
    await execa4("mmdebstrap", [
      ...["--quiet", "--variant=extract", "--include=linux-image-cloud-amd64"],
      ...release.allowExpired ? ['--aptopt=Acquire::Check-Valid-Until "false"'] : [],
      ...[release.suite, tar]
    ]);
    const unpacked = join4(working, "unpacked");
    mkdirSync3(unpacked);
    await execa4("tar", ["-x", "-f", tar, "-C", unpacked, "--wildcards", "--no-anchored", "vmlinuz*", "*lib/modules/*"]);
    rmSync3(tar);
    const modules = join4(unpacked, existsSync3(join4(unpacked, "usr/lib/modules")) ? "usr/lib/modules" : "lib/modules");
    const [version] = readdirSync2(modules);
    if (version === void 0) throw new Error(`Debian ${release.suite}'s linux-image-cloud-amd64 holds no modules`);
    await extractVmlinux(findKernel(unpacked, modules, version), join4(working, "vmlinux"));
    await execa4("find", [modules, "-name", "*.ko.xz", "-exec", "xz", "-d", "{}", "+"]);
    const base = join4(unpacked, "base");
    mkdirSync3(join4(base, "lib"), { recursive: true });
    symlinkSync(modules, join4(base, "lib", "modules"));
    await execa4("depmod", ["-b", base, version]);
    await writeInitrd(working, base, version, root);
    await execa4("mksquashfs", [
      ...[modules, join4(working, "modules.squashfs")],
      ...["-comp", "lz4", "-all-root", "-quiet", "-no-progress", "-e", "vmlinuz"]
    ]);
    rmSync3(unpacked, { recursive: true });
  });
  return kernelImage(folder);
}
function findKernel(unpacked, modules, version) {
  const places = [join4(unpacked, "boot", `vmlinuz-${version}`), join4(modules, version, "vmlinuz")];
  const found = places.find((path) => existsSync3(path));
  if (found === void 0) throw new Error(`no kernel ${version} at ${places.join(" nor ")}`);
  return found;
}
async function writeInitrd(working, base, version, root) {
  const tree = join4(working, "initrd");
  for (const folder of ["bin", "proc", "sys", "dev", "lower", "layer", "root", "modules"])
    mkdirSync3(join4(tree, folder), { recursive: true });
  cpSync2(root.busybox, join4(tree, "bin", "busybox"));
  for (const applet of ["sh", "mount", "insmod", "switch_root", "mkdir", "sleep"])
    symlinkSync("busybox", join4(tree, "bin", applet));
  const { stdout } = await execa4("modprobe", [
    ...["-d", base, "-S", version, "--show-depends", "--ignore-install", "-a", ...bootModules]
  ]);
  const files = [...new Set(stdout.split("\n").flatMap((line) => /^insmod (\S+)/.exec(line)?.[1] ?? []))];
  for (const file of files) cpSync2(file, join4(tree, "modules", basename(file)));
  writeFileSync4(join4(tree, "modules", "order"), `${files.map((file) => basename(file)).join("\n")}
`);
  writeFileSync4(join4(tree, "init"), guestFile("initrd-init"));
  chmodSync2(join4(tree, "init"), 493);
  const names = await execa4("find", ["."], { cwd: tree });
  await execa4("cpio", ["--quiet", "-o", "-H", "newc", "-R", "0:0", "-O", join4(working, "initrd.cpio")], {
    cwd: tree,
    input: `${names.stdout}
`
  });
  rmSync3(tree, { recursive: true });
  if (readFileSync4(join4(working, "initrd.cpio")).length === 0) throw new Error("the initial RAM disk came out empty");
}

// lab/backends/vm/image/image.ts
var spaceToBuild = 1e9;
async function machineImage(release, step) {
  sweepHalfBuilt();
  const node = await guestNode();
  const forRoot = await rootInputs(node);
  const whyRoot = reasonToBuild("root", forRoot);
  let root = rootImage(imageFolder("root", forRoot));
  if (whyRoot !== null) {
    checkSpace();
    root = await step(`build the machines' root (${whyRoot})`, () => buildRoot(forRoot, node));
  }
  const forKernel = kernelInputs(release, forRoot);
  const whyKernel = reasonToBuild(kernelKind(release), forKernel);
  let kernel = kernelImage(imageFolder(kernelKind(release), forKernel));
  if (whyKernel !== null) {
    checkSpace();
    kernel = await step(
      `build kernel ${release.name} from Debian ${release.suite} (${whyKernel})`,
      () => buildKernel(release, forKernel, root)
    );
  }
  return { root, kernel };
}
function checkSpace() {
  const folder = cacheFolder();
  mkdirSync4(folder, { recursive: true, mode: 448 });
  const { bavail, bsize } = statfsSync(existsSync4(folder) ? folder : dirname2(folder));
  const free = bavail * bsize;
  if (free >= spaceToBuild) return;
  throw new Error(
    `building the machines' image needs ${spaceToBuild / 1e6} MB in ${folder}, where ${Math.floor(free / 1e6)} MB are free: make room, or set KUPORT_CACHE_FOLDER to a folder on another disk`
  );
}

// lab/backends/vm/image/kernels.ts
var kernelReleases = [
  { name: "6.1", suite: "bookworm", allowExpired: false },
  { name: "6.12", suite: "trixie", allowExpired: false },
  { name: "7.2", suite: "sid", allowExpired: true }
];
function kernelRelease(name) {
  const found = kernelReleases.find((release) => release.name === name);
  if (found === void 0) {
    throw new Error(`no kernel "${name}": there are ${kernelReleases.map((release) => release.name).join(", ")}`);
  }
  return found;
}

// ../../tmp/vmx/img.ts
for (const k of process.argv.slice(2)) {
  const i = await machineImage(kernelRelease(k), async (t, w) => {
    const b = performance.now();
    console.log(t);
    const r = await w();
    console.log(((performance.now() - b) / 1e3).toFixed(1) + " s");
    return r;
  });
  console.log(i);
}
