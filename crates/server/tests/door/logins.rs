//! Who gets in.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::client::{Answer, CAPS, Client, Login, text};
use crate::{Door, until};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use vaquita_server::protocol::Capabilities;
use vaquita_server::{ServerOptions, tls};
use vaquita_sql::Transport;
use vaquita_sql::accounts::Demand;

const SHA2: &str = "caching_sha2_password";
const NATIVE: &str = "mysql_native_password";

fn log_in(door: &Door, login: &Login<'_>) -> (Client<std::net::TcpStream>, Answer) {
    let mut client = Client::dial(door.addr());
    let answer = client.log_in(login);
    (client, answer)
}

fn is_ok(answer: &Answer) -> bool {
    matches!(answer, Answer::Ok { .. })
}

#[test]
fn native_passwords() {
    let door = Door::open();
    let right = Login { user: "native", password: "secret", ..Login::default() };
    let (mut client, answer) = log_in(&door, &right);
    assert!(is_ok(&answer), "{answer:?}");
    assert_eq!(client.query("ECHO hello"), text("hello"));
    let wrong = Login { user: "native", password: "Secret", ..Login::default() };
    let message = "Access denied for user 'native'@'localhost' (using password: YES)";
    assert_eq!(log_in(&door, &wrong).1, Answer::Error(1045, message.into()));
    let none = Login { user: "native", ..Login::default() };
    let message = "Access denied for user 'native'@'localhost' (using password: NO)";
    assert_eq!(log_in(&door, &none).1, Answer::Error(1045, message.into()));
    let nobody = Login { user: "nobody", password: "x", ..Login::default() };
    assert_eq!(log_in(&door, &nobody).1.code(), 1045);
    let locked = Login { user: "locked", ..Login::default() };
    assert_eq!(log_in(&door, &locked).1.code(), 3118);
    until(|| door.house.aborted_connects.load(Ordering::Relaxed) == 4);
}

#[test]
fn the_method_is_switched_to_that_of_the_account() {
    let door = Door::open();
    let login = Login { user: "native", password: "secret", plugin: SHA2, ..Login::default() };
    assert!(is_ok(&log_in(&door, &login).1));
    let wrong = Login { password: "x", ..login };
    assert_eq!(log_in(&door, &wrong).1.code(), 1045);
    let empty = Login { user: "shaempty", plugin: NATIVE, ..Login::default() };
    assert!(is_ok(&log_in(&door, &empty).1));
}

#[test]
fn sha2_asks_for_the_password_once_and_over_a_secure_channel_only() {
    let dir = std::env::temp_dir().join(format!("vaquita-door-{}", std::process::id()));
    let options = ServerOptions { socket: Some(dir.clone()), ..ServerOptions::default() };
    let door = Door::with(options);
    let login = Login { user: "sha", password: "secret", plugin: SHA2, ..Login::default() };
    // Over TCP in clear the password cannot be asked for.
    let (_, refused) = log_in(&door, &login);
    assert_eq!(refused.code(), 1045, "{refused:?}");
    let mut by_socket = Client::over(UnixStream::connect(&dir).unwrap());
    assert!(is_ok(&by_socket.log_in(&login)));
    assert_eq!(by_socket.query("ECHO 1"), text("1"));
    // Now a proof is enough.
    assert!(is_ok(&log_in(&door, &login).1));
    assert!(is_ok(&log_in(&door, &Login { plugin: NATIVE, ..login }).1));
    let wrong = Login { user: "sha", password: "wrong", plugin: SHA2, ..Login::default() };
    assert_eq!(log_in(&door, &wrong).1.code(), 1045);
    let mut by_socket = Client::over(UnixStream::connect(&dir).unwrap());
    assert_eq!(by_socket.log_in(&wrong).code(), 1045);
    drop(door);
    assert!(!dir.exists(), "the socket's file goes with the server");
}

/// Whether there is such a user is not told by the way it is asked for its password.
#[test]
fn who_has_no_account_is_asked_like_others() {
    let door = Door::open();
    let asked = |user: &str, plugin| {
        let (_, answer) = log_in(&door, &Login { user, password: "x", plugin, ..Login::default() });
        let Answer::Error(1045, message) = answer else { panic!("{user}: {answer:?}") };
        message.replace(&format!("'{user}'"), "U")
    };
    let (native, sha2) = (asked("native", NATIVE), asked("sha", NATIVE));
    assert_ne!(native, sha2);
    let names: Vec<String> = (0..32).map(|n| format!("nobody{n:02}")).collect();
    let told: Vec<String> = names.iter().map(|name| asked(name, NATIVE)).collect();
    for (name, told) in names.iter().zip(&told) {
        assert_eq!(&asked(name, SHA2), told, "{name}: always the same");
    }
    assert!(told.iter().all(|t| *t == native || *t == sha2));
    assert!(told.contains(&native) && told.contains(&sha2));
}

