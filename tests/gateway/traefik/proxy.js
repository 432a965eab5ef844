#!/usr/bin/env node
// Stands in for Traefik, which Debian does not have: reads deploy/traefik and does what Traefik 3 does with it.
//
//   proxy.js FOLDER      the folder with traefik.yml and dynamic.yml
//
// It knows the keys that the shipped files use, and no others: one that it does not know ends it. What forwardAuth sends, takes over and
// passes on follows pkg/middlewares/auth/forward.go of Traefik 3.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { parse } from 'yaml'

const HOP_BY_HOP = ['connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'proxy-connection']
const FORWARDED = ['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'x-forwarded-method', 'x-forwarded-uri']

const read = (name) => parse(fs.readFileSync(path.join(process.argv[2], name), 'utf8'))
const { entryPoints, ...rest } = read('traefik.yml')
assert.deepEqual(Object.keys(rest), ['providers'])
assert.deepEqual(Object.keys(rest.providers.file), ['filename'])
const { routers, middlewares, services, serversTransports, ...unknown } = read('dynamic.yml').http
assert.deepEqual(unknown, {})

for (const [name, entryPoint] of Object.entries(entryPoints)) {
  onlyKeys(entryPoint, ['address', 'forwardedHeaders'])
  const [, host, port] = entryPoint.address.match(/^(.*):(\d+)$/)
  const trusted = (entryPoint.forwardedHeaders?.trustedIPs ?? []).map((network) => network.replace(/\/32$/, ''))
  const mine = Object.values(routers).filter((router) => router.entryPoints.includes(name)).sort((one, other) => rank(other) - rank(one))
  const server = http.createServer((request, response) => serve({ trusted, routers: mine }, request, response))
  server.on('upgrade', (request, socket, head) => serve({ trusted, routers: mine }, request, ordinaryAnswer(request, socket, head), socket))
  server.listen(Number(port), host || '127.0.0.1')
}

/** Who is asked first: who has no priority, or 0, by the length of the rule. */
function rank({ priority, rule }) {
  return priority || rule.length
}

/** What a request that asks for another protocol is answered with, unless it gets that. */
function ordinaryAnswer(request, socket, head) {
  socket.on('error', () => socket.destroy())
  if (head.length > 0) socket.unshift(head)
  const response = new http.ServerResponse(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  return response.once('finish', () => socket.end())
}

/** `socket` is that of a request that asks for another protocol. */
async function serve({ trusted, routers }, request, response, socket) {
  const address = request.socket.remoteAddress.replace(/^::ffff:/, '')
  const headers = withoutNamed(pairs(request.rawHeaders))
  const given = trusted.includes(address) ? headers : without(headers, FORWARDED)
  const router = routers.find(({ rule }) => matches(rule, request.url))
  if (!router) return answer(response, 404, [], '404 page not found')
  onlyKeys(router, ['entryPoints', 'rule', 'priority', 'middlewares', 'service'])
  let passed = given
  for (const name of router.middlewares ?? []) {
    if (middlewares[name].headers) {
      passed = withoutEmptied(middlewares[name], passed)
      continue
    }
    const { status, ...outcome } = await forwardAuth(middlewares[name], request, passed, address)
    if (status) return answer(response, status, outcome.headers, outcome.body)
    passed = outcome.headers
  }
  await forward(services[router.service], { request, response, socket }, withForwarded(passed, request, address))
}

/** What an entry point does (Traefik 3.1.3): whatever Connection names is gone, but what Traefik itself says. */
function withoutNamed(headers) {
  const connection = headers.filter(([name]) => name === 'connection').map(([, value]) => value)
  const named = connection.join().split(',').map((name) => name.trim().toLowerCase())
  return without(headers, ['connection', ...named.filter((name) => ![...FORWARDED, 'upgrade'].includes(name))])
}

function matches(rule, url) {
  const at = url.split('?')[0]
  return rule.split(' || ').some((one) => {
    const [, kind, wanted] = one.match(/^(Path|PathPrefix)\(`([^`]*)`\)$/)
    return kind === 'Path' ? at === wanted : at.startsWith(wanted)
  })
}

/** What customRequestHeaders with empty values takes away. */
function withoutEmptied({ headers: settings, ...others }, passed) {
  assert.deepEqual(others, {})
  onlyKeys(settings, ['customRequestHeaders'])
  for (const value of Object.values(settings.customRequestHeaders)) assert.equal(value, '')
  return without(passed, Object.keys(settings.customRequestHeaders).map((name) => name.toLowerCase()))
}

/** Asks; gives the headers of the request that passes, or the answer to one that does not. */
async function forwardAuth(middleware, request, headers, address) {
  const { forwardAuth: settings, ...others } = middleware
  assert.deepEqual(others, {})
  onlyKeys(settings, ['address', 'trustForwardHeader', 'authResponseHeadersRegex'])
  assert.equal(settings.trustForwardHeader, false)
  const question = [
    ...without(headers, [...FORWARDED, ...HOP_BY_HOP, 'content-length', 'host']),
    ['x-forwarded-for', address],
    ['x-forwarded-method', request.method],
    ['x-forwarded-proto', 'http'],
    ['x-forwarded-host', request.headers.host],
    ['x-forwarded-uri', request.url],
  ]
  const asked = await exchange(settings.address, 'GET', question).catch(() => undefined)
  if (!asked) return { status: 500, headers: [], body: '' }
  if (asked.status < 200 || asked.status > 299) return { status: asked.status, headers: without(asked.headers, HOP_BY_HOP), body: asked.body }
  const [, flags, pattern] = settings.authResponseHeadersRegex.match(/^(?:\(\?(i)\))?(.*)$/)
  const regex = new RegExp(pattern, flags)
  const own = asked.headers.filter(([name]) => regex.test(name))
  return { headers: [...headers.filter(([name]) => !regex.test(name)), ...own] }
}

/** Sends the request on to the service, body and all, and whatever protocol it asks for, as Go's ReverseProxy does. */
async function forward({ loadBalancer }, { request, response, socket }, headers) {
  onlyKeys(loadBalancer, ['servers', 'passHostHeader', 'serversTransport'])
  const { url } = loadBalancer.servers[0]
  const protocol = socket ? [['connection', 'Upgrade'], ['upgrade', request.headers.upgrade]] : []
  const onward = http.request(url + request.url, { method: request.method, headers: [...headers, ...protocol].flat(), agent: false })
  onward.once('upgrade', (answered, far, head) => become(socket, answered, far, head))
  onward.once('response', (answered) => {
    response.writeHead(answered.statusCode, without(pairs(answered.rawHeaders), HOP_BY_HOP).flat())
    answered.pipe(response)
  })
  onward.once('error', ({ status = 502 }) => answer(response, status, [], http.STATUS_CODES[status]))
  if (loadBalancer.serversTransport) limit(onward, serversTransports[loadBalancer.serversTransport])
  if (socket) onward.end()
  else request.pipe(onward)
}

/** Ends a request that is not connected, or not answered, in the time of a serversTransport. */
function limit(onward, { forwardingTimeouts, ...others }) {
  assert.deepEqual(others, {})
  onlyKeys(forwardingTimeouts, ['dialTimeout', 'responseHeaderTimeout'])
  const end = () => onward.destroy(Object.assign(new Error('it takes too long'), { status: 504 }))
  const after = (duration) => setTimeout(end, Number(duration.match(/^(\d+)s$/)[1]) * 1000)
  onward.once('socket', (socket) => {
    const dialling = after(forwardingTimeouts.dialTimeout)
    for (const outcome of ['connect', 'close']) socket.once(outcome, () => clearTimeout(dialling))
  })
  onward.once('finish', () => {
    const waiting = after(forwardingTimeouts.responseHeaderTimeout)
    for (const outcome of ['response', 'upgrade', 'close']) onward.once(outcome, () => clearTimeout(waiting))
  })
}

/** Hands on the answer that changes the protocol, and from there on bytes. */
function become(socket, { statusCode, statusMessage, rawHeaders }, far, head) {
  const lines = pairs(rawHeaders).map(([name, value]) => `${name}: ${value}`)
  socket.write([`HTTP/1.1 ${statusCode} ${statusMessage}`, ...lines, '', ''].join('\r\n'))
  for (const [one, other] of [[socket, far], [far, socket]]) {
    one.on('error', () => other.destroy())
    one.on('close', () => other.destroy())
  }
  if (head.length > 0) far.unshift(head)
  far.pipe(socket).pipe(far)
}

function withForwarded(headers, request, address) {
  const [before] = headers.filter(([name]) => name === 'x-forwarded-for').map(([, value]) => value)
  const missing = [['x-forwarded-proto', 'http'], ['x-forwarded-host', request.headers.host]]
  return [
    ...without(headers, ['x-forwarded-for', ...HOP_BY_HOP]),
    ['x-forwarded-for', before ? `${before}, ${address}` : address],
    ...missing.filter(([name]) => !headers.some(([other]) => other === name)),
    ...headers.filter(([name]) => name === 'transfer-encoding'),
  ]
}

async function exchange(url, method, headers) {
  return new Promise((resolve, reject) => {
    const host = headers.some(([name]) => name === 'host') ? [] : ['host', new URL(url).host]
    const request = http.request(url, { method, headers: [...host, ...headers.flat()], agent: false })
    request.once('error', reject)
    request.once('response', async (response) => {
      let body = ''
      for await (const part of response.setEncoding('utf8')) body += part
      resolve({ status: response.statusCode, headers: pairs(response.rawHeaders), body })
    })
    request.end()
  })
}

function answer(response, status, headers, body) {
  response.writeHead(status, headers.flat())
  response.end(body)
}

function pairs(flat) {
  return Array.from({ length: flat.length / 2 }, (_, index) => [flat[2 * index].toLowerCase(), flat[2 * index + 1]])
}

function without(headers, names) {
  return headers.filter(([name]) => !names.includes(name))
}

function onlyKeys(value, known) {
  for (const key of Object.keys(value)) assert.ok(known.includes(key), `${key} is unknown here`)
}
