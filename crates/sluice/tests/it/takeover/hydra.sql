-- The tables of an Ory Hydra 2.3.0, without the columns that nobody reads, and rows as it wrote them.

CREATE TABLE networks (
    id uuid,
    created_at timestamp,
    PRIMARY KEY (id)
);

INSERT INTO networks (id, created_at)
VALUES ('3f8fdb1b-6e67-4a08-a1a2-521d947ca5ae', '2013-10-07 08:23:19');

CREATE TABLE hydra_client (
    id varchar(255),
    client_name text,
    client_secret text,
    scope text,
    owner text,
    policy_uri text,
    tos_uri text,
    client_uri text,
    logo_uri text,
    sector_identifier_uri text,
    jwks text,
    jwks_uri text,
    token_endpoint_auth_method varchar(25),
    request_object_signing_alg varchar(10),
    userinfo_signed_response_alg varchar(10),
    subject_type varchar(15),
    created_at timestamp,
    updated_at timestamp,
    frontchannel_logout_uri text,
    frontchannel_logout_session_required boolean,
    backchannel_logout_uri text,
    backchannel_logout_session_required boolean,
    metadata text,
    token_endpoint_auth_signing_alg varchar(10),
    authorization_code_grant_access_token_lifespan bigint,
    authorization_code_grant_id_token_lifespan bigint,
    authorization_code_grant_refresh_token_lifespan bigint,
    client_credentials_grant_access_token_lifespan bigint,
    implicit_grant_access_token_lifespan bigint,
    implicit_grant_id_token_lifespan bigint,
    jwt_bearer_grant_access_token_lifespan bigint,
    refresh_token_grant_id_token_lifespan bigint,
    refresh_token_grant_access_token_lifespan bigint,
    refresh_token_grant_refresh_token_lifespan bigint,
    registration_access_token_signature varchar(128),
    nid uuid,
    redirect_uris jsonb,
    grant_types jsonb,
    response_types jsonb,
    audience jsonb,
    allowed_cors_origins jsonb,
    contacts jsonb,
    request_uris jsonb,
    post_logout_redirect_uris jsonb,
    access_token_strategy varchar(10),
    skip_consent boolean,
    skip_logout_consent boolean,
    PRIMARY KEY (id, nid)
);

