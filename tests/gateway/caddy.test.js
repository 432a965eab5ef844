// Debian's Caddy with deploy/caddy.
import { startCaddy } from '../support/proxies.js'
import { checks } from './checks.js'

await checks('caddy', startCaddy)
