// deploy/traefik, by what stands in for Traefik: as it is shipped, and with a rule for the application that is longer than any other.
import { startTraefik } from '../support/proxies.js'
import { checks } from './checks.js'

checks('traefik', startTraefik, { upgrades: ['http2-settings'] })

const rule = `PathPrefix(\`/\`) || Path(\`/${'long'.repeat(100)}\`)`
checks('traefik-long', (ports) => startTraefik({ ...ports, rule }), { upgrades: ['http2-settings'] })
