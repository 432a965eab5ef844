//! What a client may register beyond Hydra's document, by the names that IANA's registry has. Absent members are left out, so that
//! what Hydra's clients read stays as Hydra writes it.

use serde::{Deserialize, Serialize};
use sluice_oauth::client::{
    CertificateName, Client, ClientMetadata, ClientSecurity, Encryption, RequestDefaults, ResponseFormats,
    SecurityProfile, Software, TokenExchangePolicy,
};

/// The members.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
pub(super) struct ExtensionsBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    security_profile: Option<SecurityProfile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    require_pushed_authorization_requests: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    require_signed_request_object: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dpop_bound_access_tokens: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tls_client_certificate_bound_access_tokens: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tls_client_auth_subject_dn: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tls_client_auth_san_dns: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tls_client_auth_san_uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tls_client_auth_san_ip: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tls_client_auth_san_email: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authorization_signed_response_alg: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authorization_encrypted_response_alg: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authorization_encrypted_response_enc: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id_token_encrypted_response_alg: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id_token_encrypted_response_enc: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    userinfo_encrypted_response_alg: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    userinfo_encrypted_response_enc: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    introspection_signed_response_alg: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    introspection_encrypted_response_alg: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    introspection_encrypted_response_enc: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_object_encryption_alg: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_object_encryption_enc: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    access_token_signed_response_alg: Option<String>,
    /// A member of Sluice's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    access_token_jwt_typ: Option<String>,
    /// A member of Sluice's own; `true` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    authorization_response_iss: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_max_age: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    require_auth_time: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_acr_values: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    initiate_login_uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    application_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    software_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    software_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authorization_details_types: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_exchange: Option<TokenExchangeBody>,
}

/// What the client may exchange tokens for; a member of Sluice's own.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
struct TokenExchangeBody {
    impersonation: bool,
    delegation: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subject_token_clients: Vec<String>,
}

impl ExtensionsBody {
    /// Adds the members to what the client asks to be.
    ///
    /// # Errors
    /// A sentence that names the member.
    pub(super) fn apply(self, metadata: &mut ClientMetadata) -> Result<(), String> {
        metadata.security = self.security()?;
        metadata.formats = self.formats()?;
        metadata.defaults = RequestDefaults {
            max_age: self.default_max_age,
            require_auth_time: self.require_auth_time.unwrap_or_default(),
            acr_values: self.default_acr_values.unwrap_or_default(),
            initiate_login_uri: filled(self.initiate_login_uri),
        };
        metadata.software = Software {
            application_type: self.application_type.unwrap_or_default(),
            id: self.software_id.unwrap_or_default(),
            version: self.software_version.unwrap_or_default(),
        };
        metadata.authorization_details_types = self.authorization_details_types.unwrap_or_default();
        let exchange = self.token_exchange.unwrap_or_default();
        metadata.token_exchange = TokenExchangePolicy {
            impersonation: exchange.impersonation,
            delegation: exchange.delegation,
            subject_token_clients: exchange.subject_token_clients,
        };
        Ok(())
    }

    fn security(&self) -> Result<ClientSecurity, String> {
        let names = [
            filled(self.tls_client_auth_subject_dn.clone()).map(CertificateName::SubjectDn),
            filled(self.tls_client_auth_san_dns.clone()).map(CertificateName::SanDns),
            filled(self.tls_client_auth_san_uri.clone()).map(CertificateName::SanUri),
            filled(self.tls_client_auth_san_ip.clone()).map(CertificateName::SanIp),
            filled(self.tls_client_auth_san_email.clone()).map(CertificateName::SanEmail),
        ];
        let mut names = names.into_iter().flatten();
        let (name, another) = (names.next(), names.next());
        if another.is_some() {
            return Err("Only one of the tls_client_auth_ fields can be set.".to_owned());
        }
        Ok(ClientSecurity {
            profile: self.security_profile.unwrap_or_default(),
            require_pushed_authorization_requests: self
                .require_pushed_authorization_requests
                .unwrap_or_default(),
            require_signed_request_object: self.require_signed_request_object.unwrap_or_default(),
            dpop_bound_access_tokens: self.dpop_bound_access_tokens.unwrap_or_default(),
            tls_client_certificate_bound_access_tokens: self
                .tls_client_certificate_bound_access_tokens
                .unwrap_or_default(),
            tls_client_auth: name,
            sealed_secret: None,
        })
    }

