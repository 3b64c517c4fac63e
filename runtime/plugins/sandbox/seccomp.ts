/** Numbers of system calls on x86-64 and on arm64; `null` if the architecture has no such call. */
const deniedCalls: Readonly<Record<string, readonly [x64: number | null, arm64: number | null]>> = {
  // Access to other processes and their memory.
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  kcmp: [312, 272],
  pidfd_getfd: [438, 438],
  // Sockets: a plugin's HTTP goes through the host.
  socket: [41, 198],
  connect: [42, 203],
  bind: [49, 200],
  listen: [50, 201],
  accept: [43, 202],
  accept4: [288, 242],
  // File systems and namespaces.
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  unshare: [272, 97],
  setns: [308, 268],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  fanotify_init: [300, 262],
  quotactl: [179, 60],
  acct: [163, 89],
  swapon: [167, 224],
  swapoff: [168, 225],
  // Parts of the kernel that often had vulnerabilities and that a plugin does not need.
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  keyctl: [250, 219],
  add_key: [248, 217],
  request_key: [249, 218],
  personality: [135, 92],
  modify_ldt: [154, null],
  mbind: [237, 235],
  migrate_pages: [256, 238],
  move_pages: [279, 239],
  // Calls that affect the whole machine.
  reboot: [169, 142],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  iopl: [172, null],
  ioperm: [173, null],
  syslog: [103, 116],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  sethostname: [170, 161],
  setdomainname: [171, 162],
};
const clone = [56, 220] as const;
const clone3 = 435;
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. */
const newNamespaces = 0x7e02_0000;
const auditArch = { x64: 0xc000_003e, arm64: 0xc000_00b7 } as const;

const load = (offset: number) => ({ code: 0x20, jt: 0, jf: 0, k: offset });
const jump = (code: number, k: number, jt: number, jf: number) => ({ code, jt, jf, k });
const answer = (k: number) => ({ code: 0x06, jt: 0, jf: 0, k });
const [equal, atLeast, anyBit] = [0x15, 0x35, 0x45];
const [allow, kill, noPermission, noSuchCall] = [0x7fff_0000, 0x8000_0000, 0x0005_0001, 0x0005_0026];

/** A seccomp filter (classic BPF, as bubblewrap reads it) that refuses the calls above; `null` on other architectures. */
export function seccompFilter(architecture: string = process.arch): Buffer | null {
  if (architecture !== "x64" && architecture !== "arm64") return null;
  const at = architecture === "x64" ? 0 : 1;
  const numbers = Object.values(deniedCalls).flatMap((one) => one[at] ?? []);
  const isX64 = architecture === "x64";
  const checks = [
    // On x86-64, the same calls have a second set of numbers, for 32-bit pointers.
    ...(isX64 ? [{ code: atLeast, k: 0x4000_0000 }] : []),
    ...numbers.map((k) => ({ code: equal, k })),
  ];
  // The results are at the end: check clone's flags, allow, refuse, no such call.
  const program = [load(4), jump(equal, auditArch[architecture], 1, 0), answer(kill), load(0)];
  // Without clone3, whose flags a filter cannot read, the C library uses clone.
  program.push(jump(equal, clone3, checks.length + 5, 0));
  checks.forEach(({ code, k }, i) => void program.push(jump(code, k, checks.length - i + 3, 0)));
  program.push(jump(equal, clone[at], 0, 2), load(16), jump(anyBit, newNamespaces, 1, 0));
  program.push(answer(allow), answer(noPermission), answer(noSuchCall));
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(({ code, jt, jf, k }, i) => {
    bytes.writeUInt16LE(code, i * 8);
    bytes.writeUInt8(jt, i * 8 + 2);
    bytes.writeUInt8(jf, i * 8 + 3);
    bytes.writeUInt32LE(k >>> 0, i * 8 + 4);
  });
  return bytes;
}
