/**
 * The programs of a real control plane: taken from where the machine has them, else built once from the Go modules that
 * build/go.mod pins and kept in the cache.
 */
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { buildImage, imageFolder, reasonToBuild } from '../../backends/vm/image/cache.ts';
import { projectRoot } from '../../project.ts';

export interface KubernetesBinaries {
  etcd: string;
  apiServer: string;
  /** Not among the release binaries that KUBEBUILDER_ASSETS usually holds: null where it is missing. */
  controllerManager: string | null;
  /** Where they were found, for people. */
  source: string;
}

/** The kind of the folder in the cache. */
const kind = 'kubernetes';
/** Program -> the package that makes it. */
const packages = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
} as const;
/** Minor version of Go 1 that build/go.mod asks for. */
const goMinor = 26;

const otherWays = [
  'Other ways: put etcd and kube-apiserver (and, if you have it, kube-controller-manager) of a release on PATH,',
  'or name the folder that holds them in KUBEBUILDER_ASSETS, as `setup-envtest use -p path` prints it.',
].join('\n');

function moduleFolder(): string {
  const beside = fileURLToPath(new URL('build', import.meta.url));
  return existsSync(join(beside, 'go.mod')) ? beside : join(projectRoot, 'lab', 'cluster', 'kubernetes', 'build');
}

function inFolder(folder: string, source: string): KubernetesBinaries | null {
  const etcd = join(folder, 'etcd');
  const apiServer = join(folder, 'kube-apiserver');
  const controllerManager = join(folder, 'kube-controller-manager');
  if (!existsSync(etcd) || !existsSync(apiServer)) return null;
  return { etcd, apiServer, controllerManager: existsSync(controllerManager) ? controllerManager : null, source };
}

function onPath(program: string): string | null {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, program)).find((path) => existsSync(path)) ?? null;
}

function inputs(): Record<string, string> {
  const read = (file: string): string => readFileSync(join(moduleFolder(), file), 'utf8');
  return { packages: Object.values(packages).join(' '), 'go.mod': read('go.mod'), 'go.sum': read('go.sum') };
}

/**
 * What the machine has already. Null: they would have to be built.
 * @throws Error when KUBEBUILDER_ASSETS names a folder without them
 */
export function findKubernetes(): KubernetesBinaries | null {
  const assets = process.env.KUBEBUILDER_ASSETS;
  if (assets !== undefined && assets !== '') {
    const found = inFolder(assets, `KUBEBUILDER_ASSETS (${assets})`);
    if (found === null) throw new Error(`KUBEBUILDER_ASSETS=${assets}: wanted etcd and kube-apiserver in that folder`);
    return found;
  }
  const etcd = onPath('etcd');
  const apiServer = onPath('kube-apiserver');
  if (etcd !== null && apiServer !== null)
    return { etcd, apiServer, controllerManager: onPath('kube-controller-manager'), source: 'PATH' };
  if (reasonToBuild(kind, inputs()) !== null) return null;
  const folder = imageFolder(kind, inputs());
  return inFolder(folder, folder);
}

/** Version of k8s.io/kubernetes in go.mod, such as v1.36.3. */
export function pinnedVersion(): string {
  const [, version] = /^require k8s\.io\/kubernetes (v\S+)$/m.exec(inputs()['go.mod'] ?? '') ?? [];
  if (version === undefined) throw new Error(`${join(moduleFolder(), 'go.mod')} does not require k8s.io/kubernetes`);
  return version;
}

async function checkGo(): Promise<void> {
  const { stdout, failed } = await execa('go', ['env', 'GOVERSION'], { reject: false });
  const [, minor] = /^go1\.(\d+)/.exec(stdout ?? '') ?? [];
  if (!failed && minor !== undefined && Number(minor) >= goMinor) return;
  const there = failed ? 'there is no working go on PATH' : `there is ${stdout}`;
  throw new Error(
    `building kube-apiserver ${pinnedVersion()} needs Go 1.${goMinor} or newer, and ${there}.\n${otherWays}`,
  );
}

/**
 * The programs, built when the machine has none. A build takes minutes and says so.
 * @param say told what is about to be done
 * @throws Error with what the Go command said, and the other ways to get the programs
 */
export async function kubernetesBinaries(say: (line: string) => void): Promise<KubernetesBinaries> {
  const found = findKubernetes();
  if (found !== null) return found;
  await checkGo();
  const version = pinnedVersion();
  say(`building etcd and Kubernetes ${version} from Go modules, once: this takes minutes`);
  const [major = '', minor = ''] = version.slice(1).split('.');
  // What a release build sets: without it the server calls itself v0.0.0-master.
  const settings = { gitVersion: version, gitMajor: major, gitMinor: minor };
  const flags = Object.entries(settings).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`);
  const folder = await buildImage(kind, inputs(), async (working) => {
    for (const [program, path] of Object.entries(packages)) {
      const build = ['build', '-trimpath', '-ldflags', ['-s -w', ...flags].join(' '), '-o', join(working, program)];
      const { failed, stderr } = await execa('go', [...build, path], {
        cwd: moduleFolder(),
        reject: false,
        env: { CGO_ENABLED: '0' },
      });
      if (failed) throw new Error(`\`go build ${path}\` failed: ${stderr.slice(-3000)}\n${otherWays}`);
    }
  });
  const built = inFolder(folder, folder);
  if (built === null) throw new Error(`the build left no etcd or kube-apiserver in ${folder}`);
  return built;
}
