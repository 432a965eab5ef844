package interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.KeyUse;
import com.nimbusds.jose.jwk.gen.ECKeyGenerator;
import com.nimbusds.jwt.JWT;
import com.nimbusds.oauth2.sdk.AuthorizationCode;
import com.nimbusds.oauth2.sdk.AuthorizationCodeGrant;
import com.nimbusds.oauth2.sdk.AuthorizationGrant;
import com.nimbusds.oauth2.sdk.ResponseType;
import com.nimbusds.oauth2.sdk.Scope;
import com.nimbusds.oauth2.sdk.TokenIntrospectionRequest;
import com.nimbusds.oauth2.sdk.TokenIntrospectionResponse;
import com.nimbusds.oauth2.sdk.TokenIntrospectionSuccessResponse;
import com.nimbusds.oauth2.sdk.TokenRequest;
import com.nimbusds.oauth2.sdk.auth.ClientAuthentication;
import com.nimbusds.oauth2.sdk.auth.ClientSecretBasic;
import com.nimbusds.oauth2.sdk.auth.PrivateKeyJWT;
import com.nimbusds.oauth2.sdk.auth.Secret;
import com.nimbusds.oauth2.sdk.dpop.DPoPProofFactory;
import com.nimbusds.oauth2.sdk.http.HTTPRequest;
import com.nimbusds.oauth2.sdk.http.HTTPResponse;
import com.nimbusds.oauth2.sdk.id.ClientID;
import com.nimbusds.oauth2.sdk.id.State;
import com.nimbusds.oauth2.sdk.pkce.CodeChallengeMethod;
import com.nimbusds.oauth2.sdk.pkce.CodeVerifier;
import com.nimbusds.oauth2.sdk.token.AccessToken;
import com.nimbusds.oauth2.sdk.token.Token;
import com.nimbusds.openid.connect.sdk.AuthenticationRequest;
import com.nimbusds.openid.connect.sdk.AuthenticationResponse;
import com.nimbusds.openid.connect.sdk.AuthenticationResponseParser;
import com.nimbusds.openid.connect.sdk.AuthenticationSuccessResponse;
import com.nimbusds.openid.connect.sdk.Nonce;
import com.nimbusds.openid.connect.sdk.OIDCTokenResponse;
import com.nimbusds.openid.connect.sdk.OIDCTokenResponseParser;
import com.nimbusds.openid.connect.sdk.UserInfoRequest;
import com.nimbusds.openid.connect.sdk.UserInfoResponse;
import com.nimbusds.openid.connect.sdk.claims.IDTokenClaimsSet;
import com.nimbusds.openid.connect.sdk.claims.UserInfo;
import com.nimbusds.openid.connect.sdk.op.OIDCProviderMetadata;
import com.nimbusds.openid.connect.sdk.token.OIDCTokens;
import com.nimbusds.openid.connect.sdk.validators.IDTokenValidator;
import java.net.URI;
import java.net.URL;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A registered client and what an application does with it, each step by the SDK. */
final class RelyingParty {
  static final OIDCProviderMetadata SERVER = Server.metadata();

  final ClientID id;
  final ClientAuthentication authentication;
  final State state = new State();
  final Nonce nonce = new Nonce();
  final CodeVerifier verifier = new CodeVerifier();

  private RelyingParty(ClientID id, ClientAuthentication authentication) {
    this.id = id;
    this.authentication = authentication;
  }

  /** A client with a secret; {@code metadata} is added to its registration. */
  static RelyingParty withSecret(Map<String, Object> metadata) {
    Map<String, Object> client = Server.createClient(metadata);
    ClientID id = new ClientID((String) client.get("client_id"));
    return new RelyingParty(id, new ClientSecretBasic(id, new Secret((String) client.get("client_secret"))));
  }

  /** A client that proves itself with a signature. */
  static RelyingParty withKey(ECKey key) throws JOSEException {
    Map<String, Object> metadata = new HashMap<>(keys(key));
    metadata.put("token_endpoint_auth_method", "private_key_jwt");
    metadata.put("token_endpoint_auth_signing_alg", "ES256");
    ClientID id = new ClientID((String) Server.createClient(metadata).get("client_id"));
    URI audience = SERVER.getTokenEndpointURI();
    return new RelyingParty(id, new PrivateKeyJWT(id, audience, JWSAlgorithm.ES256, key.toECPrivateKey(), key.getKeyID(), null));
  }

