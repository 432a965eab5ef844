// Debian's Apache with mod_auth_openidc in front of a page: a person signs in through the built-in pages, sees the page with
// what the id token says, and leaves.
import assert from 'node:assert/strict'
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { apacheSite, startApache, variables } from '../support/apache.js'
import { openBrowser, press, sees } from '../support/chromium.js'
import { lastLines } from '../support/process.js'
import { serve } from '../support/sluice.js'

const PASSWORD = 'correct horse battery staple'
const ACCEPT = 'button[name=decision][value=accept]'
const SECRET = 'a secret for the module, long enough'

/** What mod_auth_openidc speaks: every response type but `none` and those without an id token. */
const RESPONSE_TYPES = ['code', 'id_token', 'id_token token', 'code id_token', 'code token', 'code id_token token']
const RESPONSE_MODES = ['query', 'fragment', 'form_post']

const server = await serve()
const metadata = await (await fetch(new URL('.well-known/openid-configuration', server.issuer))).json()

after(() => server.stop())

const person = { email: `${randomUUID()}@example.com`, registered: false }

/** The order of the words in a response type says nothing (OAuth 2.0 Multiple Response Type Encoding Practices §5). */
function announced(responseType) {
  const words = (value) => value.split(' ').sort().join(' ')
  return metadata.response_types_supported.some((supported) => words(supported) === words(responseType))
}

/** A query is for codes alone (§5 of the same). */
function modesOf(responseType) {
  const wanted = RESPONSE_MODES.filter((mode) => mode !== 'query' || responseType === 'code')
  return [undefined, ...wanted.filter((mode) => metadata.response_modes_supported.includes(mode))]
}

function grantTypesOf(responseType) {
  const words = responseType.split(' ')
  const implicit = words.includes('token') || words.includes('id_token') ? ['implicit'] : []
  return words.includes('code') ? ['authorization_code', ...implicit] : implicit
}

async function register(site, client) {
  const answer = await fetch(`${server.adminUrl}/admin/clients`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'Apache',
      client_secret: client.token_endpoint_auth_method === 'private_key_jwt' ? undefined : SECRET,
      grant_types: grantTypesOf(client.response_types[0]),
      scope: 'openid email',
      redirect_uris: [site.redirectUri],
      post_logout_redirect_uris: [site.signedOut],
      backchannel_logout_uri: site.backchannelLogout,
      backchannel_logout_session_required: true,
      ...client,
    }),
  })
  assert.equal(answer.status, 201, await answer.clone().text())
  return (await answer.json()).client_id
}

/** Runs `walk` with a new browser on a page that Apache protects; says what Apache logged if it fails. */
async function protectedBy({ responseType = 'code', client = {}, directives = {}, files }, walk) {
  const site = await apacheSite()
  const id = await register(site, { response_types: [responseType], ...client })
  const apache = await startApache(
    site,
    {
      OIDCProviderMetadataURL: new URL('.well-known/openid-configuration', server.issuer),
      OIDCClientID: id,
      OIDCClientSecret: SECRET,
      OIDCRedirectURI: site.redirectUri,
      OIDCCryptoPassphrase: randomUUID(),
      OIDCResponseType: responseType,
      OIDCScope: 'openid email',
      OIDCRemoteUserClaim: 'sub',
      OIDCPKCEMethod: 'S256',
      ...directives,
    },
    files,
  )
  const browser = await openBrowser()
  try {
    await walk({ site, id, tab: browser.page })
  } catch (error) {
    const logs = `Apache's last lines:\n${lastLines(apache.log(), 20)}\nSluice's last lines:\n${lastLines(server.log(), 20)}`
    throw new Error(`${error.message}\n${logs}`, { cause: error })
  } finally {
    await browser.close()
    await apache.stop()
  }
}

/** From the protected page through the login page to consent; the first time through registration. */
async function identify(site, tab) {
  await tab.goto(site.page)
  await tab.waitForSelector('input[name=password]')
  if (!person.registered) {
    await press(tab, /register|create (an )?account|sign up/i)
    await tab.waitForURL(/registration|register/)
    person.registered = true
  }
  await tab.fill('input[name=email]', person.email)
  await tab.fill('input[name=password]', PASSWORD)
  await tab.locator('form:has(input[name=password]) button[type=submit]').first().click()
  await tab.waitForSelector(ACCEPT)
}

async function signIn(site, tab) {
  await identify(site, tab)
  await tab.click(ACCEPT)
  await tab.waitForURL(site.page)
}

async function seesOwnClaims({ tab, id }) {
  const shown = await variables(tab)
  assert.match(shown.REMOTE_USER, /^[\w-]{8,}/)
  assert.equal(shown.OIDC_CLAIM_sub, shown.REMOTE_USER.split('@')[0])
  assert.equal(shown.OIDC_CLAIM_iss, server.issuer)
  assert.equal(shown.OIDC_CLAIM_aud, id)
  assert.equal(shown.OIDC_CLAIM_email, person.email)
  return shown
}

