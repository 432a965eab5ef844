// Caddy with deploy/caddy: Debian's, and the newest.
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { startCaddy, startNewCaddy } from '../support/proxies.js'
import { checks } from './checks.js'
import { setUp } from './given.js'

// Caddy 2.6 does not see that a request is in chunks.
checks('caddy', startCaddy, { tellsOf: ['a length'] })
checks('caddy-new', startNewCaddy, { tellsOf: ['a length'] })

describe('the newest caddy and bodies in chunks', () => {
  const { running, check, ask } = setUp('caddy-new asked with chunks', startNewCaddy)

  check('a preflight with such a body is 411', async () => {
    const headers = { origin: 'https://shop.example', 'access-control-request-method': 'PUT', 'transfer-encoding': 'chunked' }
    const { status } = await ask('/preflights/7', { method: 'OPTIONS', headers, body: Buffer.from('do something'), chunked: true })
    assert.equal(status, 411)
    assert.equal(running.echo.count(), 0)
  })
})