    fn formats(&self) -> Result<ResponseFormats, String> {
        let pair = |name: &str, alg: &Option<String>, enc: &Option<String>| {
            encryption(name, filled(alg.clone()), filled(enc.clone()))
        };
        Ok(ResponseFormats {
            authorization_signing_alg: filled(self.authorization_signed_response_alg.clone()),
            authorization_encryption: pair(
                "authorization_encrypted_response",
                &self.authorization_encrypted_response_alg,
                &self.authorization_encrypted_response_enc,
            )?,
            id_token_encryption: pair(
                "id_token_encrypted_response",
                &self.id_token_encrypted_response_alg,
                &self.id_token_encrypted_response_enc,
            )?,
            userinfo_encryption: pair(
                "userinfo_encrypted_response",
                &self.userinfo_encrypted_response_alg,
                &self.userinfo_encrypted_response_enc,
            )?,
            introspection_signing_alg: filled(self.introspection_signed_response_alg.clone()),
            introspection_encryption: pair(
                "introspection_encrypted_response",
                &self.introspection_encrypted_response_alg,
                &self.introspection_encrypted_response_enc,
            )?,
            request_object_encryption: pair(
                "request_object_encryption",
                &self.request_object_encryption_alg,
                &self.request_object_encryption_enc,
            )?,
            access_token_signing_alg: filled(self.access_token_signed_response_alg.clone()),
            access_token_jwt_typ: filled(self.access_token_jwt_typ.clone()),
            omits_issuer: self.authorization_response_iss == Some(false),
        })
    }
}

fn filled(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

/// `enc` defaults to A128CBC-HS256 and does not stand alone (OpenID Connect Registration §2).
fn encryption(name: &str, alg: Option<String>, enc: Option<String>) -> Result<Option<Encryption>, String> {
    match (alg, enc) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err(format!("Field {name}_enc needs {name}_alg.")),
        (Some(alg), enc) => {
            Ok(Some(Encryption { alg, enc: enc.unwrap_or_else(|| "A128CBC-HS256".to_owned()) }))
        }
    }
}

impl From<&Client> for ExtensionsBody {
    fn from(client: &Client) -> Self {
        let (security, formats) = (&client.security, &client.formats);
        let alg = |of: &Option<Encryption>| of.as_ref().map(|of| of.alg.clone());
        let enc = |of: &Option<Encryption>| of.as_ref().map(|of| of.enc.clone());
        let set = |flag: bool| flag.then_some(true);
        let text = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let list = |list: &Vec<String>| Some(list.clone()).filter(|list| !list.is_empty());
        let exchange = &client.token_exchange;
        let body = Self {
            security_profile: Some(security.profile).filter(|profile| *profile != SecurityProfile::None),
            require_pushed_authorization_requests: set(security.require_pushed_authorization_requests),
            require_signed_request_object: set(security.require_signed_request_object),
            dpop_bound_access_tokens: set(security.dpop_bound_access_tokens),
            tls_client_certificate_bound_access_tokens: set(
                security.tls_client_certificate_bound_access_tokens
            ),
            authorization_signed_response_alg: formats.authorization_signing_alg.clone(),
            authorization_encrypted_response_alg: alg(&formats.authorization_encryption),
            authorization_encrypted_response_enc: enc(&formats.authorization_encryption),
            id_token_encrypted_response_alg: alg(&formats.id_token_encryption),
            id_token_encrypted_response_enc: enc(&formats.id_token_encryption),
            userinfo_encrypted_response_alg: alg(&formats.userinfo_encryption),
            userinfo_encrypted_response_enc: enc(&formats.userinfo_encryption),
            introspection_signed_response_alg: formats.introspection_signing_alg.clone(),
            introspection_encrypted_response_alg: alg(&formats.introspection_encryption),
            introspection_encrypted_response_enc: enc(&formats.introspection_encryption),
            request_object_encryption_alg: alg(&formats.request_object_encryption),
            request_object_encryption_enc: enc(&formats.request_object_encryption),
            access_token_signed_response_alg: formats.access_token_signing_alg.clone(),
            access_token_jwt_typ: formats.access_token_jwt_typ.clone(),
            authorization_response_iss: formats.omits_issuer.then_some(false),
            default_max_age: client.defaults.max_age,
            require_auth_time: set(client.defaults.require_auth_time),
            default_acr_values: list(&client.defaults.acr_values),
            initiate_login_uri: client.defaults.initiate_login_uri.clone(),
            application_type: text(&client.software.application_type),
            software_id: text(&client.software.id),
            software_version: text(&client.software.version),
            authorization_details_types: list(&client.authorization_details_types),
            token_exchange: (*exchange != TokenExchangePolicy::default()).then(|| TokenExchangeBody {
                impersonation: exchange.impersonation,
                delegation: exchange.delegation,
                subject_token_clients: exchange.subject_token_clients.clone(),
            }),
            ..Self::default()
        };
        body.with_certificate(security.tls_client_auth.as_ref())
    }
}

impl ExtensionsBody {
    fn with_certificate(mut self, name: Option<&CertificateName>) -> Self {
        match name.cloned() {
            Some(CertificateName::SubjectDn(name)) => self.tls_client_auth_subject_dn = Some(name),
            Some(CertificateName::SanDns(name)) => self.tls_client_auth_san_dns = Some(name),
            Some(CertificateName::SanUri(name)) => self.tls_client_auth_san_uri = Some(name),
            Some(CertificateName::SanIp(name)) => self.tls_client_auth_san_ip = Some(name),
            Some(CertificateName::SanEmail(name)) => self.tls_client_auth_san_email = Some(name),
            None => {}
        }
        self
    }
}
