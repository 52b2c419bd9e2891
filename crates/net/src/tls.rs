//! TLS: certificates of the server's own making, or given ones.
//!
//! A folder without certificates gets some at its first start, as MySQL's folders do: `ca.pem`, `server-cert.pem`,
//! `server-key.pem`. The authority's key signs once and is thrown away. A client that wants to know whom it speaks to is
//! given `ca.pem`.

use crate::certificate::{self, CertificateNames};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{CipherSuite, RootCertStore, ServerConfig, SupportedCipherSuite, SupportedProtocolVersion};
use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where certificate and key are, and what clients must show.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// `ssl_cert`: the server's certificate, and those between it and the authority.
    pub cert: PathBuf,
    /// `ssl_key`.
    pub key: PathBuf,
    /// `ssl_ca`: the authority of clients' certificates; a client may still come without one.
    pub ca: Option<PathBuf>,
    /// `ssl_capath`: a folder of such authorities.
    pub ca_dir: Option<PathBuf>,
    /// `ssl_crl`: certificates that were taken back. Then every authority must have a list.
    pub crl: Option<PathBuf>,
    /// `ssl_crlpath`: a folder of such lists.
    pub crl_dir: Option<PathBuf>,
    /// `tls_version`: `TLSv1.2,TLSv1.3`; empty: all that are known.
    pub versions: String,
    /// `ssl_cipher`: suites of TLS 1.2 by OpenSSL's names, `:` between them; empty: all that are known. Those of TLS 1.3 are
    /// always there, as in MySQL.
    pub ciphers: String,
}

/// Why there is no TLS.
#[derive(Debug)]
pub struct TlsError(String);

impl std::fmt::Display for TlsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TlsError {}

fn failed<E: std::fmt::Display>(what: &Path) -> impl FnOnce(E) -> TlsError {
    let what = what.display().to_string();
    move |e| TlsError(format!("{what}: {e}"))
}

/// Certificate and key of a folder; made if there are none.
///
/// # Errors
/// Files that cannot be written.
pub fn files_of(dir: &Path) -> Result<TlsFiles, TlsError> {
    let files = TlsFiles {
        cert: dir.join("server-cert.pem"),
        key: dir.join("server-key.pem"),
        ..TlsFiles::default()
    };
    if !files.cert.exists() && !files.key.exists() {
        make(dir, &files)?;
    }
    Ok(files)
}

fn make(dir: &Path, files: &TlsFiles) -> Result<(), TlsError> {
    let made = |e: rcgen::Error| TlsError(format!("making a certificate: {e}"));
    let named = |name: &str| -> Result<CertificateParams, rcgen::Error> {
        let mut params = CertificateParams::new(Vec::<String>::new())?;
        params.distinguished_name.push(DnType::CommonName, name);
        Ok(params)
    };
    let mut ca = named("Vaquita_Auto_Generated_CA_Certificate").map_err(made)?;
    ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let ca_key = KeyPair::generate().map_err(made)?;
    let ca_cert = ca.self_signed(&ca_key).map_err(made)?;

    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    let mut server = CertificateParams::new(names).map_err(made)?;
    server.distinguished_name.push(DnType::CommonName, "Vaquita_Auto_Generated_Server_Certificate");
    let key = KeyPair::generate().map_err(made)?;
    let cert = server.signed_by(&key, &Issuer::new(ca, ca_key)).map_err(made)?;

    write(&dir.join("ca.pem"), &ca_cert.pem(), 0o644)?;
    write(&files.key, &key.serialize_pem(), 0o600)?;
    write(&files.cert, &cert.pem(), 0o644)
}

fn write(path: &Path, text: &str, mode: u32) -> Result<(), TlsError> {
    let file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(failed(path))
}

