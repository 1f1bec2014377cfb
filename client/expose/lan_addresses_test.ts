import { deepEqual } from "node:assert/strict";
import { type Interfaces, listLanAddresses } from "./lan_addresses.ts";

const v4 = (address: string, internal = false) => ({ address, family: "IPv4" as const, internal });
const v6 = (address: string, internal = false) => ({ address, family: "IPv6" as const, internal });

const SYSTEMS: Readonly<Record<string, Interfaces>> = {
  windows: {
    "vEthernet (WSL (Hyper-V firewall))": [v6("fe80::1"), v4("172.20.0.1")],
    "VirtualBox Host-Only Network": [v4("192.168.56.1")],
    "Local Area Connection* 2": [v4("169.254.9.9")],
    "Wi-Fi": [v6("2001:db8::7"), v6("fe80::2"), v4("192.168.1.7")],
    "Loopback Pseudo-Interface 1": [v6("::1", true), v4("127.0.0.1", true)],
  },
  mac: {
    lo0: [v4("127.0.0.1", true), v6("::1", true), v6("fe80::1", true)],
    bridge100: [v4("192.168.64.1")],
    utun3: [v4("100.64.0.5")],
    en0: [v6("fe80::3"), v4("192.168.1.7")],
  },
  linux: {
    lo: [v4("127.0.0.1", true)],
    docker0: [v4("172.17.0.1")],
    wlan0: [v4("192.168.1.7"), v6("2001:db8::7")],
    gone: undefined,
  },
};

Deno.test("listLanAddresses begins with what a phone can reach, on each system", () => {
  const list = (system: string) => listLanAddresses(SYSTEMS[system], ["IPv4"]);
  deepEqual(list("windows"), ["192.168.1.7", "172.20.0.1", "192.168.56.1", "169.254.9.9"]);
  deepEqual(list("mac"), ["192.168.1.7", "192.168.64.1", "100.64.0.5"]);
  deepEqual(list("linux"), ["192.168.1.7", "172.17.0.1"]);
});

Deno.test("listLanAddresses has none that holds on its own link only, and both families where both are wanted", () => {
  deepEqual(listLanAddresses(SYSTEMS.windows, ["IPv4", "IPv6"]).slice(0, 2), ["2001:db8::7", "192.168.1.7"]);
  deepEqual(listLanAddresses({ lo: [v4("127.0.0.1", true)] }, ["IPv4"]), []);
});