#[test]
fn a_client_that_knows_no_expired_passwords_is_sent_away() {
    let door = Door::open();
    let without = Capabilities(CAPS.0 & !Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS.0);
    let with = Capabilities(CAPS.0 | Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS.0);
    let login = |caps| Login { user: "expired", caps, ..Login::default() };
    assert_eq!(log_in(&door, &login(without)).1.code(), 1862);
    assert!(is_ok(&log_in(&door, &login(with)).1));
    door.house.door.lock().disconnect_on_expired_password = false;
    assert!(is_ok(&log_in(&door, &login(without)).1));
}

#[test]
fn what_a_login_says_reaches_the_session() {
    let door = Door::open();
    let login = Login {
        database: "test",
        caps: Capabilities(CAPS.0 & !Capabilities::INTERACTIVE.0),
        ..Login::default()
    };
    assert!(is_ok(&log_in(&door, &login).1));
    let infos = door.house.infos.lock();
    let info = &infos[0];
    assert_eq!((info.user.as_str(), info.host.as_str()), ("root", "localhost"));
    assert_eq!(info.database.as_deref(), Some("test"));
    assert_eq!(info.collation, 45);
    assert!(info.found_rows && info.multi_statements && !info.interactive);
    assert!(matches!(info.transport, Transport::Tcp(_)));
    assert_eq!(info.attributes, [("who".to_owned(), "tester".to_owned())]);
    drop(infos);
    let unknown = Login { database: "nowhere", ..Login::default() };
    assert_eq!(log_in(&door, &unknown).1, Answer::Error(1049, "Unknown database 'nowhere'".into()));
}

#[test]
fn change_of_user() {
    let door = Door::open();
    let (mut client, _) = log_in(&door, &Login::default());
    // Asked for another method, the client proves itself to a new challenge.
    let login = Login { user: "native", password: "secret", ..Login::default() };
    client.command(b"\x11native\0\0test\0\x2d\0caching_sha2_password\0");
    assert!(is_ok(&client.finish_login(&login)));
    assert_eq!(client.query("ECHO native"), text("native"));
    assert_eq!(door.house.infos.lock()[1].user, "native");
    // Asked by whatever method, as anybody who has no account.
    let nobody = Login { user: "nobody", password: "x", ..Login::default() };
    client.command(b"\x11nobody\0\0\0\x2d\0mysql_native_password\0");
    assert_eq!(client.finish_login(&nobody).code(), 1045);
    assert_eq!(client.answer(), Answer::Gone);
}

#[test]
fn too_many_are_refused_before_the_greeting() {
    let door = Door::open();
    // And one for SUPER.
    door.house.door.lock().max_connections = 1;
    let _first = door.client();
    let second = door.client();
    let (_, refused) = log_in(&door, &Login::default());
    assert_eq!(refused, Answer::Error(1040, "Too many connections".into()));
    drop(second);
    door.until_connected(1);
    assert!(is_ok(&log_in(&door, &Login::default()).1));
}

type Shown = (rustls::pki_types::CertificateDer<'static>, rustls::pki_types::PrivateKeyDer<'static>);

/// A client that trusts the server of a folder, and shows this certificate if it is asked for one.
fn client_config(dir: &Path, shows: Option<Shown>) -> Arc<rustls::ClientConfig> {
    let mut roots = rustls::RootCertStore::empty();
    let ca = <rustls::pki_types::CertificateDer<'_> as rustls::pki_types::pem::PemObject>::from_pem_file(
        dir.join("ca.pem"),
    );
    roots.add(ca.unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    Arc::new(match shows {
        Some((certificate, key)) => config.with_client_auth_cert(vec![certificate], key).unwrap(),
        None => config.with_no_client_auth(),
    })
}

type TlsStream = rustls::StreamOwned<rustls::ClientConnection, std::net::TcpStream>;

/// A client that has asked for TLS, and the server's challenge.
fn begin_tls(
    door: &Door,
    config: &Arc<rustls::ClientConfig>,
    caps: Capabilities,
) -> (Client<TlsStream>, Vec<u8>) {
    let mut plain = Client::dial(door.addr());
    let challenge = plain.greeting().unwrap();
    let mut request = (caps.0 as u32).to_le_bytes().to_vec();
    request.extend_from_slice(&[0, 0, 0, 1, 45]);
    request.extend_from_slice(&[0; 23]);
    plain.send(&request);
    let session = rustls::ClientConnection::new(config.clone(), "localhost".try_into().unwrap()).unwrap();
    let mut client = Client::over(rustls::StreamOwned::new(session, plain.stream));
    client.seq = plain.seq;
    (client, challenge)
}

