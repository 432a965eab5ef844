// Child processes that a test owns: started with their output kept, waited for, ended by their own id.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const leftovers = new Set()

/** Has `clean`, which must not wait for anything, called when this process ends in whatever way; gives the way out. */
export function atExit(clean) {
  leftovers.add(clean)
  return () => leftovers.delete(clean)
}

process.once('exit', () => [...leftovers].reverse().forEach((clean) => clean()))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1))

/** Ends `child` with this process. */
export function own(child) {
  child.once('exit', atExit(() => child.kill('SIGTERM')))
  return child
}

/** Ports that were free a moment ago. All are held open until the last is found, so no two are the same. */
export async function freePorts(count) {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = net.createServer().listen(0, '127.0.0.1')
      await once(server, 'listening')
      return server
    }),
  )
  const ports = servers.map((server) => server.address().port)
  await Promise.all(servers.map((server) => new Promise((closed) => server.close(closed))))
  return ports
}

/** How often ports that were free a moment ago may be taken. */
const ATTEMPTS = 5

/** What `begin` gives with so many free ports; with others if it fails because somebody else has taken one of them. */
export async function onFreePorts(count, begin) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await begin(...(await freePorts(count)))
    } catch (error) {
      if (attempt === ATTEMPTS || !/address already in use|EADDRINUSE/i.test(error.message)) throw error
    }
  }
}

/** A running program: `log()` is what it has printed so far, `stop()` ends it. */
export function start(command, args, { env = {}, cwd } = {}) {
  const child = own(spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] }))
  let output = ''
  let ended = false
  const exited = new Promise((resolve) => {
    child.once('error', (error) => {
      output += `${command} could not be started: ${error.message}\n`
      ended = true
      resolve()
    })
    child.once('exit', (code, signal) => {
      output += `(${command} ended: ${signal ?? code})\n`
      ended = true
      resolve()
    })
  })
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => (output += text))
  }
  return {
    log: () => output,
    ended: () => ended,
    /** Asks the program to end; kills it if it has not within five seconds. */
    async stop() {
      if (ended) return
      child.kill('SIGTERM')
      await Promise.race([exited, sleep(5000, undefined, { ref: false })])
      if (!ended) child.kill('SIGKILL')
      await exited
    },
  }
}

/** Waits until `probe` gives something other than undefined; fails with the program's last lines. */
export async function waitFor(what, program, probe, seconds = 30) {
  const deadline = Date.now() + seconds * 1000
  while (Date.now() < deadline) {
    const found = await probe()
    // Without it, whoever answered is somebody else.
    if (program.ended()) break
    if (found !== undefined) return found
    await sleep(50)
  }
  await program.stop()
  throw new Error(`${what} did not come up. Its last lines:\n${lastLines(program.log())}`)
}

export function lastLines(text, count = 60) {
  return text.trimEnd().split('\n').slice(-count).join('\n')
}
