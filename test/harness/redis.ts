import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { inject } from "vitest";
import { freePorts } from "../../sdk/testing/free-ports.ts";

/** A separate Redis for one test, which can be killed and started again. It keeps no data. */
export interface OwnRedis {
  readonly url: string;
  start(): Promise<void>;
  /** Sends a command and waits for its answer. */
  send(command: string): Promise<void>;
  /** kill -9. */
  kill(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function ownRedis(): Promise<OwnRedis> {
  const command = inject("redisServer");
  if (command.length === 0) throw new Error('there is no redis-server: give this test the tag "redis-server"');
  const [port = 0] = await freePorts(1);
  let child: ChildProcess | null = null;
  const kill = async () => {
    const ended = child && new Promise((done) => child?.once("exit", done));
    child?.kill("SIGKILL");
    await ended;
    child = null;
  };
  const start = async () => {
    const [program = "", ...before] = command;
    const args = [...before, "--bind", "127.0.0.1", "--port", String(port), "--save", "", "--appendonly", "no"];
    child = spawn(program, args, { stdio: "ignore" });
    const end = performance.now() + 60_000;
    while (!(await answers(port))) {
      if (performance.now() > end) throw new Error(`redis-server did not serve on ${port}`);
      await sleep(50);
    }
  };
  const send = async (command: string) => {
    const socket = connect(port, "127.0.0.1");
    socket.write(`${command}\r\n`);
    const [answer] = await once(socket, "data");
    socket.destroy();
    if (!String(answer).startsWith("+OK")) throw new Error(`${command}: ${answer}`);
  };
  await start();
  return { url: `redis://127.0.0.1:${port}`, start, send, kill, [Symbol.asyncDispose]: kill };
}

const answers = (port: number): Promise<boolean> =>
  new Promise((done) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => done(true)).once("error", () => done(false));
    socket.once("connect", () => socket.destroy());
  });
