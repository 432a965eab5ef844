// What every proxy must do with the configuration that is shipped for it, whichever it is.
import assert from 'node:assert/strict'
import { createHash, randomBytes, randomInt } from 'node:crypto'
import fs from 'node:fs'
import { describe } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { boundTokens, noBoundTokens } from './bound-tokens.js'
import { rawly, setUp, told, TOKENS } from './given.js'
import { connect, websockets } from './websockets.js'

/**
 * Tests the proxy that `start({ sluice, app })` starts. `byRoute`: each request is judged under its route, not its token alone.
 * `asksEachTime`: nothing is remembered. `spare`: the name of the token that these tests may revoke. `tellsOf`: which bodies of requests
 * Sluice is told of. `smallLetters`: what is answered to a method with such. `anySign`: names are known whatever sign
 * stands for a dash in them. `keepsTokens`: the proxy takes tokens from requests where their route says so. `cleansPaths`: it goes by a path without
 * dots and empty segments. `refusal`: how what is answered to a request for a WebSocket ends that the application does not open.
 */
export function checks(name, start, options = {}) {
  const { byRoute = true, asksEachTime = true, spare = name, upgrades = ['upgrade', 'http2-settings'], tellsOf = ['a length', 'chunks'] } = options
  const { smallLetters = 501, anySign = true, keepsTokens = false, cleansPaths = false, refusal = '"}}' } = options
  // A suite of its own: what was started for it is stopped after its last test, and not after those of another.
  describe(name, () => {
    const setup = setUp(name, start)
    goodTokens(setup)
    refusals(setup)
    largeHeads(setup)
    forgedHeaders(setup, anySign)
    otherHosts(setup)
    otherMounts(setup)
    if (byRoute) certificates(setup)
    otherProtocols(setup, upgrades)
    websockets(setup, refusal)
    if (byRoute) boundTokens(setup)
    else noBoundTokens(setup)
    bodies(setup)
    if (byRoute) preflights(setup, tellsOf)
    manyCallers(setup)
    if (asksEachTime) revocation(setup, spare)
    else memory(setup)
    paths(setup, cleansPaths)
    addresses(setup)
    if (byRoute) hosts(setup)
    if (byRoute) routes(setup, smallLetters)
    if (keepsTokens) keptTokens(setup)
    metadata(setup, byRoute, cleansPaths)
    outage(setup, asksEachTime)
  })
}

function goodTokens({ check, ask }) {
  check('a good token passes, and the application is told who calls', async () => {
    const { status, text, seen } = await ask('/orders/7?page=2&page=3', { token: TOKENS.good.token })
    assert.equal(status, 200, text)
    assert.equal(seen.method, 'GET')
    assert.equal(seen.url, '/orders/7?page=2&page=3')
    assert.deepEqual(told(seen, 'oauth-user-id'), [TOKENS.good.user])
    assert.deepEqual(told(seen, 'oauth-client-id'), [TOKENS.good.client])
    const [scope, ...more] = told(seen, 'oauth-user-scope')
    assert.deepEqual(scope.split(' ').sort(), TOKENS.good.scope.split(' ').sort())
    assert.deepEqual(more, [])
  })

  check('a token that is a JWT passes too', async () => {
    const { status, seen } = await ask('/orders/7', { token: TOKENS.jwt.token })
    assert.equal(status, 200)
    assert.deepEqual(told(seen, 'oauth-user-id'), [TOKENS.jwt.user])
  })

  check('a token to which much was granted passes with all of it', async () => {
    const { token, client, scope } = TOKENS.wide
    const { status, text, seen } = await ask('/orders/7', { token })
    assert.equal(status, 200, text)
    assert.deepEqual(told(seen, 'oauth-client-id'), [client])
    assert.deepEqual(told(seen, 'oauth-user-scope').join().split(' ').sort(), scope.split(' ').sort())
  })
}

function refusals({ check, ask }) {
  check('without a token it is 401, with a challenge and no error code', async () => {
    const { status, headers } = await ask('/orders/7')
    assert.equal(status, 401)
    assert.match(headers['www-authenticate'], /^Bearer\b/)
    assert.doesNotMatch(headers['www-authenticate'], /error=/)
  })

  for (const kind of ['forged', 'expired', 'revoked']) {
    check(`a token that is ${kind} is 401 invalid_token`, async () => {
      const { status, headers } = await ask('/orders/7', { token: TOKENS[kind].token })
      assert.equal(status, 401)
      assert.match(headers['www-authenticate'], /error="invalid_token"/)
    })
  }

  check('a token without the scope is 403 insufficient_scope, and passes where none is asked for', async () => {
    const { status, headers } = await ask('/orders/7', { token: TOKENS.narrow.token })
    assert.equal(status, 403)
    assert.match(headers['www-authenticate'], /error="insufficient_scope"/)
    assert.equal((await ask('/basket', { token: TOKENS.narrow.token })).status, 200)
  })
}

