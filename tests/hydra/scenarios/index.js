// All scenarios, by name, in the order in which they are played: what counts all clients comes first.
import * as clients from './clients.js'
import * as keys from './keys.js'
import * as login from './login.js'
import * as presented from './presented.js'
import * as registration from './registration.js'
import * as responses from './responses.js'
import * as sessions from './sessions.js'
import * as token from './token.js'

export const SCENARIOS = {
  'list clients': clients.list,
  'create a client': clients.create,
  'create a client, refused': clients.createErrors,
  'read and change a client': clients.readAndChange,
  'patch a client': clients.patch,
  'lifespans of a client': clients.lifespans,
  registration: registration.registration,
  'registration, refused': registration.registrationErrors,
  'a whole login': login.flow,
  'a login again': login.again,
  'what is not remembered': login.notRemembered,
  'a login with hints': login.hints,
  'what the pages decide': login.decisions,
  challenges: login.challenges,
  'authorization requests, refused': login.refusedRequests,
  'response types and modes': responses.responseTypes,
  'response types and modes, refused': responses.responseErrors,
  PKCE: responses.pkce,
  codes: token.codes,
  refresh: token.refresh,
  'client credentials': token.clientCredentials,
  assertions: token.assertions,
  'assertions of clients': token.clientAssertions,
  introspection: presented.introspection,
  revocation: presented.revocation,
  userinfo: presented.userinfo,
  'claims of tokens': presented.claims,
  'key sets': keys.keys,
  'what is published': keys.published,
  CORS: keys.cors,
  'consent sessions': sessions.consents,
  'login sessions': sessions.logins,
  logout: sessions.logout,
  'back-channel logout': sessions.backchannel,
}
