// Traefik with deploy/traefik: as it is shipped, and with a rule for the application that is longer than any other.
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { startTraefik } from '../support/proxies.js'
import { checks } from './checks.js'
import { rawly, setUp, TOKENS } from './given.js'

// Traefik hands on what a client asks for, says of no request whether it has a body, and goes by the path that it has cleaned.
const options = { upgrades: ['http2-settings'], tellsOf: [], cleansPaths: true }

checks('traefik', startTraefik, options)

const rule = `HostRegexp(\`.+\`) || Path(\`/${'long'.repeat(100)}\`)`
checks('traefik-long', (ports) => startTraefik({ ...ports, rule }), options)

describe('traefik and requests without a host', () => {
  const { running, check } = setUp('traefik asked without a host', startTraefik)

  check('one leads to no application', async () => {
    for (const head of ['GET /orders/7 HTTP/1.0', 'GET /orders/7 HTTP/1.1\r\nhost:\r\nconnection: close']) {
      const said = await rawly(running.proxy.url, [head, `authorization: Bearer ${TOKENS.good.token}`])
      assert.match(said, /^HTTP\/1\.[01] 40[04] /)
    }
    assert.equal(running.echo.count(), 0)
  })
})
