// Debian's HAProxy with deploy/haproxy: as it is shipped, and with a Lua that fails.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http2 from 'node:http2'
import { describe } from 'node:test'
import { startHaproxy } from '../support/proxies.js'
import { checks } from './checks.js'
import { rawly, setUp, TOKENS } from './given.js'

checks('haproxy', startHaproxy)

describe('haproxy and requests without a host', () => {
  const { running, check } = setUp('haproxy asked without a host', startHaproxy)

  check('one that names it in the target alone is 400', async () => {
    for (const target of ['http://admin.example/orders/7', '/orders/7']) {
      const said = await rawly(running.proxy.url, [`GET ${target} HTTP/1.0`, `authorization: Bearer ${TOKENS.good.token}`])
      assert.match(said, /^HTTP\/1\.[01] 400 /)
    }
    assert.equal(running.echo.count(), 0)
  })
})

describe('haproxy and WebSockets over HTTP/2', () => {
  const { running, check } = setUp('haproxy over HTTP/2', (ports) => startHaproxy({ ...ports, bind: 'proto h2' }))

  check('no page of another site opens one with a cookie (RFC 8441)', async () => {
    const session = http2.connect(running.proxy.url)
    await once(session, 'remoteSettings')
    assert.ok(session.remoteSettings.enableConnectProtocol)
    for (const [origin, expected] of [
      ['https://evil.example', 403],
      ['http://shop.example', 200],
    ]) {
      const stream = session.request({
        ':method': 'CONNECT',
        ':protocol': 'websocket',
        ':scheme': 'http',
        ':authority': 'shop.example',
        ':path': '/kept/7',
        'sec-websocket-version': '13',
        cookie: `access_token=${TOKENS.good.token}`,
        origin,
      })
      const [headers] = await once(stream, 'response')
      assert.equal(headers[':status'], expected, origin)
      stream.close()
    }
    assert.equal(running.echo.count(), 1)
    session.destroy()
  })
})

const FAILURES = {
  'before it asks': (lua) => broken(lua, 'local answer = ', 'error("broken")\n    local answer = '),
  'with the answer in its hands': (lua) => broken(lua, 'local status = ', 'error("broken")\n    local status = '),
}

function broken(lua, line, instead) {
  assert.ok(lua.includes(line), `sluice.lua has no "${line}"`)
  return lua.replace(line, instead)
}

for (const [when, damage] of Object.entries(FAILURES)) {
  describe(`haproxy whose Lua fails ${when}`, () => {
    const { running, check, ask } = setUp(`haproxy whose Lua fails ${when}`, (ports) => startHaproxy({ ...ports, damage }))

    check('nobody passes', async () => {
      for (const token of [TOKENS.good.token, undefined]) assert.equal((await ask('/orders/7', { token })).status, 502)
      assert.equal(running.echo.count(), 0)
    })
  })
}