INSERT INTO hydra_client (id, client_secret, scope, jwks, token_endpoint_auth_method, userinfo_signed_response_alg, subject_type, created_at, updated_at, frontchannel_logout_session_required, backchannel_logout_session_required, metadata, registration_access_token_signature, nid, redirect_uris, grant_types, response_types, audience, allowed_cors_origins, contacts, request_uris, post_logout_redirect_uris, skip_consent)
VALUES ('jwtc', '$pbkdf2-sha256$i=25000,l=32$uG0o2FHORnkWTPFMk2MVUA$Ea2O2SSkFxy8rE4V+U3/ALCEaQA63L3mPYct6XekSvE', 'photos', '{}', 'client_secret_jwt', 'none', 'public', '2024-11-28 01:09:30', '2024-11-28 01:09:29.737715', 'false', 'false', '{}', 'tQ9rswEiiFT_Ip0TP7sh28cwsK4hvkFxTuQR4-WijMo', '3f8fdb1b-6e67-4a08-a1a2-521d947ca5ae', '[]', '["client_credentials"]', '[]', '[]', '[]', '[]', '[]', '[]', 'false');
INSERT INTO hydra_client (id, client_secret, scope, jwks, token_endpoint_auth_method, userinfo_signed_response_alg, subject_type, created_at, updated_at, frontchannel_logout_session_required, backchannel_logout_session_required, metadata, registration_access_token_signature, nid, redirect_uris, grant_types, response_types, audience, allowed_cors_origins, contacts, request_uris, post_logout_redirect_uris, skip_consent)
VALUES ('post', '$2a$08$5GlNj/LJH.JIP42kjluHVO6zmAxLI.hAFXlRzVlA1V9j5COs0GW1W', 'photos', '{}', 'client_secret_post', 'none', 'public', '2024-11-28 01:09:30', '2024-11-28 01:09:29.663411', 'false', 'false', '{}', 'cMIMrnDQzyUPLqurbWIMuu07STNhQtH4JBnDM--hgE0', '3f8fdb1b-6e67-4a08-a1a2-521d947ca5ae', '[]', '["client_credentials"]', '[]', '[]', '[]', '[]', '[]', '[]', 'false');
INSERT INTO hydra_client (id, client_secret, scope, owner, policy_uri, tos_uri, client_uri, logo_uri, jwks, token_endpoint_auth_method, request_object_signing_alg, userinfo_signed_response_alg, subject_type, created_at, updated_at, frontchannel_logout_uri, frontchannel_logout_session_required, backchannel_logout_uri, backchannel_logout_session_required, metadata, authorization_code_grant_access_token_lifespan, refresh_token_grant_refresh_token_lifespan, registration_access_token_signature, nid, redirect_uris, grant_types, response_types, audience, allowed_cors_origins, contacts, request_uris, post_logout_redirect_uris, access_token_strategy, skip_consent, skip_logout_consent)
VALUES ('rich', '$pbkdf2-sha256$i=25000,l=32$XG4YxpsAmcA8VJsrNqPTuA$pSE/JLzy1Pnrfmkt0rJnpIjz8CY6xBRtk70dvpCFJaA', 'openid offline', 'me', 'https://p/', 'https://t/', 'https://c/', 'https://l/x.png', '{}', 'client_secret_basic', 'RS256', 'RS256', 'public', '2024-11-28 01:09:30', '2024-11-28 01:09:29.782294', 'https://r.example.com/f', 'true', 'https://r.example.com/b', 'true', '{"a": 1}', '7200000000000', '2592000000000000', 'xK76_rGcVhwTP-MbO1kXnWi-PlFVhyOrNlATo378BiQ', '3f8fdb1b-6e67-4a08-a1a2-521d947ca5ae', '["https://r.example.com/cb"]', '["authorization_code", "refresh_token"]', '["code"]', '[]', '["https://r.example.com"]', '["a@b"]', '["https://r.example.com/ro"]', '["https://r.example.com/out"]', 'jwt', 'true', 'true');
INSERT INTO hydra_client (id, client_secret, scope, jwks, token_endpoint_auth_method, userinfo_signed_response_alg, subject_type, created_at, updated_at, frontchannel_logout_session_required, backchannel_logout_session_required, metadata, registration_access_token_signature, nid, redirect_uris, grant_types, response_types, audience, allowed_cors_origins, contacts, request_uris, post_logout_redirect_uris, skip_consent)
VALUES ('spa', '$pbkdf2-sha256$i=25000,l=32$BeM6+CxuPFAwgzrdmgmmOg$RbH01TbGB6XmS/c1ZA+UUQr4FU1ml0T84yBUZZfyIyk', 'openid offline', '{}', 'none', 'none', 'public', '2024-11-28 01:09:30', '2024-11-28 01:09:29.71034', 'false', 'false', '{}', 'AyG_B6Bb4pcvGDVL77gNwFzQqTNcgKNdVMaSBq4HY7s', '3f8fdb1b-6e67-4a08-a1a2-521d947ca5ae', '["https://spa.example.com/cb"]', '["authorization_code", "refresh_token"]', '["code"]', '[]', '[]', '[]', '[]', '[]', 'false');
INSERT INTO hydra_client (id, client_name, client_secret, scope, jwks, token_endpoint_auth_method, userinfo_signed_response_alg, subject_type, created_at, updated_at, frontchannel_logout_session_required, backchannel_logout_session_required, metadata, registration_access_token_signature, nid, redirect_uris, grant_types, response_types, audience, allowed_cors_origins, contacts, request_uris, post_logout_redirect_uris, skip_consent)
VALUES ('web', 'Web shop', '$pbkdf2-sha256$i=25000,l=32$WCDOa3jTNJRI9Eia7I15tQ$o48v5u6TEvywWznTnqzvY4os1/bfRKV8PgicfS2fCxo', 'openid offline photos', '{}', 'client_secret_basic', 'none', 'public', '2024-11-28 01:09:30', '2024-11-28 01:09:29.643307', 'false', 'false', '{}', 'Cy2_DDBT9vZirP2qZLb1zbIPZoDRKonvPnteNYbow-I', '3f8fdb1b-6e67-4a08-a1a2-521d947ca5ae', '["https://web.example.com/cb"]', '["authorization_code", "refresh_token", "client_credentials"]', '["code"]', '["https://api.example.com"]', '[]', '[]', '[]', '[]', 'false');

CREATE TABLE hydra_jwk (
    sid varchar(255),
    kid varchar(255),
    keydata text,
    created_at timestamp,
    pk uuid,
    nid uuid,
    PRIMARY KEY (pk)
);

