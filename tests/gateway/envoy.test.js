// deploy/envoy, over gRPC and over HTTP, by what stands in for Envoy.
import { startEnvoy } from '../support/proxies.js'
import { checks } from './checks.js'

// Envoy itself ignores upgrades to h2c, and refuses those that upgrade_configs does not name; what stands in for it does neither.
checks('envoy', startEnvoy, { upgrades: [] })
checks('envoy-http', (ports) => startEnvoy({ ...ports, file: 'envoy-http.yaml' }), { upgrades: [] })
