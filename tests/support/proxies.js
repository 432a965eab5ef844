// Real proxies with the configurations of deploy/: only addresses and the folder are others.
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { onFreePorts, start, waitFor } from './process.js'
import { removeFolder, temporaryFolder } from './sluice.js'

export const DEPLOY = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../deploy')

/** What Debian does not have comes from PyPI (tests/gateway/requirements.txt). */
const VENV = path.resolve(DEPLOY, '../.cache/gateway-venv')

/** The ports of the shipped files: of clients, of Sluice's decisions, of its gateway, of the application. */
const SHIPPED = { listen: '8000', sluice: '4456', gateway: '4455', app: '8080' }

/** The rule of deploy/traefik for the application. */
const SHIPPED_RULE = 'HostRegexp(`.+`)'

/** A shipped file with other ports. Each of them must be in it. */
export function shipped(file, ports) {
  let text = fs.readFileSync(path.join(DEPLOY, file), 'utf8')
  for (const [name, port] of Object.entries(ports)) {
    const pattern = new RegExp(`\\b${SHIPPED[name] ?? name}\\b`, 'g')
    if (!pattern.test(text)) throw new Error(`deploy/${file} has no port ${SHIPPED[name] ?? name}`)
    text = text.replace(pattern, String(port))
  }
  return text
}

/** Runs `command` until it listens on `port`, or is `ready` otherwise; `folder` goes with it. */
async function running(name, port, folder, [command, ...args], ready = listens) {
  const program = start(command, args, { cwd: folder, env: { HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder } })
  await waitFor(name, program, () => ready(port))
  return {
    url: `http://127.0.0.1:${port}`,
    log: program.log,
    async stop() {
      await program.stop()
      removeFolder(folder)
    },
  }
}

function listens(port) {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1')
    socket.once('connect', () => (socket.destroy(), resolve(true)))
    socket.once('error', () => resolve(undefined))
  })
}

function folderWith(name, files) {
  const folder = temporaryFolder(name)
  fs.chmodSync(folder, 0o755) // started by root, some of them work as somebody else
  for (const [file, text] of Object.entries(files)) fs.writeFileSync(path.join(folder, file), text)
  return folder
}

/** Debian has some of them outside the PATH of users. */
function found(name, variable) {
  if (process.env[variable]) return process.env[variable]
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/usr/local/sbin']
  return folders.map((folder) => path.join(folder, name)).find((file) => fs.existsSync(file)) ?? name
}

/** `remember` is how long a yes counts, instead of not at all; `parameters` are for its command line. */
export function startVarnish(options) {
  return onFreePorts(1, (...ports) => varnishAt(ports, options))
}

async function varnishAt([listen], { sluice, gateway, app, remember = '0s', parameters = [] }) {
  const vcl = shipped('varnish/sluice.vcl', { sluice, gateway, app }).replace('set beresp.ttl = 0s;', `set beresp.ttl = ${remember};`)
  const folder = folderWith('varnish', { 'sluice.vcl': vcl })
  const args = ['-F', '-n', `${folder}/state`, '-f', `${folder}/sluice.vcl`, '-a', `127.0.0.1:${listen}`, '-s', 'malloc,32m']
  // Its sandbox needs a user that not every machine has.
  return running('Varnish', listen, folder, [found('varnishd', 'VARNISHD'), ...args, '-j', 'none', ...parameters])
}

/** `change` makes another configuration of the shipped one. */
export function startNginx(options) {
  return onFreePorts(1, (...ports) => nginxAt(ports, options))
}

async function nginxAt([listen], { sluice, gateway, app, change = (text) => text }) {
  return nginxWith(listen, change(shipped('nginx/sluice.conf', { listen, sluice, gateway, app })))
}

/** nginx over TLS, with a `certificate` of certificates.js, before the two nodes at these ports. */
export function startNginxOfNodes(options) {
  return onFreePorts(1, (listen) => nginxOfNodes(listen, options))
}

async function nginxOfNodes(listen, { nodes: [one, other], certificate: { certFile, keyFile } }) {
  let text = fs.readFileSync(path.join(DEPLOY, 'nginx/nodes.conf'), 'utf8')
  const here = {
    '10.0.0.11:4444': `127.0.0.1:${one}`,
    '10.0.0.12:4444': `127.0.0.1:${other}`,
    'listen 443 ssl': `listen 127.0.0.1:${listen} ssl`,
    '/etc/nginx/tls/chain.pem': certFile,
    '/etc/nginx/tls/key.pem': keyFile,
  }
  for (const [there, place] of Object.entries(here)) {
    if (!text.includes(there)) throw new Error(`deploy/nginx/nodes.conf has no ${there}`)
    text = text.replaceAll(there, place)
  }
  return { ...(await nginxWith(listen, text)), url: `https://127.0.0.1:${listen}` }
}