INSERT INTO hydra_jwk (sid, kid, keydata, created_at, pk, nid)
VALUES ('https://partner.example.com', 'trust-1', 'mlppA44JLC_hKLiBn06Q2qCZkDLqMpRJpCIsLbTTinD3CCWIhAcvsrdt0TqouSu_-i0TgdoBzMtq3QvQMt2KkffAzbc9l1dZ4FkPrGKdzYF-o--JTsmeILwwYalTSSsDrCRqpdsshZ19WIHJEbzYtsLDpmM_qa1gT4FjLY0uOtG_TVbnyyPkGJutHsGUpurJeujeON3kinnN5INiHXMT0rfbemHv_8or_RbybaytyWBNiyPXPOPUkuiFxZZL3phuWnDyQQ==', '2024-11-28 01:08:55.891837', 'b34155b6-e810-453b-957f-cf96562ef1f6', '3f8fdb1b-6e67-4a08-a1a2-521d947ca5ae');
INSERT INTO hydra_jwk (sid, kid, keydata, created_at, pk, nid)
VALUES ('hydra.openid.id-token', 'hydra-es256', '1o91Bi94ZhP1XdbxN1usnwuC0I8GX83R4tz1xEv9gnZtYfwCy50nlnKTJyZ_uWujJc-cJB2m7Q9hEXvuZ4_T1svyRis_rrnbl9FZfTIyvol52cZbLdZ65Ppq45fRDThnd2sDZWV5B08Ql2ZXMQp493OxbECnmc3wJgmXTNPwr3WvWKwWa_68vlUs3YWQlrFg37-JUHtHWvXDiYHA1zGexF2DHTththsBwG4xuztZqu4-0Cl_SdnC_OEgrXCiqMx5kFZOc4xKsyVPFxXjbXFljlfuYs8D6PfXplStAmzaLtL9e8AWWpa6IqQTo49yQsFSQQLcfDFtLLaFGw==', '2024-11-28 01:23:53.667571', '63fc78be-9c9b-4391-9c71-019486d1c063', '3f8fdb1b-6e67-4a08-a1a2-521d947ca5ae');

CREATE TABLE hydra_oauth2_trusted_jwt_bearer_issuer (
    id uuid,
    issuer varchar(255),
    subject varchar(255),
    scope text,
    key_set varchar(255),
    key_id varchar(255),
    created_at timestamp,
    expires_at timestamp,
    nid uuid,
    allow_any_subject boolean,
    PRIMARY KEY (id)
);

INSERT INTO hydra_oauth2_trusted_jwt_bearer_issuer (id, issuer, subject, scope, key_set, key_id, created_at, expires_at, nid, allow_any_subject)
VALUES ('8b55a320-dc5d-44a2-ba35-25bf795cd63c', 'https://partner.example.com', 'partner-user', 'photos', 'https://partner.example.com', 'trust-1', '2024-11-28 01:08:56', '2099-01-01 00:00:00', '3f8fdb1b-6e67-4a08-a1a2-521d947ca5ae', 'false');

CREATE TABLE hydra_oauth2_flow (
    login_challenge varchar(40),
    subject varchar(255),
    client_id varchar(255),
    requested_at timestamp,
    login_session_id varchar(40),
    state integer,
    acr text,
    login_authenticated_at timestamp,
    forced_subject_identifier varchar(255),
    context jsonb,
    consent_challenge_id varchar(40),
    consent_skip boolean,
    consent_remember boolean,
    consent_remember_for integer,
    consent_handled_at timestamp,
    consent_error text,
    session_access_token jsonb,
    session_id_token jsonb,
    nid uuid,
    requested_scope jsonb,
    requested_at_audience jsonb,
    amr jsonb,
    granted_scope jsonb,
    granted_at_audience jsonb,
    PRIMARY KEY (login_challenge)
);

