//! What REQUIRE demands of a client's TLS.

/// REQUIRE of an account.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Demand {
    /// NONE.
    #[default]
    Nothing,
    /// SSL.
    Tls,
    /// X509: a certificate of one of the server's authorities.
    Certificate,
    /// ISSUER, SUBJECT, CIPHER: such a certificate, and what is not empty must be so, byte by byte.
    Details {
        /// Name of the certificate's issuer, in OpenSSL's one-line form.
        issuer: Vec<u8>,
        /// Name of the certificate's subject.
        subject: Vec<u8>,
        /// Cipher suite of the connection, by OpenSSL's name.
        cipher: Vec<u8>,
    },
}

/// A client that speaks TLS.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsClient {
    /// Cipher suite by OpenSSL's name.
    pub cipher: String,
    /// Subject and issuer of the verified certificate it has shown; `None`: none.
    pub certificate: Option<(Vec<u8>, Vec<u8>)>,
}

impl Demand {
    /// Whether a certificate is demanded.
    pub fn wants_certificate(&self) -> bool {
        matches!(self, Demand::Certificate | Demand::Details { .. })
    }

    /// What a client (`None`: one without TLS) has not that is demanded; `None`: it may come in.
    pub fn unmet_by(&self, client: Option<&TlsClient>) -> Option<&'static str> {
        if *self == Demand::Nothing {
            return None;
        }
        let Some(client) = client else { return Some("REQUIRE SSL: the client does not speak TLS") };
        if !self.wants_certificate() {
            return None;
        }
        let Some((own_subject, own_issuer)) = &client.certificate else {
            return Some("REQUIRE X509: the client has shown no certificate");
        };
        let Demand::Details { issuer, subject, cipher } = self else { return None };
        let differs = |wanted: &[u8], found: &[u8]| !wanted.is_empty() && wanted != found;
        if differs(cipher, client.cipher.as_bytes()) {
            return Some("REQUIRE CIPHER: the connection has another cipher");
        }
        if differs(issuer, own_issuer) {
            return Some("REQUIRE ISSUER: the client's certificate has another issuer");
        }
        differs(subject, own_subject)
            .then_some("REQUIRE SUBJECT: the client's certificate has another subject")
    }
}
