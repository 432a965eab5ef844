// Envoy with deploy/envoy, over gRPC and over HTTP.
import { startEnvoy } from '../support/proxies.js'
import { checks } from './checks.js'

// Envoy takes a method with small letters for none, and keeps what an application says that does not upgrade to itself.
const options = { smallLetters: 400, keepsTokens: true, refusal: '\r\n\r\n' }

checks('envoy', startEnvoy, options)
checks('envoy-http', (ports) => startEnvoy({ ...ports, file: 'envoy-http.yaml' }), options)