function largeHeads(setup) {
  const { check, ask, running } = setup
  check('a request that may be too large to be asked about does not pass unasked', async () => {
    const before = running.echo.count()
    // The question is larger than the request: some have the host twice in it. So one of these fits where its question does not.
    for (let length = 2000; length <= 7000; length += 500) {
      const headers = { host: 'h'.repeat(4000), 'x-one': 'x'.repeat(length), 'x-other': 'x'.repeat(length) }
      // Those that are too large for the proxy may be cut.
      const answer = await ask('/orders/7', { headers }).catch(() => undefined)
      assert.notEqual(answer?.status, 200)
    }
    assert.equal(running.echo.count(), before)
  })

  check('a request of many header lines passes with all that Sluice says, or not at all', async () => {
    for (let count = 30; count <= 105; count++) {
      const headers = Object.fromEntries(Array.from({ length: count }, (_, line) => [`x-line-${line}`, '1']))
      await passesWhole(setup, headers, `${count} lines`, count <= 40)
    }
  })

  check('so does one that leaves little room for what Sluice says', async () => {
    // Of these two nothing is in the question of some, so that it fits where the request does.
    for (const length of [6000, ...Array.from({ length: 50 }, (_, turn) => 6800 + 10 * turn)]) {
      const headers = { host: 'h'.repeat(880), 'content-type': 'x'.repeat(length), 'content-encoding': 'x'.repeat(length) }
      await passesWhole(setup, headers, `twice ${length} bytes`, length === 6000)
    }
  })
}

/** Asks with these headers, with a token and without. What reaches the application must have all that Sluice says of the caller; `must`: it reaches it. */
async function passesWhole({ ask, running }, headers, what, must) {
  const { token, user, client } = TOKENS.good
  for (const given of [token, undefined]) {
    const before = running.echo.count()
    // What is too large for the proxy may be cut.
    const answer = await ask('/orders/7', { token: given, headers }).catch(() => undefined)
    if (running.echo.count() === before) {
      assert.ok(!given || !must, `${what} are ${answer?.status}`)
      continue
    }
    assert.ok(given && answer?.seen, `${what} pass as ${answer?.status}${given ? '' : ', without a token'}`)
    for (const [header, value] of [['oauth-user-id', user], ['oauth-client-id', client]]) assert.deepEqual(told(answer.seen, header), [value], what)
    assert.equal(told(answer.seen, 'oauth-user-scope').length, 1, what)
  }
  assert.equal((await ask('/basket', { token })).status, 200, `after ${what}`)
}

function forgedHeaders({ check, ask }, anySign) {
  const forged = {
    'OAuth-User-Id': 'mallory',
    OAUTH_USER_ID: 'mallory',
    'OAuth-User_Id': 'mallory',
    'oauth-user-scope': 'everything',
    oauth_user_scope: 'everything',
    'OAuth-Client-Id': 'mallory',
    OAuth_Client_Id: 'mallory',
    'OAuth-Country': 'XX',
    OAuth_Country: 'XX',
    ...(anySign && { 'OAuth.User.Id': 'mallory', 'oauth.client_id': 'mallory', 'oauth~user-scope': 'everything' }),
  }

  function assertNothingForged(seen) {
    assert.deepEqual(seen.headers.filter(([, value]) => /mallory|everything|^XX$/.test(value)), [])
  }

  check('what a client says about itself does not arrive, however it is spelled', async () => {
    const { seen, text } = await ask('/orders/7', { token: TOKENS.good.token, headers: forged })
    assert.ok(seen, text)
    assert.deepEqual(told(seen, 'oauth-user-id'), [TOKENS.good.user])
    assert.deepEqual(told(seen, 'oauth-client-id'), [TOKENS.good.client])
    assertNothingForged(seen)
  })

  check('a client takes nothing away that Sluice says', async () => {
    const connection = 'close, OAuth-User-Id, OAuth-Client-Id'
    const { seen, text } = await ask('/orders/7', { token: TOKENS.good.token, headers: { connection } })
    assert.ok(seen, text)
    assert.deepEqual(told(seen, 'oauth-user-id'), [TOKENS.good.user])
    assert.deepEqual(told(seen, 'oauth-client-id'), [TOKENS.good.client])
    // The application may be a proxy itself.
    assert.doesNotMatch(told(seen, 'connection').join(), /oauth/i)
  })

  check('no client sets HTTP_PROXY of a CGI program', async () => {
    const { seen, text } = await ask('/orders/7', { token: TOKENS.good.token, headers: { proxy: 'http://mallory.example' } })
    assert.ok(seen, text)
    assert.deepEqual(told(seen, 'proxy'), [])
  })

  check('a client that acts for itself is nobody, whatever it says', async () => {
    const { seen, text } = await ask('/basket', { token: TOKENS.narrow.token, headers: forged })
    assert.ok(seen, text)
    assert.deepEqual(told(seen, 'oauth-user-id'), [])
    assert.deepEqual(told(seen, 'oauth-client-id'), [TOKENS.narrow.client])
    assertNothingForged(seen)
  })
}

