// npm's oidc-provider as a peer of the benchmark: one process, everything in memory, a login that accepts at once.
//
//   server.js PORT    with CLIENT_ID, CLIENT_SECRET, REDIRECT_URI, USER_NAME and ALGORITHM (ES256 or RS256) in the environment
import crypto from 'node:crypto'
import http from 'node:http'
import { promisify } from 'node:util'
import { Provider } from 'oidc-provider'
import { Memory } from './memory.js'

const { CLIENT_ID, CLIENT_SECRET, REDIRECT_URI, USER_NAME, ALGORITHM } = process.env
const PORT = Number(process.argv[2])
const RESOURCE = 'urn:sluice:bench'
const HOUR = 3600

const KINDS = { ES256: ['ec', { namedCurve: 'P-256' }], RS256: ['rsa', { modulusLength: 2048 }] }

async function signingKey() {
  const [type, options] = KINDS[ALGORITHM]
  const { privateKey } = await promisify(crypto.generateKeyPair)(type, options)
  return { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: ALGORITHM }
}

function client(id, more = {}) {
  return {
    client_id: id,
    client_secret: CLIENT_SECRET,
    grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
    redirect_uris: [REDIRECT_URI],
    id_token_signed_response_alg: ALGORITHM,
    ...more,
  }
}

/** The second client's access tokens are JWTs: they are for a resource, and that one's are. */
const jwtResource = {
  enabled: true,
  defaultResource: (_, { clientId }) => (clientId === `${CLIENT_ID}-jwt` ? RESOURCE : undefined),
  getResourceServerInfo: () => ({
    scope: 'read',
    accessTokenTTL: HOUR,
    accessTokenFormat: 'jwt',
    jwt: { sign: { alg: ALGORITHM } },
  }),
}

const provider = new Provider(`http://127.0.0.1:${PORT}`, {
  adapter: Memory,
  clients: [client(CLIENT_ID), client(`${CLIENT_ID}-jwt`, { grant_types: ['client_credentials'], redirect_uris: [], response_types: [] })],
  jwks: { keys: [await signingKey()] },
  cookies: { keys: [crypto.randomBytes(32).toString('hex')] },
  scopes: ['openid', 'offline_access', 'read'],
  claims: { openid: ['sub'] },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    introspection: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: jwtResource,
  },
  interactions: { url: (_, { uid }) => `/interaction/${uid}` },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  // As shipped it takes `prompt=consent` as well, at every login.
  issueRefreshToken: (_, one) => one.grantTypeAllowed('refresh_token'),
  // As shipped a confidential client's refresh token is used again until most of its life is over.
  rotateRefreshToken: true,
  ttl: { AccessToken: HOUR, AuthorizationCode: 600, ClientCredentials: HOUR, Grant: 14 * 24 * HOUR, IdToken: HOUR, Interaction: HOUR, RefreshToken: 14 * 24 * HOUR, Session: 14 * 24 * HOUR },
})

/** Who asks is logged in and has consented: what an application for logins would answer, without a second program. */
async function accept(request, response) {
  const { params } = await provider.interactionDetails(request, response)
  const grant = new provider.Grant({ accountId: USER_NAME, clientId: params.client_id })
  grant.addOIDCScope(params.scope)
  const result = { login: { accountId: USER_NAME, remember: false }, consent: { grantId: await grant.save() } }
  await provider.interactionFinished(request, response, result)
}

function refused(response, error) {
  response.writeHead(error.statusCode ?? 500).end(`${error.message}\n`)
}

const answer = provider.callback()
const server = http.createServer((request, response) => {
  if (!request.url.startsWith('/interaction/')) return answer(request, response)
  return accept(request, response).catch((error) => refused(response, error))
})
// The load keeps its connections.
server.keepAliveTimeout = 0
server.listen(PORT, '127.0.0.1', 4096)
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => process.exit(0))