/// The settings of TLS 1.2 and 1.3 with these files.
///
/// # Errors
/// Files that cannot be read or do not fit together.
pub fn config(files: &TlsFiles) -> Result<Arc<ServerConfig>, TlsError> {
    let certs = certificates(&files.cert)?;
    if certs.first().is_some_and(|cert| is_of_version_1(cert)) {
        return Err(TlsError(format!(
            "{}: a certificate of X.509 version 1, which says not whom it is for. Make one of version 3: openssl x509 -req with -extfile \
             and a file that says subjectAltName=DNS:the.servers.name",
            files.cert.display()
        )));
    }
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(failed(&files.key))?;
    let mut provider = rustls::crypto::ring::default_provider();
    choose(&mut provider.cipher_suites, &files.ciphers)?;
    let provider = Arc::new(provider);
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&versions(&files.versions)?)
        .map_err(|e| TlsError(e.to_string()))?;
    let roots = roots(files)?;
    let crls = revocations(files)?;
    let builder = match roots.is_empty() {
        true if !crls.is_empty() => return Err(TlsError("ssl_crl needs ssl_ca or ssl_capath".into())),
        true => builder.with_no_client_auth(),
        false => {
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .with_crls(crls)
                .allow_unauthenticated()
                .build()
                .map_err(|e| TlsError(format!("ssl_ca, ssl_crl: {e}")))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let config = builder.with_single_cert(certs, key).map_err(failed(&files.cert))?;
    Ok(Arc::new(config))
}

/// OpenSSL's name of a suite of TLS 1.2; `None`: it is of TLS 1.3.
fn openssl_name(suite: CipherSuite) -> Option<&'static str> {
    Some(match suite {
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 => "ECDHE-ECDSA-AES256-GCM-SHA384",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 => "ECDHE-ECDSA-AES128-GCM-SHA256",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 => "ECDHE-ECDSA-CHACHA20-POLY1305",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 => "ECDHE-RSA-AES256-GCM-SHA384",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => "ECDHE-RSA-AES128-GCM-SHA256",
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 => "ECDHE-RSA-CHACHA20-POLY1305",
        _ => return None,
    })
}

/// Leaves the suites that a list names. Names that are not known are passed over, as OpenSSL does.
fn choose(suites: &mut Vec<SupportedCipherSuite>, list: &str) -> Result<(), TlsError> {
    if list.trim().is_empty() {
        return Ok(());
    }
    let named = |name: &str| list.split([':', ',', ' ']).any(|word| word.eq_ignore_ascii_case(name));
    let mut found = false;
    suites.retain(|suite| match openssl_name(suite.suite()) {
        Some(name) => {
            let wanted = named(name);
            found |= wanted;
            wanted
        }
        None => true,
    });
    match found {
        true => Ok(()),
        false => Err(TlsError(format!("ssl_cipher: '{list}' names no cipher that is known here"))),
    }
}

/// Versions by their names. Those before 1.2 are not known any more; a list of such alone is an error.
fn versions(names: &str) -> Result<Vec<&'static SupportedProtocolVersion>, TlsError> {
    let all: [(&str, &'static SupportedProtocolVersion); 2] =
        [("TLSv1.2", &rustls::version::TLS12), ("TLSv1.3", &rustls::version::TLS13)];
    let named =
        |name: &str| names.is_empty() || names.split(',').any(|n| n.trim().eq_ignore_ascii_case(name));
    let found: Vec<_> = all.into_iter().filter(|(name, _)| named(name)).map(|(_, version)| version).collect();
    match found.is_empty() {
        true => Err(TlsError(format!("tls_version: '{names}' names neither TLSv1.2 nor TLSv1.3"))),
        false => Ok(found),
    }
}

/// Authorities of clients' certificates.
fn roots(files: &TlsFiles) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for path in files.ca.iter().cloned().chain(files_in(files.ca_dir.as_deref())?) {
        for cert in certificates(&path)? {
            roots.add(cert).map_err(failed(&path))?;
        }
    }
    Ok(roots)
}

/// Lists of certificates that were taken back.
fn revocations(files: &TlsFiles) -> Result<Vec<CertificateRevocationListDer<'static>>, TlsError> {
    let mut lists = Vec::new();
    for path in files.crl.iter().cloned().chain(files_in(files.crl_dir.as_deref())?) {
        let before = lists.len();
        for list in CertificateRevocationListDer::pem_file_iter(&path).map_err(failed(&path))? {
            lists.push(list.map_err(failed(&path))?);
        }
        if lists.len() == before {
            return Err(TlsError(format!("{}: holds no revocation list", path.display())));
        }
    }
    Ok(lists)
}

