// Clients that register themselves.
import { CALLBACK, client } from './given.js'

export async function registration(t) {
  const at = '/oauth2/register'
  const json = { client_name: 'my-own', grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'], redirect_uris: ['https://a.example.com/cb'], scope: 'openid' }
  const made = await t.public('register', `POST ${at}`, { json })
  const { client_id: id, registration_access_token: bearer } = made.json
  await t.public('read', `GET ${at}/${id}`, { bearer })
  await t.public('read with a wrong token', `GET ${at}/${id}`, { bearer: 'my-wrong-token' })
  await t.public('read without a token', `GET ${at}/${id}`)
  await t.public('read another with that token', `GET ${at}/my-nobody`, { bearer })
  await t.public('change with a wrong token', `PUT ${at}/${id}`, { json, bearer: 'my-wrong-token' })
  const changed = await t.public('change', `PUT ${at}/${id}`, { json: { ...json, client_name: 'my-changed' }, bearer })
  const newer = changed.json.registration_access_token ?? bearer
  await t.public('read with the old token', `GET ${at}/${id}`, { bearer })
  await t.public('read with the new token', `GET ${at}/${id}`, { bearer: newer })
  await t.public('change another', `PUT ${at}/my-nobody`, { json, bearer: newer })
  await t.public('change with broken JSON', `PUT ${at}/${id}`, { text: '{', headers: { 'content-type': 'application/json' }, bearer: newer })
  await t.public('delete with a wrong token', `DELETE ${at}/${id}`, { bearer: 'my-wrong-token' })
  await t.public('delete without a token', `DELETE ${at}/${id}`)
  await t.public('delete', `DELETE ${at}/${id}`, { bearer: newer })
  await t.public('delete again', `DELETE ${at}/${id}`, { bearer: newer })
  await t.public('read after the delete', `GET ${at}/${id}`, { bearer: newer })
  const administrators = await client(t)
  await t.public('read one of an administrator', `GET ${at}/${administrators.client_id}`, { bearer: 'my-wrong-token' })
}

export async function registrationErrors(t) {
  const make = (step, json) => t.public(step, 'POST /oauth2/register', { json })
  await make('nothing is said', {})
  await make('a name', { client_name: 'my-own', redirect_uris: [CALLBACK] })
  await make('a public client', { token_endpoint_auth_method: 'none', redirect_uris: ['com.example.app:/cb'] })
  await make('an id', { client_id: 'my-registered', redirect_uris: [CALLBACK] })
  await make('a secret', { client_secret: 'my-own-secret', redirect_uris: [CALLBACK] })
  await make('metadata', { metadata: { a: 1 }, redirect_uris: [CALLBACK] })
  await make('to skip the consent', { skip_consent: true, redirect_uris: [CALLBACK] })
  await make('to skip the logout consent', { skip_logout_consent: true, redirect_uris: [CALLBACK] })
  await make('a lifespan', { authorization_code_grant_access_token_lifespan: '100h', redirect_uris: [CALLBACK] })
  await make('a form of access token', { access_token_strategy: 'jwt', redirect_uris: [CALLBACK] })
  await make('an audience', { audience: ['https://api.example.com'], redirect_uris: [CALLBACK] })
  await make('an owner', { owner: 'my-owner', redirect_uris: [CALLBACK] })
  await make('a bad redirect URI', { redirect_uris: ['/cb'] })
  await make('a fragment', { redirect_uris: ['https://a.example.com/#a'] })
  await make('a wrong type', { redirect_uris: 7 })
  await make('an unknown grant type', { grant_types: ['magic'], redirect_uris: [CALLBACK] })
  await t.public('broken JSON', 'POST /oauth2/register', { text: '{', headers: { 'content-type': 'application/json' } })
  await t.public('a list', 'POST /oauth2/register', { json: [] })
}
