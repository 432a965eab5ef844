// Traefik with deploy/traefik: as it is shipped, and with a rule for the application that is longer than any other.
import { startTraefik } from '../support/proxies.js'
import { checks } from './checks.js'

// Traefik hands on what a client asks for, says of no request whether it has a body, and goes by the path that it has cleaned.
const options = { upgrades: ['http2-settings'], tellsOf: [], cleansPaths: true }

checks('traefik', startTraefik, options)

const rule = `PathPrefix(\`/\`) || Path(\`/${'long'.repeat(100)}\`)`
checks('traefik-long', (ports) => startTraefik({ ...ports, rule }), options)