INSERT INTO hydra_oauth2_flow (login_challenge, subject, client_id, requested_at, login_session_id, state, acr, login_authenticated_at, context, consent_challenge_id, consent_skip, consent_remember, consent_remember_for, consent_handled_at, consent_error, session_access_token, session_id_token, nid, requested_scope, requested_at_audience, amr, granted_scope, granted_at_audience)
VALUES ('56840c77f4f446a7a396f09493f5e05e', 'bob', 'web', '2024-11-28 01:09:29', 'd02026d7-b1bc-4ee0-a7a7-42f648cc1eb7', '6', '2', '2024-11-28 01:09:29', '{"c": 1}', '65111128-a78d-4f6b-87f0-118d20f8e558', 'false', 'true', '3600', '2024-11-28 01:09:29.988185', '{}', '{"plan": "gold"}', '{"email": "alice@example.com"}', '3f8fdb1b-6e67-4a08-a1a2-521d947ca5ae', '["openid", "offline"]', '[]', '["pwd", "otp"]', '["openid", "offline"]', '[]');
INSERT INTO hydra_oauth2_flow (login_challenge, subject, client_id, requested_at, login_session_id, state, acr, login_authenticated_at, context, consent_challenge_id, consent_skip, consent_remember, consent_remember_for, consent_handled_at, consent_error, session_access_token, session_id_token, nid, requested_scope, requested_at_audience, amr, granted_scope, granted_at_audience)
VALUES ('68aac63e34b14a738ca440164d70fc64', 'alice', 'web', '2024-11-28 01:09:29', '9634ebd8-4a2d-4642-95d6-5d4fe212c1f7', '6', '2', '2024-11-28 01:09:29', '{"c": 1}', 'd64fcbec-c322-4c44-b433-b838669a087b', 'false', 'true', '0', '2024-11-28 01:09:29.840082', '{}', '{"plan": "gold"}', '{"email": "alice@example.com"}', '3f8fdb1b-6e67-4a08-a1a2-521d947ca5ae', '["openid", "offline", "photos"]', '["https://api.example.com"]', '["pwd", "otp"]', '["openid", "offline", "photos"]', '["https://api.example.com"]');
INSERT INTO hydra_oauth2_flow (login_challenge, subject, client_id, requested_at, login_session_id, state, acr, login_authenticated_at, context, consent_challenge_id, consent_skip, consent_remember, consent_remember_for, consent_handled_at, consent_error, session_access_token, session_id_token, nid, requested_scope, requested_at_audience, amr, granted_scope, granted_at_audience)
VALUES ('e1b43021acf74d3382a947d73502114b', 'carol', 'spa', '2024-11-28 01:09:30', '11ada33b-804e-4e76-af65-bb0c85a927a5', '6', '2', '2024-11-28 01:09:30', '{"c": 1}', '02512e90-def0-4f64-8def-472a14728070', 'false', 'false', '0', '2024-11-28 01:09:30.083829', '{}', '{"plan": "gold"}', '{"email": "alice@example.com"}', '3f8fdb1b-6e67-4a08-a1a2-521d947ca5ae', '["openid", "offline"]', '[]', '["pwd", "otp"]', '["openid", "offline"]', '[]');

CREATE TABLE hydra_oauth2_refresh (
    signature varchar(255),
    request_id varchar(40),
    requested_at timestamp,
    client_id varchar(255),
    scope text,
    granted_scope text,
    session_data text,
    subject varchar(255),
    active boolean,
    requested_audience text,
    granted_audience text,
    challenge_id varchar(40),
    nid uuid,
    expires_at timestamp,
    first_used_at timestamp,
    PRIMARY KEY (signature)
);