  static ECKey newKey() throws JOSEException {
    return new ECKeyGenerator(Curve.P_256).keyUse(KeyUse.SIGNATURE).keyID("k1").algorithm(JWSAlgorithm.ES256).generate();
  }

  static Map<String, Object> keys(ECKey key) {
    return Map.of("jwks", Map.of("keys", List.of(key.toPublicJWK().toJSONObject())));
  }

  /** An authorization request with state, nonce and PKCE. */
  AuthenticationRequest.Builder request(ResponseType type, String scope) {
    return new AuthenticationRequest.Builder(type, Scope.parse(scope), id, Server.CALLBACK)
        .endpointURI(SERVER.getAuthorizationEndpointURI())
        .state(state)
        .nonce(nonce)
        .codeChallenge(verifier, CodeChallengeMethod.S256);
  }

  AuthenticationRequest.Builder request() {
    return request(ResponseType.CODE, "openid offline_access");
  }

  /** The answer at the callback, which must be a success, of this request and of this server (RFC 9207). */
  AuthenticationSuccessResponse accepted(URI callback) throws Exception {
    return accepted(AuthenticationResponseParser.parse(callback));
  }

  AuthenticationSuccessResponse accepted(AuthenticationResponse response) {
    assertTrue(response.indicatesSuccess(), () -> response.toErrorResponse().getErrorObject().toString());
    AuthenticationSuccessResponse success = response.toSuccessResponse();
    assertEquals(state, success.getState());
    if (success.getIDToken() == null) { // which says itself who issued it
      assertEquals(Server.ISSUER, success.getIssuer());
    }
    return success;
  }

  AuthorizationGrant grant(AuthorizationCode code) {
    return new AuthorizationCodeGrant(code, Server.CALLBACK, verifier);
  }

  /** Redeems the grant at the token endpoint; {@code dpop} may be null. */
  HTTPResponse redeem(AuthorizationGrant grant, DPoPProofFactory dpop) throws Exception {
    HTTPRequest request = new TokenRequest.Builder(SERVER.getTokenEndpointURI(), authentication, grant).build().toHTTPRequest();
    if (dpop != null) {
      request.setDPoP(dpop.createDPoPJWT("POST", SERVER.getTokenEndpointURI()));
    }
    return request.send();
  }

  OIDCTokens tokens(AuthorizationGrant grant, DPoPProofFactory dpop) throws Exception {
    var response = OIDCTokenResponseParser.parse(redeem(grant, dpop));
    assertTrue(response.indicatesSuccess(), () -> response.toErrorResponse().getErrorObject().toString());
    return ((OIDCTokenResponse) response.toSuccessResponse()).getOIDCTokens();
  }

  /** A whole login by way of {@code url}. */
  OIDCTokens signIn(URI url) throws Exception {
    OIDCTokens tokens = tokens(grant(accepted(new Agent().walk(url)).getAuthorizationCode()), null);
    assertEquals("alice", verified(tokens.getIDToken()).getSubject().getValue());
    return tokens;
  }

  /** The claims of an id token that is signed by the server, for this client, in answer to this request. */
  IDTokenClaimsSet verified(JWT token) throws Exception {
    URL keys = SERVER.getJWKSetURI().toURL();
    return new IDTokenValidator(Server.ISSUER, id, JWSAlgorithm.RS256, keys).validate(token, nonce);
  }

  static UserInfo userinfo(AccessToken token, DPoPProofFactory dpop) throws Exception {
    URI endpoint = SERVER.getUserInfoEndpointURI();
    HTTPRequest request = new UserInfoRequest(endpoint, token).toHTTPRequest();
    if (dpop != null) {
      request.setDPoP(dpop.createDPoPJWT("GET", endpoint, token));
    }
    UserInfoResponse response = UserInfoResponse.parse(request.send());
    assertTrue(response.indicatesSuccess(), () -> response.toErrorResponse().getErrorObject().toString());
    return response.toSuccessResponse().getUserInfo();
  }

  TokenIntrospectionSuccessResponse introspect(URI endpoint, Token token) throws Exception {
    var request = new TokenIntrospectionRequest(endpoint, authentication, token);
    TokenIntrospectionResponse response = TokenIntrospectionResponse.parse(request.toHTTPRequest().send());
    assertTrue(response.indicatesSuccess());
    return response.toSuccessResponse();
  }

  /** By the admin API, which asks for no proof. */
  TokenIntrospectionSuccessResponse introspect(Token token) throws Exception {
    return introspect(URI.create(Server.ADMIN + "/admin/oauth2/introspect"), token);
  }
}
