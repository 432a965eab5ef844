// Tokens that are bound to a key (DPoP, RFC 9449) through a proxy.
import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { exportJWK, generateKeyPair, importJWK, SignJWT } from 'jose'
import { told, TOKENS } from './given.js'

const PATH = '/orders/7'
const INVALID_PROOF = /^DPoP .*error="invalid_dpop_proof"/

/** What is judged with its request. */
export function boundTokens({ check, ask, running }) {
  const { token, key, user } = TOKENS.bound
  const url = (path = PATH) => running.proxy.url + path
  const present = (path, dpop) => ask(path, { headers: { authorization: `DPoP ${token}`, dpop } })

  check('a token that is bound to a key passes with a proof of it, which counts once', async () => {
    const dpop = await proof({ url: url() }, { token, key })
    const { status, text, seen } = await present(`${PATH}?page=2`, dpop)
    assert.equal(status, 200, text)
    assert.deepEqual(told(seen, 'oauth-user-id'), [user])
    const before = running.echo.count()
    const again = await present(`${PATH}?page=2`, dpop)
    assert.equal(again.status, 401)
    assert.match(again.headers['www-authenticate'], INVALID_PROOF)
    assert.equal(running.echo.count(), before)
  })

  check('a proof for another request is 401', async () => {
    const before = running.echo.count()
    const { port } = new URL(url())
    for (const other of [
      { url: url('/orders/8') },
      { url: `http://other.example${PATH}` },
      { url: `http://127.0.0.1${PATH}` },
      { url: `https://127.0.0.1:${port}${PATH}` },
      { url: url(), method: 'POST' },
      { url: url(), token: TOKENS.good.token },
    ]) {
      const { status, headers } = await present(PATH, await proof(other, { token, key }))
      assert.equal(status, 401, JSON.stringify(other))
      assert.match(headers['www-authenticate'], INVALID_PROOF)
    }
    assert.equal(running.echo.count(), before)
  })

  check('without a proof, with that of another key, and as a bearer token it is 401', async () => {
    const before = running.echo.count()
    const none = await ask(PATH, { headers: { authorization: `DPoP ${token}` } })
    assert.equal(none.status, 401)
    assert.match(none.headers['www-authenticate'], INVALID_PROOF)
    const { privateKey } = await generateKeyPair('ES256', { extractable: true })
    const other = await present(PATH, await proof({ url: url() }, { token, key: await exportJWK(privateKey) }))
    const bearer = await ask(PATH, { token, headers: { dpop: await proof({ url: url() }, { token, key }) } })
    for (const { status, headers } of [other, bearer]) {
      assert.equal(status, 401)
      assert.match(headers['www-authenticate'], /error="invalid_token"/)
    }
    assert.equal(running.echo.count(), before)
  })

  check('where proofs need a nonce, the answer brings it', async () => {
    const path = '/fresh'
    const first = await present(path, await proof({ url: url(path) }, { token, key }))
    assert.equal(first.status, 401)
    assert.match(first.headers['www-authenticate'], /^DPoP .*error="use_dpop_nonce"/)
    const second = await present(path, await proof({ url: url(path), nonce: first.headers['dpop-nonce'] }, { token, key }))
    assert.equal(second.status, 200, second.text)
  })
}

/** What is judged by its token alone: no proof is about that question. */
export function noBoundTokens({ check, ask, running }) {
  const { token, key } = TOKENS.bound

  check('a token that is bound to a key is 401, whatever is proven', async () => {
    const before = running.echo.count()
    const url = running.proxy.url + PATH
    const bound = await ask(PATH, { headers: { authorization: `DPoP ${token}`, dpop: await proof({ url }, { token, key }) } })
    assert.equal(bound.status, 401)
    assert.match(bound.headers['www-authenticate'], INVALID_PROOF)
    const bearer = await ask(PATH, { token, headers: { dpop: await proof({ url }, { token, key }) } })
    assert.equal(bearer.status, 401)
    assert.match(bearer.headers['www-authenticate'], /error="invalid_token"/)
    assert.equal(running.echo.count(), before)
  })
}

/** A proof (RFC 9449 §4.2) about a request, and about the token that it is presented with unless it is to be about another. */
async function proof({ url, method = 'GET', nonce, token }, presented) {
  const about = createHash('sha256').update(token ?? presented.token).digest('base64url')
  const { kty, crv, x, y } = presented.key
  return new SignJWT({ htm: method, htu: url, ath: about, nonce, jti: randomUUID() })
    .setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk: { kty, crv, x, y } })
    .setIssuedAt()
    .sign(await importJWK(presented.key, 'ES256'))
}