#[test]
fn tls() {
    let dir = std::env::temp_dir().join(format!("vaquita-tls-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let files = tls::files_of(&dir).unwrap();
    assert_eq!(tls::files_of(&dir).unwrap(), files, "made once");
    let config = tls::config(&files).unwrap();
    let door = Door::with(ServerOptions { tls: Some(config), ..ServerOptions::default() });
    door.house.door.lock().require_secure_transport = true;
    let login = Login { user: "sha", password: "secret", plugin: SHA2, ..Login::default() };
    assert_eq!(log_in(&door, &login).1.code(), 3159);

    let config = client_config(&dir, None);
    for compress in [Capabilities(0), Capabilities::COMPRESS] {
        let caps = CAPS.with(Capabilities::SSL).with(compress);
        let (mut client, challenge) = begin_tls(&door, &config, caps);
        let login = Login { user: "sha", password: "secret", plugin: SHA2, caps, ..Login::default() };
        assert!(is_ok(&client.log_in_to(&login, &challenge)));
        assert_eq!(client.query("ECHO under TLS"), text("under TLS"));
        let Answer::Rows(rows, _) = client.query("ROWS 3000 100") else { panic!("no rows") };
        assert_eq!(rows.len(), 3000);
    }
    assert!(matches!(door.house.infos.lock()[0].transport, Transport::Tls(_)));
    drop(door);
    std::fs::remove_dir_all(&dir).unwrap();
}

/// REQUIRE X509, ISSUER, SUBJECT, CIPHER: answers of MySQL 5.6.24 to the same logins.
#[test]
fn what_accounts_demand_of_certificates() {
    let dir = std::env::temp_dir().join(format!("vaquita-demands-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let mut files = tls::files_of(&dir).unwrap();
    let (issuer, shown) = certificates(&dir);
    files.ca = Some(issuer);
    let door =
        Door::with(ServerOptions { tls: Some(tls::config(&files).unwrap()), ..ServerOptions::default() });
    let (without, with) = (client_config(&dir, None), client_config(&dir, Some(shown)));
    let code = |config: &Arc<rustls::ClientConfig>| {
        let caps = CAPS.with(Capabilities::SSL);
        let (mut client, challenge) = begin_tls(&door, config, caps);
        match client.log_in_to(&Login { caps, ..Login::default() }, &challenge) {
            Answer::Ok { .. } => 0,
            refused => refused.code(),
        }
    };
    let details = |issuer: &str, subject: &str, cipher: &str| {
        let [issuer, subject, cipher] = [issuer, subject, cipher].map(|text| text.as_bytes().to_vec());
        Demand::Details { issuer, subject, cipher }
    };
    let (issuer, subject) = ("/C=SE/O=Test CA/CN=ca", "/C=SE/O=Ex, Inc/CN=client");
    let cipher = "TLS_AES_256_GCM_SHA384";
    for (demand, in_clear, without_one, with_one) in [
        (Demand::Nothing, 0, 0, 0),
        (Demand::Tls, 1045, 0, 0),
        (Demand::Certificate, 1045, 1045, 0),
        (details(issuer, "", ""), 1045, 1045, 0),
        (details("/C=SE/O=Test CA/CN=cb", "", ""), 1045, 1045, 1045),
        (details("", subject, ""), 1045, 1045, 0),
        (details("", "/c=se/o=ex, inc/cn=client", ""), 1045, 1045, 1045),
        (details("", "/C=SE/O=Ex, Inc", ""), 1045, 1045, 1045),
        // A cipher alone wants a certificate, too.
        (details("", "", cipher), 1045, 1045, 0),
        (details("", "", "TLS_AES_128_GCM_SHA256"), 1045, 1045, 1045),
        (details(issuer, subject, cipher), 1045, 1045, 0),
        (details(subject, issuer, cipher), 1045, 1045, 1045),
        (details("", "", ""), 1045, 1045, 0),
    ] {
        *door.house.demand.lock() = demand.clone();
        let refused = log_in(&door, &Login::default()).1;
        assert_eq!(is_ok(&refused), in_clear == 0, "{demand:?} in clear: {refused:?}");
        assert_eq!(code(&without), without_one, "{demand:?} without a certificate");
        assert_eq!(code(&with), with_one, "{demand:?} with a certificate");
    }
    // A session that becomes another user's is asked for the same.
    *door.house.demand.lock() = Demand::Tls;
    let caps = CAPS.with(Capabilities::SSL);
    let (mut client, challenge) = begin_tls(&door, &without, caps);
    assert!(is_ok(&client.log_in_to(&Login { caps, ..Login::default() }, &challenge)));
    *door.house.demand.lock() = Demand::Certificate;
    client.command(b"\x11root\0\0test\0\x2d\0mysql_native_password\0");
    assert_eq!(client.finish_login(&Login { caps, ..Login::default() }).code(), 1045);
    drop(door);
    std::fs::remove_dir_all(&dir).unwrap();
}

/// An authority's certificate as a file, and one that it has signed.
fn certificates(dir: &Path) -> (PathBuf, Shown) {
    use rcgen::{BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair};
    let named = |organization: &str, name: &str| {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CountryName, "SE");
        params.distinguished_name.push(DnType::OrganizationName, organization);
        params.distinguished_name.push(DnType::CommonName, name);
        params
    };
    let mut ca = named("Test CA", "ca");
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let (ca_key, key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let path = dir.join("clients-ca.pem");
    std::fs::write(&path, ca.self_signed(&ca_key).unwrap().pem()).unwrap();
    let own = named("Ex, Inc", "client").signed_by(&key, &Issuer::new(ca, ca_key)).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    (path, (own.der().clone(), key))
}