INSERT INTO hydra_oauth2_refresh (signature, request_id, requested_at, client_id, scope, granted_scope, session_data, subject, active, challenge_id, nid, expires_at)
VALUES ('56dlBb7MuTgsVCDK9p5JD27S6vDz7BAxxuY40SySGOw', '02512e90-def0-4f64-8def-472a14728070', '2024-11-28 01:09:30.100492', 'spa', 'openid|offline', 'openid|offline', 'SMwPVPgdWO2JZ14cSCbBTOfXo7iCYGZ9gwTlaPOVZJWvpPY70kgGNwQwHi0ol1P3Etei7KkVavIEY8u0ydOn5-MCihHZzFst8_xGwTWxWftlGIkLHMcdlJeUxsS_EUeeV_eJTHTwZVbcwjCvqaycyYzjKl8mQSvkT0PARggaLwfIcOfzCekxb5B3c2kzH3S_HioxHZFOmrI5zwoANYdZgo2LUsV2K2yeI7-FqSfCSXbHNbG1_fSmzyWqtnHQF4E6cd8BptFgryKePRaccdSa-CoiWG0E2kdSyU4W1r29dvLFJvaxB_9aAmS5ljKZ5uzZuPRxjepeWPFBmZ-I3p_d0_jKzKwUJY5xIDbhLty-YM2b_nygzsXH74emCW0eVtdx_wRmZfpRdZBNSzB89sDAtYtNdXYnV-gOeOSFbPQfAGygU7MSSwoVn8T6S3ZjK0bskLsZxToYtLDPkODi0hsxND-uZnt9X2leImm2rQjjx0S0gK3pfya5jum7FxMwbudHItL7zAIjuk6pk1-DWEn7wOV-329rDK15ApBWoXO5Hvb81uj6bz-KBPzxpeMWLNuql0sMf-KukyvDfAt41K1P9H0ITULf8b6MKWE-znlDY6xFjYaszL0KHwLehpY-kSfg0_yPqbTETldJHbsUsasY-3adkqKfeVnKr-29CS8-AD67lL1N1CUWSKvmOUkppWHzxxIPzWUYpg8151pO2jHqei6rXmNzoHsx0QiYdj0XBjdVp2pPhR39RyFI9LDqbaTThSsgwyIiZVRMs_GF1tYykXPJhx911Z3xoefGqTSS6jF4W14FfQdq7QxK1Tfk3oj4lK_g1umfi6dTUrReCm7eWQf9gmfjX0fpeJpZ2uyy31aW1sTtuV9wtGTgU2Y4iawVpmGAK11LkcDkbaYso3rROflmJlHvBbl4afzPBUl3EmCGlTjxpBqPWbdYbweU_5yQj0cqpA03iKocCciwygbvGvFn3vAP2BMGDQjjvvfT9BvfdX1XL_qH3mytvV-y17RoTL5GUNQEMOW5wnRTkS3_3LQcn6XSz8ZFOV9KplhpkALWq0RSNRdGXa2AraxkbN4FcA5ytyDh6xLY1cgeBFpRaKu_kNKTlrLECnhghJMd1z-FEw-K4A==', 'carol', 'false', '02512e90-def0-4f64-8def-472a14728070', '3f8fdb1b-6e67-4a08-a1a2-521d947ca5ae', '2099-12-28 01:09:30');
INSERT INTO hydra_oauth2_refresh (signature, request_id, requested_at, client_id, scope, granted_scope, session_data, subject, active, requested_audience, granted_audience, challenge_id, nid, expires_at)
VALUES ('bfMKCQ4SRdrFMNMytClZau6UVv61l3OFhf3zPdqj3js', 'd64fcbec-c322-4c44-b433-b838669a087b', '2024-11-28 01:09:29.889604', 'web', 'openid|offline|photos', 'openid|offline|photos', 'sX9HWbabctpq0LU2M5XljUUY6ASKrHDFgF7_6hkc3lw6eqXS-AqDShq50cNIHfup2-42sAgdOJcm9CXy_lENNCbH6n_rm7_yqQne-eVZRYbVXA3A24Rd6vw4TFifcc8UE9oP4lzj9zAnlcXR0aJVaZGM37K1yVWSEp5xqfBE3TUi0xuMoE1Q7gRQTEu2yL1Dp0TT3VzkaBNc5k76Qmu8DPHt1kKRA6IDUgbA2C3oNO1KNlIK4W1to2xZtDej8CRWOSszcRIg9VbFx-_2Vp81J866hpK5y8j6eA6AiDBVu6P4QdW0npar1QYlvtn9v7Wxv34GuZ4_Oqez2FXv2nnlUhldFfI4cc8QbeLtpAyMMYwjKroZ7CAK_XgWqLdATFUc0zxBCHWsEOBBEVcDgo9XFBXSSp_HHfO9yd5GdckeUBAIlsMEhfNDYT9VPzJXgKES65EyeA6i4BvFGadxPzpbTh5ueS84XFs6KXksJBK9ogPS8nBoRXK5oFyL9mZNoUjZCv1oy5qoKJYqN8Nb4KG2Mu1XrbLJiPcEbQQERc9siW3e9dh4Nbp8_ZEs4VsQAFDhSGtVMOkcWOiS-b5yo_t8X9CM6Ums24C0Xxlubd-c6CSFVSpEOrdNOt1jvpSU1sizUic8fetJA3vbbrz1w_pJvGIt265C7EmCzW8srtFoBt0zsJDPzAOj1YTnkRt_WA82zYGd_Ed_eKvUV35X3QIIgJuU2_y8wpiYqLSFhSlho-SH7ij_8TXnMGuVEbFtivPb_xfaYG5R6kvxfoRTsy87EAfgDEbP3fEXtbuSa6Q9ae1vwWCMHSyQM6uzCw6SujfuUVO9fegFCTcV77WMkVHQNBS78uBrsowg4glQdptpE7nfJsXaUbpO1Ig1gxWyfOeRsvPexpN00_2lqKivyq7JkNsmCg4t3wf-QJX_gKyI4zM9lMyOhWL0ip7yqj6mXyTsmZqf4TX4UTz0q0iu1E40vHngSZfszbbEGXRuQ4BTHR1BK2lx7LDQxxChMXfK44_uvA6aAwTQMAoWTBeBxZ9_0QeKyHpp79mk5k3CFA3F5eZOfLeg7G4bgSkSRMhoiGhPH6h2jCHMYKqJ4h84tZyjYeRpJe5rVYCHDd9NwFzVSxg29vOqhg==', 'alice', 'true', 'https://api.example.com', 'https://api.example.com', 'd64fcbec-c322-4c44-b433-b838669a087b', '3f8fdb1b-6e67-4a08-a1a2-521d947ca5ae', '2099-12-28 01:09:30');
INSERT INTO hydra_oauth2_refresh (signature, request_id, requested_at, client_id, scope, granted_scope, session_data, subject, active, challenge_id, nid, expires_at)
VALUES ('d6mboo37Fh_fk56IvOhXQ7IG2YOTu66oA6NwlmKmq9s', '02512e90-def0-4f64-8def-472a14728070', '2024-11-28 01:09:30.118173', 'spa', 'openid|offline', 'openid|offline', 'OgS3dFjZyw8D6GBhGQ3wIiwiyn62oKmjYn16vlXaYrGqDSSGtPMiJg3p3tOM8U0DVlX0Nz9kJQhyqW7bp2-Zqze42tN29aAz08HgH6_g30fKydVM7asIPyHkdUEP3kBGWhsBG-5H_3-ywpurUPSUUaCAO8wPrhT8WO6x2IWHDWrPmfqqoGUu_YLkCbuE-oxKDcKk2qZErM14gtrgoOPWELKKBm_aEE2jSAlqfXygSicauoz3Mv1GfNLNPvds1bsfYmPzr4LnTRXj86-hx3dPzLUu2Xk9jpP4y9zVcR6Or4tGQLqgSXeT-YKE_0JiDLP_XjqaG2tL7ZXqNXm1Mel81sKY4BNG8tQwtltgERCziZeR7h-XRZSKFfrbLtROIjVWGqC0W-IVw4gubMFcMusX8R7yeh03LqXexw0bRrvhiqQpB0zF0EDRGFbSXIRVjTQUyAZTf0kAjFtPFH40LJ5_Aa1b-6_hke0-hbTRzt2WKg6ext9xJMTsUEXwWkPuRKbiL1xdlOfhMc8UCOf03Ro0WBgjK1HMUyf0vp1ryah6Zpl1SnWujtby0mJY51ac_uTbEF2d6Lz4YTgbA4z2h1tXSUPsP0ZoZ714oL3id2-12vrGjfIqN97q0sEPy20yvpDqO6Maq-zgmS5rw1V-yORFVr0qHhSqtAtv8CVUMJiIle6AmF5irjX2mLi0xh2k1zVslIFlnLz-wAwGyOMAQEC-apRFLbUu49GHdAhzgfWaoLa52aBt9EfLP0I2T0ZoZ08cfqWHo7x2klvYRBUDwEAokt4U1Xz0Cx42IZlUvruUOfBHhjhcIa_lXwNr7AOxc7i0FD4yF2D6vOF3ERAYC32_S0B4QAq4MrztDInP7mEIn_dvAJ4V8lqxRtUd1CFGXlTKI5qL_kTHr24L4RRpcMxhuM7E1Y1JFHaI7FHgHjtByZEGvg7qm43yDGiUTcgAiGFzacpN-WIrD3Dx4n-xBoEL_z_fq_VorDjjQT1Xl52XqexEVasLCsxxADEYehAFanTRreiCAjW4VjNPCqIwwbAtOgPm0rRGHbhRYnvpx4Z4VNf9HgmzCkc9T6d244RF6VHP6RnO-kuKakN773EH45agctU92G56PsH-8FFoJvr89X017GJxnQ==', 'carol', 'true', '02512e90-def0-4f64-8def-472a14728070', '3f8fdb1b-6e67-4a08-a1a2-521d947ca5ae', '2099-12-28 01:09:30');
