// An Apache of our own with mod_auth_openidc: Debian's program and module, a configuration in a temporary folder, no service.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { freePorts, start, waitFor } from './process.js'
import { removeFolder, temporaryFolder } from './sluice.js'

const PROGRAM = process.env.APACHE ?? '/usr/sbin/apache2'
const MODULES = process.env.APACHE_MODULES ?? '/usr/lib/apache2/modules'
const LOADED = ['mpm_event', 'authn_core', 'authz_core', 'authz_user', 'mime', 'dir', 'filter', 'include', 'auth_openidc']

/** What the protected page shows: name and value of each variable, one per line. */
const SHOWN = ['REMOTE_USER', 'OIDC_CLAIM_iss', 'OIDC_CLAIM_sub', 'OIDC_CLAIM_aud', 'OIDC_CLAIM_email', 'OIDC_access_token']

/** Ports and addresses before there is a process: a client must be registered first. */
export async function apacheSite() {
  const [port] = await freePorts(1)
  const url = `http://127.0.0.1:${port}`
  return {
    port,
    url,
    page: `${url}/protected/`,
    signedOut: `${url}/signed-out.html`,
    redirectUri: `${url}/protected/callback`,
    logout: `${url}/protected/callback?logout=${encodeURIComponent(`${url}/signed-out.html`)}`,
    backchannelLogout: `${url}/protected/callback?logout=backchannel`,
  }
}

/** Starts it on `site`; `directives` are those of mod_auth_openidc, name to value; `files` are put beside its configuration. */
export async function startApache(site, directives, files = {}) {
  const folder = temporaryFolder('apache')
  fs.chmodSync(folder, 0o755) // started by root, it works as somebody else
  writeSite(folder)
  for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(folder, name), text)
  const file = path.join(folder, 'apache.conf')
  fs.writeFileSync(file, configuration(folder, site, directives))
  const program = start(PROGRAM, ['-D', 'FOREGROUND', '-f', file, '-d', folder])
  const log = () => program.log() + fs.readFileSync(path.join(folder, 'error.log'), { encoding: 'utf8', flag: 'a+' })
  await waitFor('Apache', { ...program, log }, () => fetch(site.signedOut).then((answer) => answer.ok || undefined, () => undefined))
  return {
    log,
    async stop() {
      await program.stop()
      removeFolder(folder)
    },
  }
}

function writeSite(folder) {
  const lines = SHOWN.map((name) => `${name}=<!--#echo var="${name}" -->\n`).join('')
  fs.mkdirSync(path.join(folder, 'site', 'protected'), { recursive: true })
  fs.writeFileSync(path.join(folder, 'site', 'protected', 'index.shtml'), `<!doctype html><title>protected</title><pre>${lines}</pre>`)
  fs.writeFileSync(path.join(folder, 'site', 'signed-out.html'), '<!doctype html><title>public</title><p>signed out</p>')
}

function configuration(folder, site, directives) {
  const asRoot = process.getuid() === 0 ? ['User www-data', 'Group www-data'] : []
  return [
    ...LOADED.map((name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so`),
    ...asRoot,
    `Listen 127.0.0.1:${site.port}`,
    `ServerName 127.0.0.1:${site.port}`,
    `PidFile ${folder}/apache.pid`,
    `DefaultRuntimeDir ${folder}`,
    `ErrorLog ${folder}/error.log`,
    'LogLevel warn',
    'StartServers 1',
    `DocumentRoot ${folder}/site`,
    'DirectoryIndex index.shtml',
    'TypesConfig /dev/null',
    'AddType text/html .shtml .html',
    'AddOutputFilter INCLUDES .shtml',
    ...Object.entries(directives).map(([name, value]) => `${name} ${quoted(String(value).replaceAll('{folder}', folder))}`),
    `<Directory ${folder}/site>`,
    '  Options +Includes',
    '  Require all granted',
    '</Directory>',
    '<Location /protected/>',
    '  AuthType openid-connect',
    '  Require valid-user',
    '</Location>',
    '',
  ].join('\n')
}

function quoted(value) {
  return `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}

/** What the protected page shows, once `page` is there, as an object. */
export async function variables(page) {
  const text = await page.locator('pre').innerText()
  const shown = Object.fromEntries(text.trim().split('\n').map((line) => line.split(/=(.*)/s).slice(0, 2)))
  assert.deepEqual(Object.keys(shown), SHOWN)
  return shown
}