async function isAskedToLogIn(site, tab) {
  await tab.goto(site.page)
  await tab.waitForSelector('input[name=password]')
  assert.ok(tab.url().startsWith(server.issuer), tab.url())
}

/** The server tells Apache after it has told the browser. */
async function closesSoon(site, tab) {
  const deadline = Date.now() + 10_000
  do {
    await tab.goto(site.page)
  } while (tab.url().startsWith(site.url) && Date.now() < deadline)
  await isAskedToLogIn(site, tab)
}

async function confirmIfAsked(tab, done) {
  await tab.locator(ACCEPT).or(done).first().waitFor()
  if (await tab.locator(ACCEPT).isVisible()) await tab.click(ACCEPT)
  await done.waitFor()
}

for (const responseType of RESPONSE_TYPES.filter(announced)) {
  for (const mode of modesOf(responseType)) {
    test(`${responseType} ${mode ? `as ${mode}` : 'in the mode of its own'}: in, the claims, and out`, async () => {
      const directives = mode ? { OIDCResponseMode: mode } : {}
      await protectedBy({ responseType, directives }, async ({ site, id, tab }) => {
        await signIn(site, tab)
        const shown = await seesOwnClaims({ tab, id })
        assert.equal(shown.OIDC_access_token !== '(none)', responseType !== 'id_token')
        await tab.goto(site.logout)
        await confirmIfAsked(tab, tab.getByText('signed out'))
        assert.equal(tab.url(), site.signedOut)
        await isAskedToLogIn(site, tab)
      })
    })
  }
}

test('a page is protected with every response type that the module speaks and discovery names', () => {
  const known = new Set([...RESPONSE_TYPES, 'token', 'none'].map((each) => each.split(' ').sort().join(' ')))
  const unknown = metadata.response_types_supported.filter((each) => !known.has(each.split(' ').sort().join(' ')))
  assert.deepEqual(unknown, [])
})

test('a sign-out at the server ends the session at Apache, over the back channel', async () => {
  await protectedBy({}, async ({ site, id, tab }) => {
    await signIn(site, tab)
    await seesOwnClaims({ tab, id })
    await tab.goto(new URL('oauth2/sessions/logout', server.issuer).href)
    await tab.click(ACCEPT)
    await sees(tab, /signed out|logged out/i)
    await closesSoon(site, tab)
  })
})

test('the module proves itself with a key', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'apache', use: 'sig', alg: 'RS256' }
  const client = {
    token_endpoint_auth_method: 'private_key_jwt',
    token_endpoint_auth_signing_alg: 'RS256',
    jwks: { keys: [jwk] },
  }
  // In this order: the module takes the method only when it has a key. Without the public half it crashes.
  const directives = {
    OIDCPublicKeyFiles: 'apache#{folder}/public.pem',
    OIDCPrivateKeyFiles: 'apache#{folder}/private.pem',
    OIDCProviderTokenEndpointAuth: 'private_key_jwt',
  }
  const files = {
    'public.pem': publicKey.export({ type: 'spki', format: 'pem' }),
    'private.pem': privateKey.export({ type: 'pkcs8', format: 'pem' }),
  }
  await protectedBy({ client, directives, files }, async ({ site, id, tab }) => {
    await signIn(site, tab)
    await seesOwnClaims({ tab, id })
  })
})

test('a request that is posted to the authorization endpoint', async () => {
  await protectedBy({ directives: { OIDCProviderAuthRequestMethod: 'POST' } }, async ({ site, id, tab }) => {
    await signIn(site, tab)
    await seesOwnClaims({ tab, id })
  })
})

test('consent refused is an error page of Apache, and the page stays closed', async () => {
  await protectedBy({}, async ({ site, tab }) => {
    await identify(site, tab)
    await tab.click('button[name=decision][value=reject]')
    await tab.waitForURL((url) => url.href.startsWith(site.url))
    await sees(tab, /access_denied|error/i)
    assert.equal(await tab.locator('pre').filter({ hasText: 'REMOTE_USER' }).count(), 0)
  })
})

// The module takes an error in the query for a login that somebody else begins if `iss` stands beside it.
for (const [how, change] of [
  ['that comes without `iss`', { client: { authorization_response_iss: false } }],
  ['that is posted', { directives: { OIDCResponseMode: 'form_post' } }],
]) {
  test(`a refusal ${how} is shown by its name, and the page stays closed`, async () => {
    await protectedBy(change, async ({ site, tab }) => {
      await identify(site, tab)
      await tab.click('button[name=decision][value=reject]')
      await tab.waitForURL((url) => url.href.startsWith(site.url))
      await sees(tab, /access_denied/)
      assert.equal(await tab.locator('pre').filter({ hasText: 'REMOTE_USER' }).count(), 0)
    })
  })
}
