// An application without a server of its own: pages with oidc-client-ts, as it is published for browsers.
import { once } from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import { register } from './application.js'

const LIBRARY = new URL('../browser/oidc-client-ts.min.js', import.meta.resolve('oidc-client-ts'))

/** What runs where the library is sent back to; of its settings none counts there. */
const CALLBACKS = { '/silent': 'signinSilentCallback', '/popup': 'signinPopupCallback' }

/** Of a user, what tests look at. */
const SUMMARY = `
  const manager = (settings) => new oidc.UserManager(settings)
  const summary = (user) => user && {
    subject: user.profile.sub, session: user.profile.sid, email: user.profile.email, state: user.state, scope: user.scope,
    idToken: user.id_token, accessToken: user.access_token, refreshToken: user.refresh_token,
  }
  const refused = (error) => ({ error: error.error ?? String(error) })`

function pageAt(path) {
  const nobody = JSON.stringify({ authority: 'x', client_id: 'x', redirect_uri: 'x' })
  const callback = CALLBACKS[path] ? `manager(${nobody}).${CALLBACKS[path]}()` : ''
  return `<!doctype html><meta charset="utf-8"><title>The application</title><h1>The application</h1><script src="/oidc.js"></script><script>${SUMMARY}\n${callback}</script>`
}

/**
 * Starts one that is registered at `server` (of `serve`), at a host of the server's site: its frames have the server's cookies.
 *
 * `settings` are for `manager(settings)` in its pages, where `summary(user)` and `refused(error)` are, too.
 */
export async function startSinglePage(server, metadata = {}) {
  const library = fs.readFileSync(LIBRARY)
  const site = http.createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost')
    const [type, body] = pathname === '/oidc.js' ? ['text/javascript', library] : ['text/html', pageAt(pathname)]
    response.writeHead(200, { 'content-type': type }).end(body)
  })
  site.listen(0, '127.0.0.1')
  await once(site, 'listening')
  const url = `http://localhost:${site.address().port}`
  const { client_id } = await register(server, {
    token_endpoint_auth_method: 'none',
    redirect_uris: ['callback', 'silent', 'popup'].map((path) => `${url}/${path}`),
    post_logout_redirect_uris: [`${url}/goodbye`],
    allowed_cors_origins: [url],
    // Who is asked each time cannot be asked in a frame: any program on the machine can listen at localhost.
    skip_consent: true,
    ...metadata,
  })
  return {
    url,
    settings: {
      authority: server.issuer,
      client_id,
      redirect_uri: `${url}/callback`,
      silent_redirect_uri: `${url}/silent`,
      popup_redirect_uri: `${url}/popup`,
      post_logout_redirect_uri: `${url}/goodbye`,
      scope: 'openid email',
      automaticSilentRenew: false,
      silentRequestTimeoutInSeconds: 30,
    },
    stop() {
      site.closeAllConnections()
      return new Promise((closed) => site.close(closed))
    },
  }
}