fn files_in(dir: Option<&Path>) -> Result<Vec<PathBuf>, TlsError> {
    let Some(dir) = dir else { return Ok(Vec::new()) };
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed(dir))? {
        let path = entry.map_err(failed(dir))?.path();
        if path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Whether a certificate is of version 1: only later ones say their version, behind the beginnings of two sequences.
fn is_of_version_1(der: &[u8]) -> bool {
    /// What is in a DER element that is a sequence.
    fn sequence(der: &[u8]) -> Option<&[u8]> {
        let (&0x30, rest) = der.split_first()? else { return None };
        let (&length, rest) = rest.split_first()?;
        // A longer length says how many bytes it has.
        if length < 0x80 { Some(rest) } else { rest.get(usize::from(length & 0x7f)..) }
    }
    let said = sequence(der).and_then(sequence).and_then(<[u8]>::first);
    said.is_some_and(|&tag| tag != 0xa0)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let certs: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).map_err(failed(path))?.collect();
    let certs = certs.map_err(failed(path))?;
    if certs.is_empty() {
        return Err(TlsError(format!("{}: holds no certificate", path.display())));
    }
    Ok(certs)
}

/// Names of cipher suite and version as OpenSSL has them, for SHOW STATUS.
pub fn names(tls: &rustls::ServerConnection) -> Option<(String, String)> {
    let suite = tls.negotiated_cipher_suite()?.suite();
    let suite = openssl_name(suite).map_or_else(|| format!("{suite:?}"), str::to_owned);
    let version = match tls.protocol_version()? {
        rustls::ProtocolVersion::TLSv1_2 => "TLSv1.2",
        _ => "TLSv1.3",
    };
    Some((suite.replace("TLS13_", "TLS_"), version.to_owned()))
}

