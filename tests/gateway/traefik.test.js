// deploy/traefik, by what stands in for Traefik: as it is shipped, and with a rule for the application that is longer than any other.
import { startTraefik } from '../support/proxies.js'
import { checks } from './checks.js'

// Traefik hands on what a client asks for, and says of no request whether it has a body. Node, which its stand-in is made with, reads no method
// with small letters.
const options = { upgrades: ['http2-settings'], tellsOf: [], smallLetters: 400 }

checks('traefik', startTraefik, options)

const rule = `PathPrefix(\`/\`) || Path(\`/${'long'.repeat(100)}\`)`
checks('traefik-long', (ports) => startTraefik({ ...ports, rule }), options)
