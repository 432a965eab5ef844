package interop;

import static interop.RelyingParty.SERVER;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.ECDSASigner;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import com.nimbusds.oauth2.sdk.AuthorizationRequest;
import com.nimbusds.oauth2.sdk.PushedAuthorizationRequest;
import com.nimbusds.oauth2.sdk.PushedAuthorizationResponse;
import com.nimbusds.oauth2.sdk.RefreshTokenGrant;
import com.nimbusds.oauth2.sdk.ResponseMode;
import com.nimbusds.oauth2.sdk.ResponseType;
import com.nimbusds.oauth2.sdk.Scope;
import com.nimbusds.oauth2.sdk.TokenErrorResponse;
import com.nimbusds.oauth2.sdk.TokenResponse;
import com.nimbusds.oauth2.sdk.client.ClientRegistrationResponse;
import com.nimbusds.oauth2.sdk.device.DeviceAuthorizationRequest;
import com.nimbusds.oauth2.sdk.device.DeviceAuthorizationResponse;
import com.nimbusds.oauth2.sdk.device.DeviceCodeGrant;
import com.nimbusds.oauth2.sdk.dpop.DefaultDPoPProofFactory;
import com.nimbusds.oauth2.sdk.jarm.JARMValidator;
import com.nimbusds.oauth2.sdk.token.BearerAccessToken;
import com.nimbusds.oauth2.sdk.token.TokenTypeURI;
import com.nimbusds.oauth2.sdk.tokenexchange.TokenExchangeGrant;
import com.nimbusds.openid.connect.sdk.AuthenticationRequest;
import com.nimbusds.openid.connect.sdk.AuthenticationResponseParser;
import com.nimbusds.openid.connect.sdk.rp.ApplicationType;
import com.nimbusds.openid.connect.sdk.rp.OIDCClientMetadata;
import com.nimbusds.openid.connect.sdk.rp.OIDCClientRegistrationRequest;
import com.nimbusds.openid.connect.sdk.rp.OIDCClientRegistrationResponseParser;
import com.nimbusds.openid.connect.sdk.token.OIDCTokens;
import com.nimbusds.openid.connect.sdk.validators.AccessTokenValidator;
import com.nimbusds.openid.connect.sdk.validators.AuthorizationCodeValidator;
import java.net.URI;
import java.time.Instant;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.DisplayNameGeneration;
import org.junit.jupiter.api.DisplayNameGenerator;
import org.junit.jupiter.api.Test;

/** The Nimbus OAuth 2.0 SDK with what came after OAuth 2.0, each when the server announces it. */
@DisplayNameGeneration(DisplayNameGenerator.ReplaceUnderscores.class)
class NimbusExtensionsTest {
  @Test
  void a_pushed_request_is_a_whole_login() throws Exception {
    Features.needs("par");
    RelyingParty party = RelyingParty.withSecret(Map.of("require_pushed_authorization_requests", true));
    party.signIn(pushed(party, party.request().build()));
  }

  @Test
  void tokens_are_bound_to_a_key() throws Exception {
    Features.needs("dpop");
    RelyingParty party = RelyingParty.withSecret(Map.of("dpop_bound_access_tokens", true));
    var dpop = new DefaultDPoPProofFactory(RelyingParty.newKey(), JWSAlgorithm.ES256);
    var code = party.accepted(new Agent().walk(party.request().build().toURI())).getAuthorizationCode();
    OIDCTokens tokens = party.tokens(party.grant(code), dpop);
    assertNotNull(tokens.getDPoPAccessToken());
    assertEquals("alice", RelyingParty.userinfo(tokens.getDPoPAccessToken(), dpop).getSubject().getValue());
    assertNotNull(party.introspect(tokens.getDPoPAccessToken()).getJWKThumbprintConfirmation());
    OIDCTokens refreshed = party.tokens(new RefreshTokenGrant(tokens.getRefreshToken()), dpop);
    assertNotNull(refreshed.getDPoPAccessToken());
  }

  @Test
  void a_signed_request_is_a_whole_login() throws Exception {
    Features.needs("jar");
    ECKey key = RelyingParty.newKey();
    RelyingParty party = signing(key);
    SignedJWT object = signed(party, key);
    party.signIn(new AuthorizationRequest.Builder(object, party.id).endpointURI(SERVER.getAuthorizationEndpointURI()).build().toURI());
  }

  @Test
  void a_signed_request_is_pushed() throws Exception {
    Features.needs("jar");
    Features.needs("par");
    ECKey key = RelyingParty.newKey();
    RelyingParty party = signing(key);
    party.signIn(pushed(party, new AuthorizationRequest.Builder(signed(party, key), party.id).build()));
  }

  @Test
  void a_signed_response_is_a_whole_login() throws Exception {
    Features.needs("jarm");
    for (ResponseMode mode : List.of(ResponseMode.JWT, ResponseMode.QUERY_JWT, ResponseMode.FRAGMENT_JWT)) {
      RelyingParty party = RelyingParty.withSecret(Map.of());
      URI callback = new Agent().walk(party.request().responseMode(mode).build().toURI());
      var validator = new JARMValidator(Server.ISSUER, party.id, JWSAlgorithm.RS256, SERVER.getJWKSetURI().toURL());
      var answer = party.accepted(AuthenticationResponseParser.parse(callback, validator));
      OIDCTokens tokens = party.tokens(party.grant(answer.getAuthorizationCode()), null);
      assertEquals("alice", party.verified(tokens.getIDToken()).getSubject().getValue());
    }
  }

