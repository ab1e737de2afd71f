/**
 * Runs programs that may leave others behind: each in a process group of its own, with a mark in its environment that all it
 * starts inherit, also what begins a group of its own. Where there is no /proc the mark is not seen.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const windows = process.platform === 'win32';
/** Time for a program that was told to end, before it is killed. */
const GRACE_MS = 5_000;
/** Time for what a program has left behind, and perhaps told to end. */
const LEFT_MS = 2_000;
const LOOK_MS = 500;

/**
 * Resolves with `code`, and with `error` if the program could not be started, `stopped` if it was killed for the reason that
 * `watch` gave, and `signal` if SIGINT, SIGTERM or SIGHUP came and was passed on. `watch` is asked twice a second.
 * Then nothing is left of all that the program started: `left` describes what had to be killed.
 */
export async function runGroup(program, args, { cwd, env, watch = () => undefined }) {
  const [name, value] = ['PROCESSES_OF', randomUUID()];
  const child = spawn(program, args, {
    cwd,
    env: { ...env, [name]: value },
    stdio: 'inherit',
    detached: !windows,
    shell: windows,
  });
  const ended = new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: 1, error: error.message }));
    child.once('exit', (code) => resolve({ code: code ?? 1 }));
  });
  const signals = forwardSignals(child);
  const end = await Promise.race([ended, watched(watch, signals, ended)]);
  const group = { pid: child.pid, mark: `${name}=${value}` };
  if (!end.stopped) await gone(group, LEFT_MS);
  const left = describe(members(group), end.stopped ? child.pid : undefined);
  if (end.stopped) signalGroup(child.pid, 'SIGKILL');
  await gone(group, GRACE_MS, ({ pid }) => kill(pid));
  signals.off();
  return { ...end, signal: signals.received, left };
}

async function watched(watch, signals, ended) {
  let over = false;
  void ended.then(() => (over = true));
  for (let since; !over; await delay(LOOK_MS, undefined, { ref: false })) {
    const stopped = watch();
    if (stopped !== undefined) return { code: 1, stopped };
    if (signals.received === undefined) continue;
    since ??= performance.now();
    if (performance.now() - since > GRACE_MS)
      return { code: 1, stopped: `it does not end on ${signals.received}` };
  }
  return ended;
}

/** Waits until nobody of the group is there, `ms` at most; does `to` to those that are. */
async function gone(group, ms, to = () => undefined) {
  for (const until = performance.now() + ms; performance.now() < until; await delay(50)) {
    const there = members(group);
    if (there.length === 0) return;
    there.forEach(to);
  }
}

function forwardSignals(child) {
  const state = { received: undefined, off: () => undefined };
  const handlers = ['SIGINT', 'SIGTERM', 'SIGHUP'].map((name) => [
    name,
    () => {
      state.received = name;
      signalGroup(child.pid, name);
    },
  ]);
  for (const [name, handler] of handlers) process.on(name, handler);
  state.off = () => {
    for (const [name, handler] of handlers) process.off(name, handler);
  };
  return state;
}

function signalGroup(pid, name) {
  try {
    process.kill(windows ? pid : -pid, name);
  } catch {
    // Gone already.
  }
}

function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Gone already.
  }
}

/** Processes of the group `pid` or with `mark` in their environment; not those that only wait for their parent to look. */
function members({ pid: group, mark }) {
  if (group === undefined || process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => processOf(Number(pid)))
    .filter((found) => found !== undefined && found.state !== 'Z')
    .filter(({ pid, pgrp }) => pgrp === group || text(`/proc/${pid}/environ`).includes(mark));
}

function processOf(pid) {
  // `pid (name) state ppid pgrp …`; a name may hold anything.
  const [, state, ppid, pgrp] = /^.*\) (\S) (\d+) (\d+)/s.exec(text(`/proc/${pid}/stat`)) ?? [];
  return state && { pid, state, ppid: Number(ppid), pgrp: Number(pgrp) };
}

/** A line for each process; of `stuck`, also its threads and open files. */
function describe(processes, stuck) {
  return processes.flatMap(({ pid, state, ppid, pgrp }) => {
    const line = `${pid} (parent ${ppid}, group ${pgrp}) ${state} ${waitsIn(pid)} ${command(pid)}`;
    return pid === stuck ? [line, ...threads(pid), ...files(pid)] : [line];
  });
}

const command = (pid) => text(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').slice(0, 300);
const waitsIn = (path) => text(`/proc/${path}/wchan`) || '-';

function threads(pid) {
  return list(`/proc/${pid}/task`).map((tid) => {
    const path = `${pid}/task/${tid}`;
    const name = text(`/proc/${path}/comm`).trim();
    const call = text(`/proc/${path}/syscall`).split(' ')[0].trim();
    const stack = text(`/proc/${path}/stack`).match(/(?<=\] )\w+/g) ?? [];
    const [, state = '?'] = /\) (\S)/.exec(text(`/proc/${path}/stat`)) ?? [];
    return `  thread ${tid} ${name} ${state} ${waitsIn(path)}, system call ${call}: ${stack.slice(0, 6).join(' < ')}`;
  });
}

function files(pid) {
  return list(`/proc/${pid}/fd`).map((fd) => `  fd ${fd} ${link(`/proc/${pid}/fd/${fd}`)}`);
}

function list(path) {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function link(path) {
  try {
    return readlinkSync(path);
  } catch {
    return '?';
  }
}

/** Empty when the process is gone or another's. */
function text(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
