// An application that is told of a logout behind the browser's back, and checks the logout token with npm jose.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import { after, before } from 'node:test'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import * as client from 'openid-client'
import { Agent, ISSUER } from '../../support/agent.js'
import { discover, featuresOf } from '../../support/features.js'
import { relyingParty, signIn } from '../../support/relying-party.js'

const metadata = await discover(ISSUER)
const feature = featuresOf(metadata)
const EVENT = 'http://schemas.openid.net/event/backchannel-logout'

let application, url

before(async () => {
  application = http.createServer((request, answer) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text) => (body += text))
    request.on('end', () => {
      application.emit('told', { path: request.url, type: request.headers['content-type'], form: new URLSearchParams(body) })
      answer.writeHead(200, { 'cache-control': 'no-store' }).end()
    })
  })
  application.listen(0, '127.0.0.1')
  await once(application, 'listening')
  url = `http://127.0.0.1:${application.address().port}`
})

after(() => {
  application.closeAllConnections()
  application.close()
})

feature('backchannel_logout', 'the application is told with a token that holds, of the session that ended', async () => {
  const configuration = await relyingParty({ backchannel_logout_uri: `${url}/logout`, backchannel_logout_session_required: true })
  const agent = new Agent({ login: { remember: true } })
  const tokens = await signIn(configuration, { agent })
  const told = once(application, 'told')
  await agent.walk(client.buildEndSessionUrl(configuration, { id_token_hint: tokens.id_token }))
  const [{ path, type, form }] = await told

  assert.equal(path, '/logout')
  assert.match(type, /^application\/x-www-form-urlencoded/)
  const keys = createRemoteJWKSet(new URL(metadata.jwks_uri))
  const audience = configuration.clientMetadata().client_id
  const { payload } = await jwtVerify(form.get('logout_token'), keys, {
    issuer: ISSUER,
    audience,
    typ: 'logout+jwt',
    requiredClaims: ['iat', 'exp', 'jti'],
  })
  assert.deepEqual(payload.events, { [EVENT]: {} })
  assert.equal(payload.sid, tokens.claims().sid)
  assert.equal(payload.nonce, undefined)
})
