// The server under test: built if need be, started on free ports with a database of its own, stopped by its process.
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { atExit, onFreePorts, start, waitFor } from './process.js'

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..')

/** The program: `SLUICE_BIN` if it is set, else built from this workspace. */
export function binary() {
  if (process.env.SLUICE_BIN) return path.resolve(process.env.SLUICE_BIN)
  execFileSync('cargo', ['build', '--quiet', '--package', 'sluice', '--bin', 'sluice'], { cwd: ROOT, stdio: 'inherit' })
  const target = process.env.CARGO_TARGET_DIR ?? path.join(ROOT, 'target')
  return path.join(target, 'debug', 'sluice')
}

/** A new folder that is gone when this process is. */
export function temporaryFolder(name) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), `sluice-${name}-`))
  atExit(() => removeFolder(folder))
  return folder
}

export function removeFolder(folder) {
  fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

/**
 * `sluice serve all` for a test.
 *
 * `issuer` may be a function of the public port; `env` is added last, and may be a function of as many other ports as `others`
 * says. Gives the URLs, these ports and a `stop` that also removes the database.
 */
export function serve({ others = 0, ...options } = {}) {
  return onFreePorts(2 + others, (publicPort, adminPort, ...otherPorts) => serveAt({ publicPort, adminPort, otherPorts }, options))
}

async function serveAt({ publicPort, adminPort, otherPorts }, { dsn, issuer, env = {}, args = [] }) {
  const folder = temporaryFolder('serve')
  const issuerUrl = issuer?.(publicPort) ?? `http://127.0.0.1:${publicPort}/`
  const program = start(binary(), ['serve', 'all', '--dev', '--auto-migrate', ...args], {
    cwd: folder,
    env: {
      DSN: dsn ?? `sqlite:${path.join(folder, 'sluice.db')}`,
      SECRETS_SYSTEM: 'a-system-secret-for-tests-0123456789',
      URLS_SELF_ISSUER: issuerUrl,
      SERVE_PUBLIC_HOST: '127.0.0.1',
      SERVE_PUBLIC_PORT: String(publicPort),
      SERVE_ADMIN_HOST: '127.0.0.1',
      SERVE_ADMIN_PORT: String(adminPort),
      LOG_FORMAT: 'text',
      ...(typeof env === 'function' ? env(...otherPorts) : env),
    },
  })
  const adminUrl = await waitFor('sluice', program, () => readyUrl(adminPort))
  return {
    issuer: issuerUrl,
    publicPort,
    otherPorts,
    adminUrl,
    log: program.log,
    async stop() {
      await program.stop()
      removeFolder(folder)
    },
  }
}

/** The admin address, whichever scheme it speaks, once it says it is ready. */
async function readyUrl(port) {
  for (const scheme of ['http', 'https']) {
    const url = `${scheme}://127.0.0.1:${port}`
    const ready = await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(2000) }).then(
      (response) => response.ok,
      () => false,
    )
    if (ready) return url
  }
}

/** `sluice demo` for a test: its URL is read from what it prints. */
export function demo({ env = {} } = {}) {
  return onFreePorts(3, (...ports) => demoAt(ports.map(String), env))
}

async function demoAt([publicPort, adminPort, appPort], env) {
  const folder = temporaryFolder('demo')
  const program = start(
    binary(),
    ['demo', '--public-port', publicPort, '--admin-port', adminPort, '--app-port', appPort],
    { cwd: folder, env: { DSN: `sqlite:${path.join(folder, 'demo.db')}`, ...env } },
  )
  const url = `http://127.0.0.1:${appPort}/`
  await waitFor('sluice demo', program, async () => {
    const printed = program.log().match(/https?:\/\/(?:127\.0\.0\.1|localhost):\d+/g) ?? []
    if (!printed.some((address) => address.endsWith(`:${appPort}`))) return undefined
    return fetch(url).then(() => true, () => undefined)
  })
  return {
    url,
    issuer: `http://127.0.0.1:${publicPort}`,
    log: program.log,
    async stop() {
      await program.stop()
      removeFolder(folder)
    },
  }
}