function otherHosts({ check, ask }) {
  check('no other host arrives than the one that was judged', async () => {
    const other = 'admin.example'
    const headers = {
      Forwarded: `for=203.0.113.9;host=${other}`,
      'X-Forwarded-Host': other,
      X_Forwarded_Host: other,
      'X-Forwarded_Host': other,
      'X_Forwarded-Host': other,
      'X-Forwarded-Prefix': `/${other}`,
      'X-Forwarded-Server': other,
      'X-Forwarded-Port': other,
      'X-Real-Ip': other,
      'X-Real_Ip': other,
      X_Real_Ip: other,
    }
    const { seen, text } = await ask('/orders/7', { token: TOKENS.good.token, headers })
    assert.ok(seen, text)
    assert.deepEqual(seen.headers.filter(([, value]) => value.includes(other)), [])
  })
}

/** Names by which servers of applications and frameworks are told below which path they are, or on which host. */
export const MOUNTS = ['Script-Name', 'Path-Info', 'X-Script-Name', 'X-Vhm-Root', 'X-Vhm-Host', 'Daphne-Root-Path']

function otherMounts({ check, ask }) {
  check('no client says below which path the application is', async () => {
    const names = MOUNTS.flatMap((name) => [name, name.replaceAll('-', '_')])
    const headers = Object.fromEntries(names.map((name) => [name, '/mallory']))
    const { seen, text } = await ask('/orders/7', { token: TOKENS.good.token, headers })
    assert.ok(seen, text)
    assert.deepEqual(seen.headers.filter(([, value]) => value.includes('mallory')), [])
  })
}

function certificates({ check, ask }) {
  check('no certificate arrives that a client says to have', async () => {
    const names = ['Client-Cert', 'Client_Cert', 'Client-Cert-Chain', 'Client-Cert_Chain', 'X-Forwarded-Client-Cert', 'X-Forwarded-Client_Cert']
    const headers = Object.fromEntries(names.map((name) => [name, ':bWFsbG9yeQ==:']))
    const { seen, text } = await ask('/orders/7', { token: TOKENS.good.token, headers })
    assert.ok(seen, text)
    assert.deepEqual(seen.headers.filter(([, value]) => value.includes('bWFsbG9yeQ')), [])
  })
}

function otherProtocols({ check, ask, running }, upgrades) {
  check('inside another protocol nothing could be asked about: only WebSocket is upgraded to', async () => {
    const headers = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABkAAQAAP__' }
    const { status, seen } = await ask('/orders/7', { token: TOKENS.good.token, headers })
    assert.equal(status, 200)
    for (const header of upgrades) assert.deepEqual(told(seen, header), [])
  })

  if (!upgrades.includes('upgrade')) return
  for (const upgrade of [['h2c, websocket'], ['websocket', 'h2c'], ['h2c', 'websocket']]) {
    check(`nor is another named beside it: ${upgrade.join(' and ')}`, async () => {
      const { status, text, socket } = await connect(running.proxy.url, '/orders/7', TOKENS.good.token, upgrade)
      assert.ok([101, 200, 400, 403].includes(status), `${status}`)
      const seen = status === 101 ? JSON.parse(await socket.until('\n')) : status === 200 && JSON.parse(text)
      socket?.end()
      if (seen) assert.deepEqual(told(seen, 'upgrade').filter((value) => value !== 'websocket'), [])
    })
  }
}

