// Debian's Caddy with deploy/caddy.
import { startCaddy } from '../support/proxies.js'
import { checks } from './checks.js'

// Caddy 2.6 does not see that a request is in chunks.
checks('caddy', startCaddy, { tellsOf: ['a length'] })
