// The server under test: built if need be, started on free ports with a database of its own, stopped by its process.
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { atExit, freePorts, start, waitFor } from './process.js'

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
 * `issuer` may be a function of the public port; `env` is added last. Gives the URLs and a `stop` that also removes
 * the database.
 */
export async function serve({ dsn, issuer, env = {}, args = [] } = {}) {
  const folder = temporaryFolder('serve')
  const [publicPort, adminPort] = await freePorts(2)
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
      ...env,
    },
  })
  const adminUrl = await waitFor('sluice', program, () => readyUrl(adminPort))
  return {
    issuer: issuerUrl,
    publicPort,
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
export async function demo({ env = {} } = {}) {
  const folder = temporaryFolder('demo')
  const ports = await freePorts(3)
  const [publicPort, adminPort, appPort] = ports.map(String)
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
