// Debian's Caddy with deploy/caddy.
import { startCaddy } from '../support/proxies.js'
import { checks } from './checks.js'

checks('caddy', startCaddy)
