/** What the API server's process is told by its driver. */
export interface ApiServerConfiguration {
  listen: { address: string; port: number };
  /** The lab's own way in, without TLS or token: a socket in the lab's folder. */
  unixSocket: string;
  tls: { certificate: string; key: string };
  /** Token -> user name. */
  tokens: Record<string, string>;
  /** Folders whose CustomResourceDefinitions are served from the start. */
  crdFolders: string[];
  /** One JSON line per request is appended here. */
  requestLog: string;
}
