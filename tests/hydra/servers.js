// Hydra, and how both servers are configured: by the same variables.
import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { onFreePorts, start, waitFor } from '../support/process.js'
import { removeFolder, temporaryFolder } from '../support/sluice.js'

const HERE = path.dirname(fileURLToPath(import.meta.url))
/** Nothing listens here: nobody follows a redirect to it. */
const PAGES = 'http://127.0.0.1:9'

export const ENVIRONMENT = {
  URLS_LOGIN: `${PAGES}/login`,
  URLS_CONSENT: `${PAGES}/consent`,
  URLS_LOGOUT: `${PAGES}/logout`,
  URLS_ERROR: `${PAGES}/error`,
  URLS_POST_LOGOUT_REDIRECT: `${PAGES}/signed-out`,
  OIDC_DYNAMIC_CLIENT_REGISTRATION_ENABLED: 'true',
  OIDC_SUBJECT_IDENTIFIERS_SUPPORTED_TYPES: 'public,pairwise',
  OIDC_SUBJECT_IDENTIFIERS_PAIRWISE_SALT: 'a salt for pairwise subjects',
  SERVE_PUBLIC_CORS_ENABLED: 'true',
  SERVE_PUBLIC_CORS_ALLOWED_ORIGINS: 'https://spa.example.com',
  SERVE_ADMIN_CORS_ENABLED: 'true',
  SERVE_ADMIN_CORS_ALLOWED_ORIGINS: 'https://spa.example.com',
  WEBFINGER_OIDC_DISCOVERY_SUPPORTED_SCOPE: 'email,profile',
  WEBFINGER_OIDC_DISCOVERY_SUPPORTED_CLAIMS: 'email',
}

function program() {
  return process.env.HYDRA_BIN ?? path.resolve(HERE, '../../.cache/hydra')
}

/** `hydra serve all` with a database of its own: SQLite, where two who write at once are in each other's way, or what a DSN names. */
export function serveHydra({ dsn } = {}) {
  return onFreePorts(2, (publicPort, adminPort) => hydraAt(publicPort, adminPort, dsn))
}

async function hydraAt(publicPort, adminPort, dsn) {
  const folder = temporaryFolder('hydra')
  const issuer = `http://127.0.0.1:${publicPort}/`
  const env = {
    ...ENVIRONMENT,
    DSN: dsn ?? `sqlite://${path.join(folder, 'hydra.sqlite')}?_fk=true&mode=rwc`,
    SECRETS_SYSTEM: 'a-system-secret-for-tests-0123456789',
    URLS_SELF_ISSUER: issuer,
    SERVE_PUBLIC_HOST: '127.0.0.1',
    SERVE_PUBLIC_PORT: String(publicPort),
    SERVE_ADMIN_HOST: '127.0.0.1',
    SERVE_ADMIN_PORT: String(adminPort),
    SQA_OPT_OUT: 'true',
  }
  execFileSync(program(), ['migrate', 'sql', '-e', '--yes'], { cwd: folder, env: { ...process.env, ...env }, stdio: 'pipe' })
  const server = start(program(), ['serve', 'all', '--dev'], { cwd: folder, env })
  const adminUrl = `http://127.0.0.1:${adminPort}`
  await waitFor('hydra', server, () => fetch(`${adminUrl}/health/ready`).then((answer) => answer.ok || undefined, () => undefined))
  return {
    issuer,
    adminUrl,
    log: server.log,
    async stop() {
      await server.stop()
      removeFolder(folder)
    },
  }
}
