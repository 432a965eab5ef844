// Debian's Varnish with deploy/varnish: as it is shipped, when it remembers verdicts, and over HTTP/2.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import http2 from 'node:http2'
import { describe } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startVarnish } from '../support/proxies.js'
import { anAddress, checks, decisionsAbout, revokeWith } from './checks.js'
import { rawly, setUp, TOKENS } from './given.js'

const options = { byRoute: false, anySign: false }
checks('varnish', startVarnish, options)
checks('varnish that remembers', (ports) => startVarnish({ ...ports, remember: '60s' }), { ...options, asksEachTime: false })

describe('varnish without a token', () => {
  const { running, check, ask } = setUp('varnish asked without a token', startVarnish)

  check('the answer is 401, which nobody is asked for', async () => {
    await running.relay.cut()
    try {
      for (const headers of [{}, { cookie: `access_token=${TOKENS.good.token}` }, { 'oauth-token': TOKENS.good.token }]) {
        const { status, headers: answer } = await ask('/orders/7', { headers })
        assert.deepEqual([status, answer['www-authenticate']], [401, 'Bearer'], JSON.stringify(headers))
      }
      assert.equal((await ask('/orders/7', { token: TOKENS.good.token })).status, 502)
    } finally {
      await running.relay.mend()
    }
  })
})

describe('varnish that remembers, and revoked tokens', () => {
  const { running, check, ask } = setUp('varnish that remembers a yes', (ports) => startVarnish({ ...ports, remember: '60s' }))

  check('a no is never remembered: each request with a revoked token is asked about', async () => {
    const { token, revoke } = TOKENS.spare['varnish-never']
    await revokeWith(revoke)
    const localAddress = anAddress()
    for (let turn = 0; turn < 2; turn++) assert.equal((await ask('/orders/7', { token, localAddress })).status, 401)
    assert.equal((await decisionsAbout([localAddress], 2)).length, 2)
    assert.equal(running.echo.count(), 0)
  })

  check('what is remembered passes while Sluice cannot be asked', async () => {
    const localAddress = anAddress()
    const good = { token: TOKENS.good.token, localAddress }
    assert.equal((await ask('/orders/7', good)).status, 200)
    await running.relay.cut()
    try {
      assert.equal((await ask('/orders/7', good)).status, 200)
    } finally {
      await running.relay.mend()
    }
    assert.equal((await decisionsAbout([localAddress], 1)).length, 1)
  })
})

describe('varnish that remembers for a second', () => {
  const { check, ask } = setUp('varnish that remembers for a second', (ports) => startVarnish({ ...ports, remember: '1s' }))

  check('a yes ends with its time: a token that was revoked meanwhile is 401 then', async () => {
    const { token, revoke } = TOKENS.spare['varnish-briefly']
    const localAddress = anAddress()
    const began = Date.now()
    assert.equal((await ask('/orders/7', { token, localAddress })).status, 200)
    await revokeWith(revoke)
    const { status } = await ask('/orders/7', { token, localAddress })
    // On a slow machine the second may be over by now.
    if (Date.now() - began < 900) assert.equal(status, 200)
    await sleep(1_200)
    assert.equal((await ask('/orders/7', { token, localAddress })).status, 401)
  })
})

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

describe('varnish and paths', () => {
  const { running, check, ask } = setUp('varnish asked for paths', startVarnish)

  check('a path with an escaped `%`, `?` or `#`, a `;` or `//` is 400: the policy cannot read it as an application may', async () => {
    for (const path of ['/orders%3f', '/orders%3Fx=1', '/orders%23', '/basket%23/7', '/orders%253f', '/basket//7', '/basket;x/7']) {
      for (const caller of [TOKENS.good, TOKENS.narrow]) assert.equal((await ask(path, { token: caller.token })).status, 400, path)
    }
    assert.equal(running.echo.count(), 0)
    assert.equal((await ask('/basket?next=%3f%23%25;//', { token: TOKENS.narrow.token })).status, 200)
  })
})

describe('varnish that remembers, and headers of several lines', () => {
  const { running, check } = setUp('varnish that remembers a token', (ports) => startVarnish({ ...ports, remember: '60s' }))
  const bearer = (token) => `authorization: Bearer ${token}`

  async function statusOf(...lines) {
    const [, status] = (await rawly(running.proxy.url, ['GET /orders/7 HTTP/1.1', 'host: app', ...lines, 'connection: close'])).match(/^HTTP\/1\.1 (\d+) /)
    return Number(status)
  }

  check('a second token is not passed over because the first is remembered', async () => {
    const good = bearer(TOKENS.good.token)
    assert.equal(await statusOf(good), 200)
    const before = running.echo.count()
    for (const second of [bearer(TOKENS.forged.token), bearer(TOKENS.other.token), 'authorization: Basic bWU6bWU=']) {
      for (const lines of [[good, second], [second, good]]) assert.ok([400, 401].includes(await statusOf(...lines)), second)
    }
    assert.equal(running.echo.count(), before)
    assert.equal(await statusOf(good), 200)
  })
})

describe('varnish and bodies that are too large', () => {
  const { running, check, ask } = setUp('varnish asked with large bodies', startVarnish)
  const post = { method: 'POST', token: TOKENS.good.token }

  check('one whose length is told is 413', async () => {
    const { status, headers } = await ask('/orders', { ...post, body: Buffer.alloc(1_048_577) })
    assert.deepEqual([status, headers['content-type']], [413, 'application/problem+json'])
    assert.equal(running.echo.count(), 0)
    assert.equal((await ask('/orders', { ...post, body: Buffer.alloc(1_000_000) })).status, 200)
  })

  check('nobody waits for one of gigabytes: its answer comes at once and ends the connection', async () => {
    const before = running.echo.count()
    const token = `authorization: Bearer ${TOKENS.good.token}`
    for (const [path, lines, status] of [['/orders', [token], 413], ['/orders', [], 401], ['//orders', [token], 400]]) {
      const head = [`POST ${path} HTTP/1.1`, 'host: app', 'content-length: 5000000000', ...lines]
      const answer = await rawly(running.proxy.url, head)
      assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} [^]*\r\nconnection: close\r\n`, 'i'), answer)
    }
    assert.equal(running.echo.count(), before)
  })

  check('one in chunks does not pass', async () => {
    const before = running.echo.count()
    const answer = await ask('/orders', { ...post, body: Buffer.alloc(1_200_000), chunked: true }).catch(() => undefined)
    assert.ok([undefined, 413].includes(answer?.status), `${answer?.status}`)
    assert.equal(running.echo.count(), before)
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

  check('one that is too large to be kept does not pass, and is 413 if its length is told', async () => {
    const before = running.echo.count()
    const parts = Array.from({ length: 12 }, () => randomBytes(100_000))
    assert.equal((await ask({ ':method': 'POST', 'content-length': '1200000' }, parts)).status, 413)
    // Of one whose length nobody told Varnish ends the stream without an answer.
    const answer = await ask({ ':method': 'POST' }, parts).catch(() => undefined)
    assert.ok([undefined, 413].includes(answer?.status), `${answer?.status}`)
    assert.equal(running.echo.count(), before)
  })

  check('what has no body passes, and what is no host is 400', async () => {
    for (const [authority, expected] of [['shop.example', 200], ['user@admin.example', 400]]) {
      assert.equal((await ask({ ':authority': authority })).status, expected, authority)
    }
  })
})
