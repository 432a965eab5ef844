// npm @modelcontextprotocol/sdk: applications that know nothing but the address of a resource. They are led from there, by the metadata that the
// gateway serves (RFC 9728), to the server, where they register themselves or are described by a document, and ask for tokens for that
// resource (RFC 8707). Against a server of its own with a gateway.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import path from 'node:path'
import { after, test } from 'node:test'
import { auth, extractWWWAuthenticateParams } from '@modelcontextprotocol/sdk/client/auth.js'
import { certificate } from '../../support/certificates.js'
import { removeFolder, serve, temporaryFolder } from '../../support/sluice.js'

process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0' // the authority of the certificates is this test
process.removeAllListeners('warning')

const folder = temporaryFolder('mcp')
const authority = certificate(folder, 'authority', { extensions: ['basicConstraints=critical,CA:TRUE'] })
const here = certificate(folder, 'here', { extensions: ['basicConstraints=critical,CA:FALSE', 'subjectAltName=IP:127.0.0.1'], authority })

const upstream = http.createServer((request, answer) => answer.end(request.headers['oauth-user-id'] ?? 'nobody')).listen(0, '127.0.0.1')
const host = https.createServer({ key: here.key, cert: here.cert }, describe).listen(0, '127.0.0.1')
await Promise.all([once(upstream, 'listening'), once(host, 'listening')])
const document = `https://127.0.0.1:${host.address().port}/client.json`

/** As native applications list where they may be sent, whatever port they get. */
function describe(_, answer) {
  const description = { ...metadata(['http://localhost/callback', 'http://127.0.0.1/callback']), client_id: document }
  answer.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(description))
}

function metadata(redirectUris) {
  return {
    client_name: 'Tools',
    redirect_uris: redirectUris,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  }
}

let issuer
const server = await serve({
  issuer: (port) => (issuer = `http://127.0.0.1:${port}/`),
  others: 1,
  env: (port) => ({
    GATEWAY_ROUTES: routes(`https://127.0.0.1:${port}/mcp`),
    SERVE_GATEWAY_HOST: '127.0.0.1',
    SERVE_GATEWAY_PORT: String(port),
    SERVE_GATEWAY_TLS_ENABLED: 'true',
    SERVE_GATEWAY_TLS_CERT_PATH: here.certFile,
    SERVE_GATEWAY_TLS_KEY_PATH: here.keyFile,
    OIDC_DYNAMIC_CLIENT_REGISTRATION_ENABLED: 'true',
    OIDC_DYNAMIC_CLIENT_REGISTRATION_DEFAULT_AUDIENCE: `https://127.0.0.1:${port}`,
    OIDC_CLIENT_ID_METADATA_DOCUMENTS_ENABLED: 'true',
    CLIENTS_HTTP_CA_FILE: authority.certFile,
    CLIENTS_HTTP_DISALLOW_PRIVATE_IP_RANGES: 'false',
  }),
})
const resource = `https://127.0.0.1:${server.otherPorts[0]}/mcp`

/** A file with a route for the resource. JSON is YAML. */
function routes(identifier) {
  const route = {
    name: 'tools',
    match: { prefix: '/mcp' },
    upstream: 'tools',
    audience: identifier,
    resource: { identifier, authorization_servers: [issuer], scopes_supported: ['openid', 'offline_access'] },
  }
  const file = path.join(folder, 'routes.yaml')
  fs.writeFileSync(file, JSON.stringify({ upstreams: { tools: { servers: [`http://127.0.0.1:${upstream.address().port}`] } }, routes: [route] }))
  return file
}

// It reads where the server is when it is loaded.
Object.assign(process.env, { SLUICE_ISSUER: server.issuer, SLUICE_ADMIN_URL: server.adminUrl })
const { Agent, CALLBACK, NATIVE_CALLBACK, introspect } = await import('../../support/agent.js')

after(async () => {
  for (const one of [upstream, host]) {
    one.closeAllConnections()
    one.close()
  }
  await server.stop()
  removeFolder(folder)
})

/** An application; `kept` is what it remembers between the steps. */
function application(redirectUrl, clientMetadataUrl) {
  const kept = {}
  return {
    kept,
    redirectUrl,
    clientMetadataUrl,
    clientMetadata: metadata([redirectUrl]),
    clientInformation: () => kept.client,
    saveClientInformation: (client) => void (kept.client = client),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => void (kept.tokens = tokens),
    redirectToAuthorization: (url) => void (kept.url = url),
    saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
    codeVerifier: () => kept.verifier,
  }
}

/** Goes on as far as it gets without a person. */
async function proceed(provider, authorizationCode) {
  const refused = await fetch(resource)
  assert.equal(refused.status, 401)
  const { resourceMetadataUrl } = extractWWWAuthenticateParams(refused)
  assert.ok(resourceMetadataUrl, refused.headers.get('www-authenticate'))
  return auth(provider, { serverUrl: resource, resourceMetadataUrl, authorizationCode })
}

async function signIn(provider) {
  assert.equal(await proceed(provider), 'REDIRECT')
  assert.equal(provider.kept.url.searchParams.get('resource'), resource)
  const end = await new Agent().walk(provider.kept.url)
  assert.ok(end instanceof URL, JSON.stringify(end))
  assert.ok(end.href.startsWith(provider.redirectUrl), end.href)
  assert.ok(end.searchParams.has('code'), end.href)
  assert.equal(await proceed(provider, end.searchParams.get('code')), 'AUTHORIZED')
}

async function assertOpens({ access_token: token }) {
  const answer = await fetch(resource, { headers: { authorization: `Bearer ${token}` } })
  assert.deepEqual([answer.status, await answer.text()], [200, 'alice'])
  assert.deepEqual((await introspect(token)).aud, [resource])
}

test('an application that registers itself gets to the resource that led it here', async () => {
  const provider = application(CALLBACK)
  await signIn(provider)
  await assertOpens(provider.kept.tokens)
  const before = provider.kept.tokens.refresh_token
  assert.equal(await proceed(provider), 'AUTHORIZED')
  assert.notEqual(provider.kept.tokens.refresh_token, before)
  await assertOpens(provider.kept.tokens)
})

test('so does one that a document describes, at whatever port it listens', async () => {
  const provider = application(NATIVE_CALLBACK, document)
  await signIn(provider)
  assert.equal(provider.kept.client.client_id, document)
  await assertOpens(provider.kept.tokens)
})

test('a resource that is none of those configured is refused', async () => {
  const provider = application(CALLBACK)
  assert.equal(await proceed(provider), 'REDIRECT')
  provider.kept.url.searchParams.set('resource', 'https://elsewhere.example/mcp')
  const end = await new Agent().walk(provider.kept.url)
  assert.equal(end.searchParams?.get('error'), 'invalid_target')
})
