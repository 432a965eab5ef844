// Key sets at the admin port, and what is published.
import { publicKey } from './given.js'

export async function keys(t) {
  const at = '/admin/keys/my-set'
  const make = (step, json, set = at) => t.admin(step, `POST ${set}`, { json })
  await t.admin('a set that is not there', `GET ${at}`)
  await make('RS256', { alg: 'RS256', use: 'sig', kid: 'my-rsa' })
  await make('ES256', { alg: 'ES256', use: 'sig', kid: 'my-ec' })
  await make('ES512', { alg: 'ES512', use: 'sig', kid: 'my-ec-512' })
  await make('EdDSA', { alg: 'EdDSA', use: 'sig', kid: 'my-ed' })
  await make('HS256', { alg: 'HS256', use: 'sig', kid: 'my-hmac' }, '/admin/keys/my-other-set')
  await make('for encryption', { alg: 'RS256', use: 'enc', kid: 'my-enc' }, '/admin/keys/my-other-set')
  await make('without a kid', { alg: 'ES256', use: 'sig' }, '/admin/keys/my-third-set')
  await make('without a use', { alg: 'ES256', kid: 'my-useless' }, '/admin/keys/my-third-set')
  await make('without an algorithm', { use: 'sig', kid: 'my-nothing' }, '/admin/keys/my-third-set')
  await make('an unknown algorithm', { alg: 'magic', use: 'sig', kid: 'my-magic' }, '/admin/keys/my-third-set')
  await make('the same kid again', { alg: 'RS256', use: 'sig', kid: 'my-rsa' })
  await make('nothing', {}, '/admin/keys/my-third-set')
  await t.admin('the set', `GET ${at}`)
  await t.admin('one', `GET ${at}/my-rsa`)
  await t.admin('one that is not there', `GET ${at}/my-nobody`)
  await t.admin('replace the set', `PUT ${at}`, { json: { keys: [publicKey(t, 'my-replaced'), publicKey(t, 'my-other')] } })
  await t.admin('the set after that', `GET ${at}`)
  await t.admin('replace one', `PUT ${at}/my-replaced`, { json: publicKey(t, 'my-replaced') })
  await t.admin('replace one by another name', `PUT ${at}/my-replaced`, { json: publicKey(t, 'my-different') })
  await t.admin('the set after that too', `GET ${at}`)
  await t.admin('put one that is not there', `PUT ${at}/my-new`, { json: publicKey(t, 'my-new') })
  await t.admin('put a set that is not there', 'PUT /admin/keys/my-new-set', { json: { keys: [publicKey(t, 'my-first')] } })
  await t.admin('put what is no key', `PUT ${at}/my-bad`, { json: { kty: 'magic' } })
  await t.admin('put an empty set', 'PUT /admin/keys/my-new-set', { json: { keys: [] } })
  await t.admin('put a set without keys', 'PUT /admin/keys/my-new-set', { json: {} })
  await t.admin('delete one', `DELETE ${at}/my-other`)
  await t.admin('delete one again', `DELETE ${at}/my-other`)
  await t.admin('delete the set', `DELETE ${at}`)
  await t.admin('delete the set again', `DELETE ${at}`)
  await t.admin('broken JSON', `POST ${at}`, { text: '{', headers: { 'content-type': 'application/json' } })
  await t.admin('all sets', 'GET /admin/keys')
  await t.admin('the set that signs id tokens', 'GET /admin/keys/hydra.openid.id-token')
}

export async function published(t) {
  await t.public('the public keys', 'GET /.well-known/jwks.json')
  await t.public('discovery', 'GET /.well-known/openid-configuration')
  await t.public('discovery of an authorization server', 'GET /.well-known/oauth-authorization-server')
  for (const [name, send] of [['public', 'public'], ['admin', 'admin']]) {
    for (const path of ['/health/alive', '/health/ready', '/version']) await t[send](`${name} ${path}`, `GET ${path}`)
  }
  await t.public('a path that there is not', 'GET /nowhere')
  await t.admin('an admin path that there is not', 'GET /admin/nowhere')
  await t.public('an admin path at the public port', 'GET /admin/clients')
  await t.admin('a public path at the admin port', 'GET /.well-known/openid-configuration')
  await t.public('HEAD of discovery', 'HEAD /.well-known/openid-configuration')
  await t.public('POST to discovery', 'POST /.well-known/openid-configuration')
  await t.public('a slash at the end', 'GET /.well-known/openid-configuration/')
  await t.admin('metrics', 'HEAD /admin/metrics/prometheus')
}

export async function cors(t) {
  const origin = 'https://spa.example.com'
  const preflight = (step, path, method, from = origin) =>
    t.public(step, `OPTIONS ${path}`, { headers: { origin: from, 'access-control-request-method': method, 'access-control-request-headers': 'authorization,content-type' } })
  await preflight('preflight of the token endpoint', '/oauth2/token', 'POST')
  await preflight('preflight of userinfo', '/userinfo', 'GET')
  await preflight('preflight of the revocation', '/oauth2/revoke', 'POST')
  await preflight('preflight of discovery', '/.well-known/openid-configuration', 'GET')
  await preflight('preflight of the registration', '/oauth2/register', 'POST')
  await preflight('preflight of the authorization endpoint', '/oauth2/auth', 'GET')
  await preflight('preflight of another origin', '/oauth2/token', 'POST', 'https://evil.example.com')
  await preflight('preflight with an unknown method', '/oauth2/token', 'BREW')
  await t.public('OPTIONS without an origin', 'OPTIONS /oauth2/token')
  await t.public('discovery for an origin', 'GET /.well-known/openid-configuration', { headers: { origin } })
  await t.public('the keys for an origin', 'GET /.well-known/jwks.json', { headers: { origin } })
  await t.public('discovery for another origin', 'GET /.well-known/openid-configuration', { headers: { origin: 'https://evil.example.com' } })
  await t.public('a refusal for an origin', 'POST /oauth2/token', { headers: { origin }, form: {} })
  await t.public('userinfo for an origin', 'GET /userinfo', { headers: { origin } })
  await t.admin('admin: preflight', 'OPTIONS /admin/clients', { headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' } })
  await t.admin('admin: for an origin', 'GET /admin/oauth2/auth/sessions/consent', { headers: { origin }, query: { subject: 'my-nobody' } })
  await t.admin('admin: for another origin', 'GET /admin/oauth2/auth/sessions/consent', { headers: { origin: 'https://evil.example.com' }, query: { subject: 'my-nobody' } })
}
