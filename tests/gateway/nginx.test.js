// Debian's nginx with deploy/nginx: as it is shipped, and with a second Sluice that is down.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import https from 'node:https'
import { after, before, describe, test } from 'node:test'
import { certificate } from '../support/certificates.js'
import { startNginx, startNginxOfNodes } from '../support/proxies.js'
import { removeFolder, temporaryFolder } from '../support/sluice.js'
import { checks } from './checks.js'
import { setUp, TOKENS } from './given.js'

// nginx takes a method with small letters for none.
checks('nginx', startNginx, { smallLetters: 400 })

describe('nginx and what answers say', () => {
  const { check, ask } = setUp('nginx asked what answers say', startNginx)

  check('a refusal is kept by nobody, and what passes is as the application says', async () => {
    const [good, narrow] = [TOKENS.good.token, TOKENS.narrow.token]
    for (const [expected, path, token] of [[401, '/orders/7'], [401, '/orders/7', TOKENS.forged.token], [403, '/orders/7', narrow], [400, '//orders/7', good]]) {
      const { status, headers } = await ask(path, { token })
      assert.deepEqual([status, headers['cache-control']], [expected, 'no-store'], path)
    }
    const { status, headers } = await ask('/orders/7', { token: good })
    assert.deepEqual([status, headers['cache-control'], headers.ratelimit], [200, undefined, undefined])
  })

  check('a caller hears how it stands with the limits of its route', async () => {
    const { token } = TOKENS.other
    for (const expected of [200, 429]) {
      const { status, headers } = await ask('/rare', { token })
      assert.deepEqual([status, headers['ratelimit-policy']], [expected, '"subject";q=1;w=3600'])
      assert.match(headers.ratelimit, /^"subject";r=0;t=\d+$/)
      assert.equal(headers['cache-control'], status === 429 ? 'no-store' : undefined)
    }
  })
})

describe('nginx that asks one Sluice after the other', () => {
  const { running, check, ask } = setUp('nginx that asks one Sluice after the other', (ports) => startNginx({ ...ports, change: withOneThatIsDown }))

  check('what the second says counts', async () => {
    const { token } = TOKENS.good
    await ask('/rare', { token })
    const before = running.echo.count()
    // Every other question goes to the first of them first.
    for (let turn = 0; turn < 4; turn++) {
      const { status, headers } = await ask('/rare', { token })
      assert.deepEqual([status, Number(headers['retry-after']) > 0], [429, true])
      assert.equal((await ask('//orders/7', { token })).status, 400)
      assert.equal((await ask('/orders/7')).status, 401)
    }
    assert.equal(running.echo.count(), before)
  })
})

describe('nginx before the nodes of the server', () => {
  const BACK = 'https://app.example/back'
  const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
  const folder = temporaryFolder('nodes')
  const shown = certificate(folder, 'nginx')
  const node = new URL(process.env.SLUICE_ISSUER).port
  let nginx, client

  before(async () => {
    const made = await fetch(`${process.env.SLUICE_ADMIN_URL}/admin/clients`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: [BACK], scope: 'openid' }),
    })
    client = (await made.json()).client_id
  })

  after(() => removeFolder(folder))

  async function ask(path, { method = 'GET', headers, body } = {}) {
    const request = https.request(nginx.url + path, { method, headers, rejectUnauthorized: false })
    request.end(body)
    const [answer] = await once(request, 'response')
    answer.resume()
    return answer
  }

  async function inFrontOf(nodes, walk) {
    nginx = await startNginxOfNodes({ nodes, certificate: shown })
    try {
      await walk()
    } finally {
      await nginx.stop()
    }
  }

  const asked = (state) => new URLSearchParams({ client_id: client, response_type: 'code', redirect_uri: BACK, scope: 'openid', prompt: 'none', state })

  test('nodes.conf: a long answer comes through, and what is too long leaves no node out', () =>
    inFrontOf([node, node], async () => {
      for (let turn = 0; turn < 4; turn++) {
        const long = await ask(`/oauth2/auth?${asked('a'.repeat(8000))}`)
        assert.equal(new URL(long.headers.location).searchParams.get('state').length, 8000, `${long.statusCode}`)
        const longer = await ask('/oauth2/auth', { method: 'POST', headers: FORM, body: `${asked('a'.repeat(60_000))}` })
        assert.deepEqual([longer.statusCode, longer.headers.location], [400, undefined])
        const logout = await ask('/oauth2/sessions/logout', { method: 'POST', headers: FORM, body: `state=${'a'.repeat(60_000)}` })
        assert.deepEqual([logout.statusCode, logout.headers.location], [413, undefined])
      }
      assert.equal((await ask('/health/ready')).statusCode, 200)
    }))

  test('nodes.conf: a node that is down is passed over', () =>
    inFrontOf([node, 9], async () => {
      for (let turn = 0; turn < 6; turn++) assert.equal((await ask('/health/ready')).statusCode, 200)
    }))
})

/** Nothing listens on the port 9. */
function withOneThatIsDown(text) {
  const upstream = /upstream sluice \{/
  assert.match(text, upstream)
  return text.replace(upstream, '$&\n    server 127.0.0.1:9 max_fails=0;')
}