  @Test
  void a_device_without_a_browser_is_let_in() throws Exception {
    Features.needs("device");
    RelyingParty party = RelyingParty.withSecret(Map.of("grant_types", List.of("urn:ietf:params:oauth:grant-type:device_code")));
    var request = new DeviceAuthorizationRequest.Builder(party.authentication)
        .endpointURI(SERVER.getDeviceAuthorizationEndpointURI())
        .scope(Scope.parse("openid"))
        .build();
    var begun = DeviceAuthorizationResponse.parse(request.toHTTPRequest().send()).toSuccessResponse();
    var grant = new DeviceCodeGrant(begun.getDeviceCode());
    assertEquals("authorization_pending", TokenErrorResponse.parse(party.redeem(grant, null)).getErrorObject().getCode());
    URI end = new Agent().walk(begun.getVerificationURIComplete());
    assertTrue(end.toString().startsWith(Server.AFTER_DEVICE.toString()), end.toString());
    Thread.sleep(begun.getInterval() * 1000); // a device that asks sooner is told to slow down
    assertNotNull(party.tokens(grant, null).getIDToken());
  }

  @Test
  void an_access_token_is_exchanged() throws Exception {
    Features.needs("token_exchange");
    RelyingParty party = RelyingParty.withSecret(Map.of("grant_types", List.of("authorization_code", "urn:ietf:params:oauth:grant-type:token-exchange")));
    OIDCTokens tokens = party.signIn(party.request(ResponseType.CODE, "openid profile").build().toURI());
    var grant = new TokenExchangeGrant(tokens.getAccessToken(), TokenTypeURI.ACCESS_TOKEN);
    var exchanged = TokenResponse.parse(party.redeem(grant, null)).toSuccessResponse().getTokens().getAccessToken();
    assertEquals(TokenTypeURI.ACCESS_TOKEN, exchanged.getIssuedTokenType());
    assertEquals("alice", party.introspect(exchanged).getSubject().getValue());
  }

  @Test
  void each_part_of_an_answer_in_the_fragment_is_bound_to_the_id_token() throws Exception {
    Features.needs("implicit");
    Features.needs("hybrid");
    for (String words : List.of("id_token", "id_token token", "code id_token", "code id_token token")) {
      ResponseType type = ResponseType.parse(words);
      RelyingParty party = RelyingParty.withSecret(Map.of("grant_types", List.of("authorization_code", "implicit"), "response_types", List.of(words)));
      var answer = party.accepted(new Agent().walk(party.request(type, "openid").build().toURI()));
      var claims = party.verified(answer.getIDToken());
      if (type.contains(ResponseType.Value.TOKEN)) {
        AccessTokenValidator.validate(answer.getAccessToken(), JWSAlgorithm.RS256, claims.getAccessTokenHash());
      }
      if (type.contains(ResponseType.Value.CODE)) {
        AuthorizationCodeValidator.validate(answer.getAuthorizationCode(), JWSAlgorithm.RS256, claims.getCodeHash());
        assertNotNull(party.tokens(party.grant(answer.getAuthorizationCode()), null).getIDToken());
      }
    }
  }

  @Test
  void a_client_is_told_about_its_token_at_the_public_endpoint() throws Exception {
    Features.needs("introspection");
    RelyingParty party = RelyingParty.withSecret(Map.of());
    OIDCTokens tokens = party.signIn(party.request().build().toURI());
    assertTrue(party.introspect(SERVER.getIntrospectionEndpointURI(), tokens.getAccessToken()).isActive());
    var unknown = new BearerAccessToken("made-up");
    assertFalse(party.introspect(SERVER.getIntrospectionEndpointURI(), unknown).isActive());
  }

  @Test
  void a_client_registers_itself() throws Exception {
    Features.needs("dynamic_registration");
    var metadata = new OIDCClientMetadata();
    metadata.setRedirectionURI(Server.CALLBACK);
    // At a loopback address.
    metadata.setApplicationType(ApplicationType.NATIVE);
    metadata.applyDefaults();
    var request = new OIDCClientRegistrationRequest(SERVER.getRegistrationEndpointURI(), metadata, null);
    ClientRegistrationResponse response = OIDCClientRegistrationResponseParser.parse(request.toHTTPRequest().send());
    assertTrue(response.indicatesSuccess());
  }

  private static URI pushed(RelyingParty party, AuthorizationRequest request) throws Exception {
    var push = new PushedAuthorizationRequest(SERVER.getPushedAuthorizationRequestEndpointURI(), party.authentication, request);
    var response = PushedAuthorizationResponse.parse(push.toHTTPRequest().send());
    assertTrue(response.indicatesSuccess(), () -> response.toErrorResponse().getErrorObject().toString());
    URI name = response.toSuccessResponse().getRequestURI();
    return new AuthorizationRequest.Builder(name, party.id).endpointURI(SERVER.getAuthorizationEndpointURI()).build().toURI();
  }

  private static RelyingParty signing(ECKey key) {
    Map<String, Object> metadata = new HashMap<>(RelyingParty.keys(key));
    metadata.put("request_object_signing_alg", "ES256");
    return RelyingParty.withSecret(metadata);
  }

  private static SignedJWT signed(RelyingParty party, ECKey key) throws Exception {
    AuthenticationRequest request = party.request().build();
    JWTClaimsSet claims = new JWTClaimsSet.Builder(request.toJWTClaimsSet())
        .issuer(party.id.getValue())
        .audience(Server.ISSUER.getValue())
        .issueTime(new Date())
        .notBeforeTime(new Date())
        .expirationTime(Date.from(Instant.now().plusSeconds(60)))
        .build();
    SignedJWT object = new SignedJWT(new JWSHeader.Builder(JWSAlgorithm.ES256).keyID(key.getKeyID()).build(), claims);
    object.sign(new ECDSASigner(key));
    return object;
  }
}
