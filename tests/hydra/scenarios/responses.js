// Where answers of the authorization endpoint go, and how: queries, fragments, forms, tokens at once; PKCE.
import { createHash } from 'node:crypto'
import { CALLBACK, NONCE, authorization, client, code, secret, signIn } from './given.js'

export async function responseTypes(t) {
  const of = await client(t)
  const end = (step, parameters) => t.quietly(() => signIn(t, '', { of, parameters: { nonce: NONCE, scope: 'openid', ...parameters } })).then((answer) => t.show(step, answer))
  await end('code', { response_type: 'code' })
  await end('token', { response_type: 'token' })
  await end('id_token', { response_type: 'id_token' })
  await end('id_token token', { response_type: 'id_token token' })
  await end('code id_token', { response_type: 'code id_token' })
  await end('code token', { response_type: 'code token' })
  await end('code id_token token', { response_type: 'code id_token token' })
  await end('code in a fragment', { response_type: 'code', response_mode: 'fragment' })
  await end('code in a query', { response_type: 'code', response_mode: 'query' })
  await end('code in a form', { response_type: 'code', response_mode: 'form_post' })
  await end('id_token in a form', { response_type: 'id_token', response_mode: 'form_post' })
}

export async function responseErrors(t) {
  const of = await client(t)
  const ask = (step, parameters) => t.browser().open(step, '/oauth2/auth', { query: authorization(of, { nonce: NONCE, scope: 'openid', ...parameters }) })
  await ask('an id token without a nonce', { response_type: 'id_token', nonce: undefined })
  await ask('an id token with a short nonce', { response_type: 'id_token', nonce: 'n' })
  await ask('an id token without openid', { response_type: 'id_token', scope: 'profile' })
  await ask('a token in a query', { response_type: 'token', response_mode: 'query' })
  await ask('code and token in a query', { response_type: 'code token', response_mode: 'query' })
  await ask('a wrong scope of an implicit request', { response_type: 'token', scope: 'secret' })
  await ask('a wrong scope in a form', { response_mode: 'form_post', scope: 'secret' })
  await ask('a wrong scope in a fragment', { response_mode: 'fragment', scope: 'secret' })
  await ask('without a prompt in a form', { response_mode: 'form_post', prompt: 'none' })
  const plain = await client(t, { response_types: ['code'], grant_types: ['authorization_code'] })
  await t.browser().open('a response type that is not registered', '/oauth2/auth', { query: authorization(plain, { response_type: 'token' }) })
  const some = await client(t, { response_types: ['code id_token'], grant_types: ['authorization_code', 'implicit'] })
  await t.browser().open('a part of the registered response type', '/oauth2/auth', { query: authorization(some, { response_type: 'code' }) })
  await signIn(t, 'refused by the page in a form', { of, parameters: { response_mode: 'form_post', scope: 'openid' }, login: { reject: { error: 'access_denied', error_description: 'my reason' } } })
}

const VERIFIER = 'my-verifier-of-some-length-0123456789-0123456789'
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')

export async function pkce(t) {
  const open = await client(t, { token_endpoint_auth_method: 'none', client_secret: undefined, grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] })
  const own = await client(t)
  t.names.keep(CHALLENGE)
  const ask = (step, parameters, of = open) => t.browser().open(step, '/oauth2/auth', { query: authorization(of, parameters) })
  await ask('S256', { code_challenge: CHALLENGE, code_challenge_method: 'S256' })
  await ask('plain', { code_challenge: VERIFIER, code_challenge_method: 'plain' })
  await ask('no method', { code_challenge: CHALLENGE })
  await ask('an unknown method', { code_challenge: CHALLENGE, code_challenge_method: 'S512' })
  await ask('no challenge', {})
  await ask('a method without a challenge', { code_challenge_method: 'S256' })
  await ask('a short challenge', { code_challenge: 'my-short', code_challenge_method: 'S256' })
  await ask('no challenge of a client with a secret', {}, own)
  const redeem = async (step, extra, of = open, parameters = { code_challenge: CHALLENGE, code_challenge_method: 'S256' }) => {
    const form = { grant_type: 'authorization_code', code: await code(t, { of, parameters }), redirect_uri: CALLBACK, ...(of === open ? { client_id: of.client_id } : secret(of)), ...extra }
    return t.public(step, 'POST /oauth2/token', { form })
  }
  await redeem('redeem with the verifier', { code_verifier: VERIFIER })
  await redeem('redeem without a verifier', {})
  await redeem('redeem with a wrong verifier', { code_verifier: `${VERIFIER}x` })
  await redeem('redeem with a short verifier', { code_verifier: 'my-short' })
  await redeem('redeem with odd characters', { code_verifier: `${VERIFIER} !` })
  await redeem('redeem with a secret and a verifier', { code_verifier: VERIFIER }, own)
  await redeem('redeem with a secret, without a verifier', {}, own)
  await redeem('redeem with a verifier that nobody asked for', { code_verifier: VERIFIER }, own, {})
}

