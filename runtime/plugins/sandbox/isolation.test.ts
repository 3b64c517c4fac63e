import { describe, expect, test } from "vitest";
import { availableIsolation, type IsolationLayer, requireIsolation, workingIsolation } from "./isolation.ts";
import { launchOf, noIsolation } from "./launch.ts";
import { seccompFilter } from "./seccomp.ts";

const layer = (name: IsolationLayer["layer"], active: boolean): IsolationLayer => ({
  layer: name,
  active,
  reason: active ? null : `${name} was not found`,
});

test("PLUGIN_WALLS=require refuses a start with fewer layers, and names them", () => {
  expect(() => requireIsolation([layer("limits", true), layer("seccomp", true)])).not.toThrow();
  expect(() => requireIsolation([layer("limits", true), layer("namespaces", false), layer("seccomp", false)])).toThrow(
    /PLUGIN_WALLS.*namespaces \(namespaces was not found\), seccomp/,
  );
});

test("each process gets a user of its own", () => {
  const isolation = { ...noIsolation, setpriv: "/usr/bin/setpriv", ownUser: true };
  const users = Array.from({ length: 50 }, () => {
    const { args } = launchOf({ deno: process.execPath, bundle: import.meta.filename, memoryMb: 64, isolation });
    return args.find((arg) => arg.startsWith("--reuid="));
  });
  expect(new Set(users).size).toBe(50);
});

describe("the seccomp filter", () => {
  /** The kernel's decision, computed with the few instructions that the filter uses. */
  function answer(filter: Buffer, arch: number, call: number, firstArgument = 0): number {
    const data: Record<number, number> = { 0: call, 4: arch, 16: firstArgument };
    let value = 0;
    for (let at = 0; ; ) {
      const [code, k] = [filter.readUInt16LE(at * 8), filter.readUInt32LE(at * 8 + 4)];
      if (code === 0x06) return k;
      if (code === 0x20) value = data[k] as number;
      const holds = code === 0x15 ? value === k : code === 0x35 ? value >= k : code === 0x45 ? (value & k) !== 0 : false;
      at += 1 + (code === 0x20 ? 0 : filter.readUInt8(at * 8 + (holds ? 2 : 3)));
    }
  }
  const [allow, kill, refuse, absent] = [0x7fff0000, 0x80000000, 0x00050001, 0x00050026];
  test.each([
    ["x64", 0xc000003e, { read: 0, clone: 56, socket: 41, ptrace: 101, mount: 165, setdomainname: 171 }],
    ["arm64", 0xc00000b7, { read: 63, clone: 220, socket: 198, ptrace: 117, mount: 40, setdomainname: 162 }],
  ] as const)("on %s refuses what a plugin does not need", (name, arch, call) => {
    const filter = seccompFilter(name) as Buffer;
    expect(answer(filter, arch, call.read)).toBe(allow);
    expect(answer(filter, arch, call.clone, 0x3d0f00)).toBe(allow);
    for (const flag of [0x10000000, 0x20000000, 0x40000000, 0x00020000])
      expect(answer(filter, arch, call.clone, flag)).toBe(refuse);
    for (const one of [call.socket, call.ptrace, call.mount, call.setdomainname]) expect(answer(filter, arch, one)).toBe(refuse);
    expect(answer(filter, arch, 435)).toBe(absent);
    expect(answer(filter, 1, call.read)).toBe(kill);
  });
  test("does not exist for other architectures", () => expect(seccompFilter("riscv64")).toBeNull());
});

test("if no trial succeeds, no layer is dropped", async () => {
  // It ends immediately, because it does not know Deno's arguments.
  const { isolation } = await workingIsolation(import.meta.filename, process.execPath);
  expect(isolation).toEqual(availableIsolation());
});
