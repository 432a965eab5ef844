// npm openid-client on a device without a browser (RFC 8628).
import assert from 'node:assert/strict'
import * as client from 'openid-client'
import { AFTER_DEVICE, Agent, ISSUER } from '../../support/agent.js'
import { discover, featuresOf } from '../../support/features.js'
import { assertUsable, relyingParty } from '../../support/relying-party.js'

const feature = featuresOf(await discover(ISSUER))
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code'

const CLIENTS = {
  'a client with a secret': () => relyingParty({ grant_types: [GRANT_TYPE, 'refresh_token'] }),
  'a public client': () => relyingParty({ grant_types: [GRANT_TYPE, 'refresh_token'], token_endpoint_auth_method: 'none' }, client.None()),
}

for (const [who, make] of Object.entries(CLIENTS)) {
  feature('device', `${who} is let in by a person on another screen`, async () => {
    const configuration = await make()
    const begun = await client.initiateDeviceAuthorization(configuration, { scope: 'openid offline_access' })
    assert.ok(begun.verification_uri.startsWith(ISSUER))
    assert.ok(begun.verification_uri_complete.includes(encodeURIComponent(begun.user_code)))
    const polled = client.pollDeviceAuthorizationGrant(configuration, begun)
    const end = await new Agent().walk(begun.verification_uri_complete)
    assert.equal(end.href?.startsWith(AFTER_DEVICE), true, end.body)
    const tokens = await polled
    await assertUsable(configuration, tokens)
    await assertUsable(configuration, await client.refreshTokenGrant(configuration, tokens.refresh_token))
  })
}

feature('device', 'a device whose person says no is told so', async () => {
  const configuration = await CLIENTS['a public client']()
  const begun = await client.initiateDeviceAuthorization(configuration, { scope: 'openid' })
  const reject = { error: 'access_denied', error_description: 'The user said no' }
  await new Agent().walk(begun.verification_uri_complete, { consent: { reject } })
  await assert.rejects(client.pollDeviceAuthorizationGrant(configuration, begun), { error: 'access_denied' })
})

feature('device', 'a device code works once', async () => {
  const configuration = await CLIENTS['a public client']()
  const begun = await client.initiateDeviceAuthorization(configuration, { scope: 'openid' })
  await new Agent().walk(begun.verification_uri_complete)
  await client.pollDeviceAuthorizationGrant(configuration, begun)
  await assert.rejects(client.pollDeviceAuthorizationGrant(configuration, begun), { error: 'invalid_grant' })
})

feature('device', 'a client that did not register the grant type may not begin', async () => {
  const configuration = await relyingParty()
  await assert.rejects(client.initiateDeviceAuthorization(configuration, { scope: 'openid' }), { error: 'unauthorized_client' })
})