async function nginxWith(listen, configuration) {
  const main = ['daemon off;', `pid nginx.pid;`, 'error_log stderr;', 'worker_processes 1;', 'events {}']
  if (process.getuid() === 0) main.push('user www-data;')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${kind};`)
  const folder = folderWith('nginx', {
    'nginx.conf': [...main, 'http {', 'access_log off;', ...temporary, 'include sluice.conf;', '}'].join('\n'),
    'sluice.conf': configuration,
  })
  fs.chmodSync(folder, 0o777)
  const args = ['-p', folder, '-c', `${folder}/nginx.conf`, '-e', 'stderr']
  return running('nginx', listen, folder, [found('nginx', 'NGINX'), ...args])
}

/** `damage` makes another Lua of the shipped one. */
export function startHaproxy(options) {
  return onFreePorts(1, (...ports) => haproxyAt(ports, options))
}

async function haproxyAt([listen], { sluice, gateway, app, damage = (lua) => lua, bind = '' }) {
  const lua = fs.readFileSync(path.join(DEPLOY, 'haproxy/sluice.lua'), 'utf8')
  const folder = folderWith('haproxy', { 'sluice.lua': damage(lua) })
  const text = shipped('haproxy/haproxy.cfg', { listen, sluice, gateway, app }).replace('/etc/haproxy/', `${folder}/`)
  fs.writeFileSync(path.join(folder, 'haproxy.cfg'), text.replace(/^ *bind .*/m, (line) => `${line} ${bind}`))
  return running('HAProxy', listen, folder, [found('haproxy', 'HAPROXY'), '-db', '-f', `${folder}/haproxy.cfg`])
}

/** `program` is another Caddy than Debian's. */
export function startCaddy(options) {
  return onFreePorts(2, (...ports) => caddyAt(ports, options))
}

/** The newest Caddy. */
export function startNewCaddy(options) {
  return startCaddy({ ...options, program: process.env.NEW_CADDY ?? `${VENV}/bin/caddy` })
}

async function caddyAt([listen, admin], { sluice, gateway, app, program = found('caddy', 'CADDY') }) {
  const options = `{\n\tadmin 127.0.0.1:${admin}\n}\n\n`
  const folder = folderWith('caddy', { Caddyfile: options + shipped('caddy/Caddyfile', { listen, sluice, gateway, app }) })
  const args = ['run', '--config', `${folder}/Caddyfile`, '--adapter', 'caddyfile']
  return running('Caddy', listen, folder, [program, ...args])
}

export function startTraefik(options) {
  return onFreePorts(2, (...ports) => traefikAt(ports, options))
}

async function traefikAt([listen, inner], { sluice, gateway, app, rule = SHIPPED_RULE }) {
  const folder = folderWith('traefik', { 'dynamic.yml': withRule(shipped('traefik/dynamic.yml', { sluice, gateway, app, 8099: inner }), rule) })
  const text = shipped('traefik/traefik.yml', { listen, 8099: inner }).replace('/etc/traefik/', `${folder}/`)
  fs.writeFileSync(path.join(folder, 'traefik.yml'), text)
  return running('Traefik', listen, folder, [process.env.TRAEFIK ?? `${VENV}/bin/traefik`, `--configFile=${folder}/traefik.yml`], routes)
}

/** Traefik listens before it has read the dynamic half of its configuration. */
async function routes(port) {
  const answer = await fetch(`http://127.0.0.1:${port}/.well-known/oauth-protected-resource/`).catch(() => undefined)
  return answer && answer.status !== 404 ? answer : undefined
}

function withRule(text, rule) {
  if (!text.includes(`"${SHIPPED_RULE}"`)) throw new Error(`deploy/traefik/dynamic.yml has no rule ${SHIPPED_RULE}`)
  return text.replace(`"${SHIPPED_RULE}"`, () => `"${rule}"`)
}

/** `file` is one of deploy/envoy. */
export function startEnvoy(options) {
  return onFreePorts(1, (...ports) => envoyAt(ports, options))
}

async function envoyAt([listen], { sluice, gateway, app, file = 'envoy.yaml' }) {
  const folder = folderWith('envoy', { 'envoy.yaml': shipped(`envoy/${file}`, { listen, sluice, gateway, app }) })
  // Two of them at once would share the memory by which one takes over from another.
  const args = ['-c', `${folder}/envoy.yaml`, '--disable-hot-restart', '--concurrency', '1', '--log-level', 'warning']
  return running('Envoy', listen, folder, [process.env.ENVOY ?? `${VENV}/bin/envoy`, ...args])
}