function bodies({ check, ask }) {
  for (const chunked of [false, true]) {
    check(`the body of a POST arrives${chunked ? ', in chunks too' : ''}`, async () => {
      const body = randomBytes(200_000)
      const { seen, text } = await ask('/orders', { token: TOKENS.good.token, method: 'POST', body, chunked })
      assert.ok(seen, text)
      assert.equal(seen.method, 'POST')
      assert.deepEqual(seen.body, { length: body.length, sha256: createHash('sha256').update(body).digest('hex') })
    })
  }
}

function preflights({ check, ask, running }, tellsOf) {
  const preflight = { origin: 'https://shop.example', 'access-control-request-method': 'PUT' }

  check('a preflight passes without a token where its route lets it', async () => {
    const { status, seen } = await ask('/preflights/7', { method: 'OPTIONS', headers: preflight })
    assert.deepEqual([status, seen?.method], [200, 'OPTIONS'])
  })

  check('a page may read why it was refused where its preflights pass, and there alone', async () => {
    const { origin } = preflight
    for (const [path, allowed, token] of [['/preflights/7', '*'], ['/orders/7', undefined], ['/preflights/7', undefined, TOKENS.good.token]]) {
      const { status, headers } = await ask(path, { headers: { origin }, token })
      assert.deepEqual([status, headers['access-control-allow-origin']], [token ? 200 : 401, allowed], path)
      if (allowed) assert.match(headers['access-control-expose-headers'], /\bDPoP-Nonce\b/)
    }
  })

  check('one that asks for another protocol is none', async () => {
    const before = running.echo.count()
    const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==' }
    const { status } = await ask('/preflights/7', { method: 'OPTIONS', headers: { ...preflight, ...upgrade } })
    assert.ok([400, 401].includes(status), `${status}`)
    assert.equal(running.echo.count(), before)
  })

  for (const what of tellsOf) {
    const chunked = what === 'chunks'
    // Of itself Node frames no body of such a request.
    const headers = chunked ? { ...preflight, 'transfer-encoding': 'chunked' } : preflight
    check(`one with a body in ${what} is none`, async () => {
      const before = running.echo.count()
      const { status } = await ask('/preflights/7', { method: 'OPTIONS', headers, body: Buffer.from('do something'), chunked })
      assert.equal(status, 401)
      assert.equal(running.echo.count(), before)
    })
  }
}

function manyCallers({ check, ask }) {
  check('many at once are told each about their own caller', async () => {
    const turns = Array.from({ length: 60 }, (_, turn) => (turn % 2 === 0 ? TOKENS.good : TOKENS.other))
    const answers = await Promise.all(turns.map((caller) => ask('/orders/7', { token: caller.token })))
    for (const [turn, { seen, status }] of answers.entries()) {
      assert.equal(status, 200)
      assert.deepEqual(told(seen, 'oauth-user-id'), [turns[turn].user])
    }
  })
}

function revocation({ check, ask }, spare) {
  check('a token that is revoked between two requests is refused', async () => {
    const { token, revoke } = TOKENS.spare[spare]
    assert.equal((await ask('/orders/7', { token })).status, 200)
    await revokeWith(revoke)
    assert.equal((await ask('/orders/7', { token })).status, 401)
  })
}

/** Revokes a token of `TOKENS.spare`: with the `request` that is beside it. */
export async function revokeWith(request) {
  const response = await fetch(request.url, { method: 'POST', headers: request.headers, body: new URLSearchParams(request.form) })
  assert.equal(response.status, 200)
}

function memory({ check, ask }) {
  check('a yes is remembered about one certificate', async () => {
    const localAddress = anAddress()
    for (const certificate of [':b25l:', ':b3RoZXI=:', [':b25l:', ':b3RoZXI=:']]) {
      for (const header of ['client-cert', 'x-forwarded-client-cert']) {
        const headers = { [header]: certificate }
        assert.equal((await ask('/orders/7', { token: TOKENS.good.token, headers, localAddress })).status, 200)
      }
    }
    await decisionsAbout([localAddress], 6)
  })
}

