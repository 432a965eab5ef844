// deploy/envoy, over gRPC and over HTTP, by what stands in for Envoy.
import { startEnvoy } from '../support/proxies.js'
import { checks } from './checks.js'

checks('envoy', startEnvoy)
checks('envoy-http', (ports) => startEnvoy({ ...ports, file: 'envoy-http.yaml' }))