/// Names in the certificate that a client has shown; `None`: it has shown none. It is one of `ssl_ca`'s, or the handshake would
/// have failed.
pub fn certificate_of(tls: &rustls::ServerConnection) -> Option<CertificateNames> {
    let own = tls.peer_certificates()?.first()?;
    // Names that cannot be read are nobody's.
    Some(certificate::names_in(own).unwrap_or_default())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use rcgen::{
        CertificateRevocationListParams, KeyIdMethod, RevokedCertParams, SerialNumber, date_time_ymd,
    };
    use rustls::{ClientConfig, ClientConnection, ServerConnection};

    /// A folder with an authority, a server's certificate, one of a client, and a list that takes the client's back.
    struct Made {
        dir: PathBuf,
        files: TlsFiles,
        client: (CertificateDer<'static>, PrivateKeyDer<'static>),
    }

    impl Drop for Made {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.dir);
        }
    }

    fn made(name: &str) -> Made {
        let dir = std::env::temp_dir().join(format!("vaquita-tls-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        let mut files = files_of(&dir).unwrap();
        let mut ca = CertificateParams::new(Vec::<String>::new()).unwrap();
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let ca_key = KeyPair::generate().unwrap();
        let ca_cert = ca.self_signed(&ca_key).unwrap();
        let issuer = Issuer::new(ca, ca_key);
        let mut client = CertificateParams::new(vec!["client".to_owned()]).unwrap();
        client.serial_number = Some(SerialNumber::from(77_u64));
        let key = KeyPair::generate().unwrap();
        let cert = client.signed_by(&key, &issuer).unwrap();
        let revoked = RevokedCertParams {
            serial_number: SerialNumber::from(77_u64),
            revocation_time: date_time_ymd(2024, 1, 1),
            reason_code: None,
            invalidity_date: None,
        };
        let crl = CertificateRevocationListParams {
            this_update: date_time_ymd(2024, 1, 1),
            next_update: date_time_ymd(2099, 1, 1),
            crl_number: SerialNumber::from(1_u64),
            issuing_distribution_point: None,
            revoked_certs: vec![revoked],
            key_identifier_method: KeyIdMethod::Sha256,
        };
        fs::write(dir.join("clients-ca.pem"), ca_cert.pem()).unwrap();
        fs::create_dir(dir.join("crls")).unwrap();
        fs::write(dir.join("crls/list.pem"), crl.signed_by(&issuer).unwrap().pem().unwrap()).unwrap();
        files.ca = Some(dir.join("clients-ca.pem"));
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        Made { dir, files, client: (cert.der().clone(), key) }
    }

    /// Whether client and server come together; the version, or the server's error.
    fn meet(
        made: &Made,
        versions: &[&'static SupportedProtocolVersion],
    ) -> Result<rustls::ProtocolVersion, String> {
        let config = config(&made.files).map_err(|e| e.to_string())?;
        let mut server = ServerConnection::new(config).unwrap();
        let mut roots = RootCertStore::empty();
        certificates(&made.dir.join("ca.pem")).unwrap().into_iter().for_each(|c| roots.add(c).unwrap());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let client = ClientConfig::builder_with_provider(provider).with_protocol_versions(versions).unwrap();
        let client = client.with_root_certificates(roots);
        let (cert, key) = &made.client;
        let client = client.with_client_auth_cert(vec![cert.clone()], key.clone_key()).unwrap();
        let mut client = ClientConnection::new(Arc::new(client), "localhost".try_into().unwrap()).unwrap();
        for _ in 0..10 {
            let mut bytes = Vec::new();
            while client.wants_write() {
                client.write_tls(&mut bytes).unwrap();
            }
            server.read_tls(&mut bytes.as_slice()).unwrap();
            server.process_new_packets().map_err(|e| e.to_string())?;
            bytes.clear();
            while server.wants_write() {
                server.write_tls(&mut bytes).unwrap();
            }
            client.read_tls(&mut bytes.as_slice()).unwrap();
            client.process_new_packets().map_err(|e| e.to_string())?;
        }
        assert!(!server.is_handshaking() && !client.is_handshaking());
        Ok(server.protocol_version().unwrap())
    }

    const BOTH: [&SupportedProtocolVersion; 2] = [&rustls::version::TLS12, &rustls::version::TLS13];

    #[test]
    fn a_certificate_that_was_taken_back_is_refused() {
        let mut made = made("crl");
        assert_eq!(meet(&made, &BOTH), Ok(rustls::ProtocolVersion::TLSv1_3));
        made.files.crl = Some(made.dir.join("crls/list.pem"));
        let why = meet(&made, &BOTH).unwrap_err();
        assert!(why.contains("Revoked"), "{why}");
        (made.files.crl, made.files.crl_dir) = (None, Some(made.dir.join("crls")));
        assert!(meet(&made, &BOTH).unwrap_err().contains("Revoked"));
        made.files.ca = None;
        assert!(meet(&made, &BOTH).unwrap_err().contains("needs ssl_ca"));
    }

    #[test]
    fn ciphers_that_are_not_named_are_not_spoken() {
        let mut made = made("ciphers");
        let tls12 = [&rustls::version::TLS12];
        made.files.ciphers = "NO-SUCH-CIPHER:ecdhe-ecdsa-aes128-gcm-sha256".into();
        assert!(meet(&made, &tls12).is_ok());
        let config = config(&made.files).unwrap();
        let names: Vec<_> =
            config.crypto_provider().cipher_suites.iter().map(|s| openssl_name(s.suite())).collect();
        let of_tls12: Vec<_> = names.iter().flatten().collect();
        assert_eq!(of_tls12, [&"ECDHE-ECDSA-AES128-GCM-SHA256"]);
        assert_eq!(names.len(), 4, "those of TLS 1.3 stay");
        // The certificate's key is no RSA key.
        made.files.ciphers = "ECDHE-RSA-AES256-GCM-SHA384".into();
        assert!(meet(&made, &tls12).is_err());
        assert_eq!(meet(&made, &BOTH), Ok(rustls::ProtocolVersion::TLSv1_3));
        made.files.ciphers = "AES128-SHA".into();
        assert!(meet(&made, &BOTH).unwrap_err().contains("no cipher"));
    }

    #[test]
    fn authorities_may_be_in_a_folder() {
        let mut made = made("capath");
        fs::create_dir(made.dir.join("cas")).unwrap();
        fs::copy(made.dir.join("ca.pem"), made.dir.join("cas/a.pem")).unwrap();
        (made.files.ca, made.files.ca_dir) = (None, Some(made.dir.join("cas")));
        assert!(meet(&made, &BOTH).is_err(), "the client's authority is not among them");
        fs::copy(made.dir.join("clients-ca.pem"), made.dir.join("cas/b.pem")).unwrap();
        assert!(meet(&made, &BOTH).is_ok());
    }

    #[test]
    fn versions_that_are_not_named_are_not_spoken() {
        let mut made = made("versions");
        made.files.versions = "TLSv1.1,TLSv1.2".into();
        assert_eq!(meet(&made, &BOTH), Ok(rustls::ProtocolVersion::TLSv1_2));
        assert!(meet(&made, &[&rustls::version::TLS13]).is_err());
        made.files.versions = "TLSv1.3".into();
        assert!(meet(&made, &[&rustls::version::TLS12]).is_err());
        made.files.versions = "TLSv1".into();
        assert!(meet(&made, &BOTH).unwrap_err().contains("neither"));
    }
}