function addresses({ check, ask }) {
  check('the address of a client is that of its connection, whatever it says', async () => {
    const clients = [anAddress(), anAddress()]
    const headers = { 'x-forwarded-for': '203.0.113.9', forwarded: 'for=203.0.113.9', 'x-real-ip': '203.0.113.9', 'oauth-ip': '203.0.113.9' }
    for (const localAddress of clients) {
      assert.equal((await ask('/orders/7', { token: TOKENS.good.token, headers, localAddress })).status, 200)
    }
    assert.deepEqual(new Set(await decisionsAbout(clients, 2)), new Set(clients))
  })
}

/** An address of this machine that nobody else calls from. */
export function anAddress() {
  return `127.${randomInt(1, 255)}.${randomInt(1, 255)}.${randomInt(1, 255)}`
}

/** Waits until Sluice has taken one of `addresses` for the client's in `count` decisions: their lines come a moment late. */
export async function decisionsAbout(addresses, count) {
  const deadline = Date.now() + 5000
  let clients
  do {
    const lines = fs.readFileSync(process.env.SLUICE_ACCESS_LOG, 'utf8').split('\n').slice(0, -1)
    clients = lines.map((line) => JSON.parse(line).client)
    const found = clients.filter((client) => addresses.includes(client))
    if (found.length >= count) return found
    await sleep(20)
  } while (Date.now() < deadline)
  assert.fail(`of ${addresses} Sluice has not made ${count} decisions; the last clients were ${clients.slice(-count)}`)
}

function paths({ check, ask, running }, cleansPaths) {
  const unclean = ['/basket/../orders/7', '/basket/%2e%2e/orders/7', '/./orders/7', '//orders/7']
  const ambiguous = [
    ...(cleansPaths ? [] : unclean),
    '/basket/..%2forders',
    '/orders;x/7',
    '/orders%2f7',
    '/basket\\..\\orders',
    '/basket/..%5corders',
    '/%c0%aforders/7',
    '/orders%00',
  ]
  for (const path of ambiguous) {
    check(`a path that can be read in two ways is 400: ${path}`, async () => {
      const before = running.echo.count()
      assert.equal((await ask(path, { token: TOKENS.narrow.token })).status, 400)
      assert.equal(running.echo.count(), before)
    })
  }

  if (cleansPaths) {
    check('a path is judged as it goes on: clean', async () => {
      const before = running.echo.count()
      for (const path of unclean) assert.equal((await ask(path, { token: TOKENS.narrow.token })).status, 403, path)
      assert.equal(running.echo.count(), before)
      for (const path of unclean) assert.equal((await ask(path, { token: TOKENS.good.token })).seen?.url, '/orders/7', path)
    })
  }

  check('a path in other letters needs what the path needs, if it is not 400', async () => {
    const before = running.echo.count()
    for (const path of ['/%6frders/7', '/%6Frders', '/or%64er%73/7']) {
      const { status } = await ask(path, { token: TOKENS.narrow.token })
      assert.ok([400, 403].includes(status), `${path} is ${status}`)
    }
    assert.equal(running.echo.count(), before)
  })

  check('a path that is only unusual passes, as it came', async () => {
    for (const path of ['/gr%C3%B6%C3%9Fe%20x', '/.well-known/x', '/..a/b./...', '/basket/a+b,c=d:e@f/?next=//..%2f']) {
      const { status, seen } = await ask(path, { token: TOKENS.narrow.token })
      assert.deepEqual([status, seen?.url], [200, path])
    }
  })
}

function hosts({ check, ask, running }) {
  check('what is no host leads to no route: 400', async () => {
    const before = running.echo.count()
    for (const host of ['www.example:80@admin.example', 'user@admin.example', 'admin%2eexample']) {
      const { status } = await ask('/orders/7', { token: TOKENS.good.token, headers: { host } })
      assert.equal(status, 400, host)
    }
    assert.equal(running.echo.count(), before)
  })
}

function routes({ check, ask, running }, smallLetters) {
  check('a method in small letters is not served', async () => {
    const before = running.echo.count()
    const lines = ['delete /orders/7 HTTP/1.1', 'host: app', `authorization: Bearer ${TOKENS.good.token}`, 'connection: close']
    const [, status] = (await rawly(running.proxy.url, lines)).match(/^HTTP\/1\.1 (\d+) /)
    assert.equal(Number(status), smallLetters)
    assert.equal(running.echo.count(), before)
  })

  check('too many requests are 429, with the time to wait', async () => {
    await ask('/rare', { token: TOKENS.good.token })
    const { status, headers } = await ask('/rare', { token: TOKENS.good.token })
    assert.equal(status, 429)
    assert.ok(Number(headers['retry-after']) > 0)
  })

  check('a client that calls too often keeps none out that calls from another address', async () => {
    const [one, other] = [anAddress(), anAddress()]
    const statuses = []
    for (const localAddress of [one, one, other]) statuses.push((await ask('/shared', { token: TOKENS.good.token, localAddress })).status)
    assert.deepEqual(statuses, [200, 429, 200])
  })
}

