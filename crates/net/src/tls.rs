//! TLS: certificates of the server's own making, or given ones.
//!
//! A folder without certificates gets some at its first start, as MySQL's folders do: `ca.pem`, `server-cert.pem`,
//! `server-key.pem`. The authority's key signs once and is thrown away. A client that wants to know whom it speaks to is
//! given `ca.pem`.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where certificate and key are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// `ssl_cert`: the server's certificate, and those between it and the authority.
    pub cert: PathBuf,
    /// `ssl_key`.
    pub key: PathBuf,
    /// `ssl_ca`: the authority of clients' certificates; a client may still come without one.
    pub ca: Option<PathBuf>,
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
    let files = TlsFiles { cert: dir.join("server-cert.pem"), key: dir.join("server-key.pem"), ca: None };
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
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(failed(&files.key))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|e| TlsError(e.to_string()))?;
    let builder = match &files.ca {
        None => builder.with_no_client_auth(),
        Some(ca) => {
            let mut roots = RootCertStore::empty();
            for cert in certificates(ca)? {
                roots.add(cert).map_err(failed(ca))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .allow_unauthenticated()
                .build()
                .map_err(failed(ca))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let config = builder.with_single_cert(certs, key).map_err(failed(&files.cert))?;
    Ok(Arc::new(config))
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
    let suite = format!("{:?}", tls.negotiated_cipher_suite()?.suite());
    let version = match tls.protocol_version()? {
        rustls::ProtocolVersion::TLSv1_2 => "TLSv1.2",
        _ => "TLSv1.3",
    };
    Some((suite.replace("TLS13_", "TLS_"), version.to_owned()))
}
