// deploy/traefik, by what stands in for Traefik.
import { startTraefik } from '../support/proxies.js'
import { checks } from './checks.js'

checks('traefik', startTraefik, { upgrades: ['http2-settings'] })
