// WebSockets through a proxy.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import http from 'node:http'
import net from 'node:net'
import { told, TOKENS } from './given.js'

/** RFC 6455 §1.3. */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/** `refusal` is how an answer ends to what the application does not upgrade. */
export function websockets({ check, ask, running }, refusal) {
  check('a WebSocket passes with a good token, and carries what either side says', async () => {
    const { status, accepts, socket } = await connect(running.proxy.url, '/orders/7', TOKENS.good.token)
    assert.equal(status, 101)
    assert.ok(accepts, 'the answer to the key of the request')
    const seen = JSON.parse(await socket.until('\n'))
    assert.equal(seen.url, '/orders/7')
    assert.deepEqual(told(seen, 'oauth-user-id'), [TOKENS.good.user])
    assert.deepEqual(told(seen, 'oauth-client-id'), [TOKENS.good.client])
    for (const message of ['hello', `${randomBytes(50_000).toString('hex')}\n`]) {
      socket.say(message)
      assert.equal(await socket.until(message), message)
    }
    socket.end()
  })

  for (const [what, token, expected] of [
    ['without a token', undefined, 401],
    ['with a token that is revoked', 'revoked', 401],
    ['with a token without the scope', 'narrow', 403],
  ]) {
    check(`${what} nobody asks the application for a WebSocket`, async () => {
      const before = running.echo.count()
      const { status, headers } = await connect(running.proxy.url, '/orders/7', TOKENS[token]?.token)
      assert.equal(status, expected)
      assert.match(headers['www-authenticate'], /^Bearer\b/)
      assert.equal(running.echo.count(), before)
    })
  }

  check('where the application does not upgrade, the next request is asked about as any other', async () => {
    const before = running.echo.count()
    const socket = new Wire(net.connect(new URL(running.proxy.url).port, '127.0.0.1'))
    const lines = Object.entries({ host: 'app', ...handshake(TOKENS.good.token) }).map(([name, value]) => `${name}: ${value}`)
    socket.say(['GET /orders/refused HTTP/1.1', ...lines, '', ''].join('\r\n'))
    assert.match(await socket.until(refusal), /^HTTP\/1\.1 200 /)
    socket.say('GET /orders/7 HTTP/1.1\r\nhost: app\r\nconnection: close\r\n\r\n')
    assert.doesNotMatch(await socket.rest(), /HTTP\/1\.1 200 /)
    assert.equal(running.echo.count(), before + 1)
    assert.equal((await ask('/orders/7', { token: TOKENS.good.token })).status, 200)
  })
}

function handshake(token, upgrade = 'websocket') {
  const bearer = token ? { authorization: `Bearer ${token}` } : {}
  const key = randomBytes(16).toString('base64')
  return { ...bearer, connection: 'Upgrade', upgrade, 'sec-websocket-version': '13', 'sec-websocket-key': key }
}

/** Asks for a WebSocket, or what `upgrade` says; `socket` is what it becomes, `text` the body of an ordinary answer. */
export function connect(url, path, token, upgrade) {
  const headers = handshake(token, upgrade)
  const request = http.request(url, { path, headers, agent: false })
  return new Promise((resolve, reject) => {
    request.once('error', reject)
    request.once('response', async (response) => {
      let text = ''
      for await (const part of response.setEncoding('utf8')) text += part
      resolve({ status: response.statusCode, headers: response.headers, text })
    })
    request.once('upgrade', (response, socket, head) => {
      const expected = createHash('sha1').update(headers['sec-websocket-key'] + GUID).digest('base64')
      const accepts = response.headers['sec-websocket-accept'] === expected
      resolve({ status: response.statusCode, headers: response.headers, accepts, socket: new Wire(socket, head) })
    })
    request.end()
  })
}

/** One end of a connection. */
class Wire {
  #socket
  #parts
  #taken

  constructor(socket, head = Buffer.alloc(0)) {
    this.#socket = socket
    // Whoever reads hears of it as the end.
    socket.on('error', () => {})
    this.#parts = socket[Symbol.asyncIterator]()
    this.#taken = head.toString()
  }

  say(text) {
    this.#socket.write(text)
  }

  /** Reads more; whether there was any. */
  async #more() {
    const { done, value } = await this.#parts.next().catch(() => ({ done: true }))
    if (!done) this.#taken += value
    return !done
  }

  /** What comes up to and with `end`. */
  async until(end) {
    while (!this.#taken.includes(end)) assert.ok(await this.#more(), `the connection ended after ${this.#taken}`)
    const length = this.#taken.indexOf(end) + end.length
    const text = this.#taken.slice(0, length)
    this.#taken = this.#taken.slice(length)
    return text
  }

  /** What comes up to the end of the connection. */
  async rest() {
    while (await this.#more());
    return this.#taken
  }

  end() {
    this.#socket.destroy()
  }
}
