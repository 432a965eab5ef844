// A proxy under test between clients and an application.
//
// SLUICE_DECISIONS_PORT is the port of Sluice's decisions, SLUICE_GATEWAY_PORT that of its gateway, SLUICE_TOKENS the tokens to try (JSON; see run), SLUICE_ACCESS_LOG the file with
// a line for each decision.
import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { after, before, test } from 'node:test'
import { startEcho } from '../support/echo.js'
import { lastLines } from '../support/process.js'
import { startRelay } from '../support/relay.js'

export const TOKENS = JSON.parse(process.env.SLUICE_TOKENS ?? '{}')
const DECISIONS = Number(process.env.SLUICE_DECISIONS_PORT)
const GATEWAY = Number(process.env.SLUICE_GATEWAY_PORT)

/** The proxy between a client (`ask`) and an application, with a wire to Sluice that can be cut. */
export function setUp(name, start) {
  // Kept-alive connections, as everybody's: some proxies treat bodies otherwise on others.
  const agent = new http.Agent({ keepAlive: true })
  const running = {}

  before(async () => {
    running.echo = await startEcho()
    running.relay = await startRelay(DECISIONS)
    running.proxy = await start({ sluice: running.relay.port, gateway: GATEWAY, app: running.echo.port })
  })

  after(async () => {
    agent.destroy()
    for (const part of [running.proxy, running.relay, running.echo]) await part?.stop()
  })

  /** A test whose failure shows what the proxy said. */
  function check(what, body) {
    test(`${name}: ${what}`, async () => {
      try {
        await body()
      } catch (error) {
        console.log(`the last lines of ${name}:\n${lastLines(running.proxy.log(), 20)}`)
        throw error
      }
    })
  }

  return { running, check, ask: (path, what) => ask(agent, running.proxy.url, { path, ...what }) }
}

/** One request, with its path byte for byte; what the application saw is `seen`, if it was asked. */
async function ask(agent, url, { path, token, headers = {}, method = 'GET', body, chunked = false, localAddress }) {
  const bearer = token ? { authorization: `Bearer ${token}` } : {}
  const request = http.request(url, { path, method, headers: { ...bearer, ...headers }, agent, localAddress })
  if (body && !chunked) request.setHeader('content-length', body.length)
  const answered = once(request, 'response')
  // Heard by `once`, until the answer is there; what becomes of the connection afterwards matters to nobody.
  request.on('error', () => {})
  if (body) request.write(body)
  request.end()
  const [response] = await answered
  let text = ''
  for await (const part of response.setEncoding('utf8')) text += part
  const seen = response.statusCode === 200 && text ? JSON.parse(text) : undefined
  return { status: response.statusCode, headers: response.headers, text, seen }
}

/** All that is said to a request that is written byte for byte; it is to be the last of its connection. */
export async function rawly(url, lines) {
  const socket = net.connect(new URL(url).port, '127.0.0.1')
  socket.write([...lines, '', ''].join('\r\n'))
  let text = ''
  for await (const part of socket.setEncoding('utf8')) text += part
  return text
}

/** The values of what the application saw under names that it may take for `header`. */
export function told(seen, header) {
  return seen.headers.filter(([name]) => name.replaceAll(/[^a-z0-9]/g, '-') === header).map(([, value]) => value)
}
