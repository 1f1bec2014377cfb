export { findProblems } from "./axe.ts";
export { type Browser, openBrowser } from "./browser.ts";
export { type EventLog, type JsonEvent, LineLog } from "./events.ts";
export {
  type Executable,
  type InstalledPackage,
  type Program,
  type ProgramOptions,
  runProgram,
  startProgram,
  withExecutable,
  withInstalled,
} from "./program.ts";
export { type Server, type ServerOptions, startServer } from "./server.ts";
export { startTunnel, type Summary, type Tunnel, type TunnelOptions } from "./tunnel.ts";
export { openSocket, visit, type Visited, type VisitInit, type VisitorSocket } from "./visit.ts";
export { openRaw, type RawConnection, rawRequest, type RawResponse } from "./raw.ts";
export type { RawMessage } from "./http_reader.ts";
export { type Recorder, startRecorder } from "./recorder.ts";
export { type Site, startSite } from "./site.ts";
export { createNoise, hashOf } from "./noise.ts";
export { startTcpRelay, type TcpRelay } from "./tcp_relay.ts";
export { type Memory, readMemory } from "./memory.ts";
export { makeTempDir, type TempDir } from "./temp_dir.ts";
export { within } from "./within.ts";
export { fromBytes, toBytes } from "./latin1.ts";
export { type SocketService, startSocketService } from "./socket_service.ts";
export {
  type DevServer,
  type Framework,
  isThere,
  startNext,
  startNginxServer,
  startPythonApp,
  startVite,
} from "./frameworks.ts";
export { PASSWORD, type Postgres, postgresMissing, startPostgres } from "./postgres.ts";
export { runAtTerminal, type TerminalOptions } from "./terminal.ts";