function keptTokens({ check, ask }) {
  check('a token that the application is not to have does not arrive, and all else does', async () => {
    const { token } = TOKENS.good
    const bearer = await ask('/kept/7', { token })
    assert.ok(bearer.seen, bearer.text)
    assert.deepEqual(told(bearer.seen, 'authorization'), [])
    for (const [cookie, left] of [[`theme=dark; access_token=${token}`, ['theme=dark']], [`access_token=${token}`, []]]) {
      const { seen, text } = await ask('/kept/7', { headers: { cookie } })
      assert.ok(seen, text)
      assert.deepEqual(told(seen, 'oauth-user-id'), [TOKENS.good.user])
      assert.deepEqual(told(seen, 'cookie'), left)
    }
  })
}

function metadata({ check, ask, running }, byRoute, cleansPaths) {
  const headers = { host: 'shop.example' }
  const path = '/.well-known/oauth-protected-resource/documented'

  if (byRoute) {
    check('a 401 points to what is said about the resource', async () => {
      const { status, headers: answer } = await ask('/documented', { headers })
      assert.equal(status, 401)
      assert.ok(answer['www-authenticate'].includes(`resource_metadata="https://shop.example${path}"`), answer['www-authenticate'])
    })
  }

  check('what is said about a resource is open to all, and nothing else is there', async () => {
    const before = running.echo.count()
    const document = await ask(path, { headers })
    assert.equal(document.status, 200, document.text)
    assert.match(document.headers['content-type'], /^application\/json/)
    assert.equal(JSON.parse(document.text).resource, 'https://shop.example/documented')
    for (const other of [`${path}/7`, '/.well-known/oauth-protected-resource']) assert.equal((await ask(other, { headers })).status, 401, other)
    assert.equal(running.echo.count(), before)
  })

  check('no way leads from there to the application', async () => {
    const before = running.echo.count()
    for (const up of ['..', '%2e%2e']) {
      // Where the proxy leads there, the gateway judges by itself: it may find the route good, and has no application here.
      for (const token of cleansPaths ? [undefined] : [TOKENS.good.token, undefined]) {
        const { status } = await ask(`/.well-known/oauth-protected-resource/${up}/orders`, { token })
        assert.ok(status >= 400, `${up} is ${status}`)
      }
    }
    assert.equal(running.echo.count(), before)
  })

  if (!cleansPaths) return
  check('what is beside it, clean, is judged as any other path', async () => {
    const { status, seen } = await ask('/.well-known/oauth-protected-resource/../orders', { token: TOKENS.good.token })
    assert.deepEqual([status, seen?.url], [200, '/.well-known/orders'])
    assert.deepEqual(told(seen, 'oauth-user-id'), [TOKENS.good.user])
  })
}

function outage({ check, ask, running }, asksEachTime) {
  const { token } = TOKENS.good
  // What is remembered is remembered about one address.
  const good = () => (asksEachTime ? { token } : { token, localAddress: anAddress() })

  async function mended() {
    await running.relay.mend()
    const deadline = Date.now() + 10_000
    let status
    do {
      ;({ status } = await ask('/orders/7', good()))
    } while (status !== 200 && Date.now() < deadline)
    assert.equal(status, 200)
  }

  check('while Sluice cannot be asked it is 502, and afterwards as before', async () => {
    await running.relay.cut()
    assert.equal((await ask('/orders/7', good())).status, 502)
    await mended()
  })

  check('a Sluice that does not answer keeps nobody waiting for ever, and lets nobody pass', async () => {
    const before = running.echo.count()
    running.relay.hush()
    // 5 s; HAProxy asks four times.
    const { status } = await Promise.race([ask('/orders/7', good()), sleep(30_000, {}, { ref: false })])
    assert.ok([502, 504].includes(status), `${status}`)
    assert.equal(running.echo.count(), before)
    await mended()
  })
}
