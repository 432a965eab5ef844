// Debian's Varnish with deploy/varnish: as it is shipped, when it remembers verdicts, and over HTTP/2.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import http2 from 'node:http2'
import { describe } from 'node:test'
import { startVarnish } from '../support/proxies.js'
import { checks } from './checks.js'
import { rawly, setUp, TOKENS } from './given.js'

const options = { byRoute: false, anySign: false }
checks('varnish', startVarnish, options)
checks('varnish that remembers', (ports) => startVarnish({ ...ports, remember: '60s' }), { ...options, asksEachTime: false })

describe('varnish and hosts', () => {
  const { running, check } = setUp('varnish asked for hosts', startVarnish)

  check('what is no host, and none at all, is 400', async () => {
    for (const host of [[], ['host:'], ['host: user@admin.example'], ['host: admin.example/x'], ['host: a, b']]) {
      for (const version of ['1.0', '1.1']) {
        const lines = [`GET /orders/7 HTTP/${version}`, ...host, `authorization: Bearer ${TOKENS.good.token}`, 'connection: close']
        assert.match(await rawly(running.proxy.url, lines), /^HTTP\/1\.1 400 /, `${version} ${host}`)
      }
    }
    assert.equal(running.echo.count(), 0)
  })

  check('any other passes', async () => {
    for (const host of ['shop.example', 'Shop_1.example:8443', '127.0.0.1', '[2001:db8::1]:443']) {
      const lines = ['GET /orders/7 HTTP/1.1', `host: ${host}`, `authorization: Bearer ${TOKENS.good.token}`, 'connection: close']
      assert.match(await rawly(running.proxy.url, lines), /^HTTP\/1\.1 200 /, host)
    }
  })
})

describe('varnish over HTTP/2', () => {
  const start = (ports) => startVarnish({ ...ports, parameters: ['-p', 'feature=+http2'] })
  const { running, check } = setUp('varnish over HTTP/2', start)

  /** What is answered to a request whose body comes in two parts, its length untold. */
  async function ask(headers, parts = []) {
    const session = http2.connect(running.proxy.url)
    // Its streams end with it.
    session.on('error', () => {})
    try {
      const request = session.request({ ':path': '/orders', authorization: `Bearer ${TOKENS.good.token}`, ...headers }, { endStream: parts.length === 0 })
      for (const part of parts) request.write(part)
      if (parts.length > 0) request.end()
      const [head] = await Promise.race([once(request, 'response'), once(request, 'close')])
      assert.ok(head, 'the stream ended without an answer')
      const status = head[':status']
      let text = ''
      for await (const part of request.setEncoding('utf8')) text += part
      return { status, text }
    } finally {
      session.destroy()
    }
  }

  check('the body of a POST arrives, whose length nobody has told', async () => {
    const parts = [randomBytes(100_000), randomBytes(100_000)]
    const { status, text } = await ask({ ':method': 'POST' }, parts)
    assert.equal(status, 200, text)
    const seen = JSON.parse(text)
    assert.deepEqual([seen.method, seen.body.length], ['POST', 200_000])
    assert.equal(seen.body.sha256, createHash('sha256').update(Buffer.concat(parts)).digest('hex'))
  })

  check('one that is too large to be kept does not pass', async () => {
    const before = running.echo.count()
    // What is left of it is not read: the stream may end before the answer is heard.
    const answer = await ask({ ':method': 'POST' }, Array.from({ length: 12 }, () => randomBytes(100_000))).catch(() => undefined)
    assert.ok([undefined, 413].includes(answer?.status), `${answer?.status}`)
    assert.equal(running.echo.count(), before)
  })

  check('what has no body passes, and what is no host is 400', async () => {
    for (const [authority, expected] of [['shop.example', 200], ['user@admin.example', 400]]) {
      assert.equal((await ask({ ':authority': authority })).status, expected, authority)
    }
  })
})
