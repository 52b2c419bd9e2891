//! PowerDNS: its schema with foreign keys, its tool, which does all through prepared statements, and its server, which answers.

use crate::debian::{self, Debian};
use crate::{Application, Extent, Failure, Stage};
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use vaquita_peers::Flavour;

/// PowerDNS of Debian's package, on the C client library.
pub const POWERDNS: Application =
    Application { name: "powerdns", peer: Flavour::Mysql56, settings: &[], play };

/// How long the server may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);

fn play(stage: &Stage) -> Result<String, Failure> {
    let debian = debian::install()?;
    stage.create_database("pdns", "latin1")?;
    for file in ["schema.mysql.sql", "enable-foreign-keys.mysql.sql"] {
        stage.source("pdns", &debian.path("usr/share/pdns-backend-mysql/schema").join(file))?;
    }
    let module = debian.path("usr/lib/x86_64-linux-gnu/pdns");
    let settings = format!(
        "launch=gmysql\nmodule-dir={}\ngmysql-host=127.0.0.1\ngmysql-port={}\ngmysql-user={}\ngmysql-password={}\n\
         gmysql-dbname=pdns\ngmysql-dnssec=yes\nsecurity-poll-suffix=\ndaemon=no\nguardian=no\nwrite-pid=no\n\
         disable-syslog=yes\nlocal-address=127.0.0.1\nsocket-dir={}\n",
        module.display(),
        stage.host.port,
        Stage::USER,
        Stage::PASSWORD,
        stage.scratch.display()
    );
    fs::write(stage.scratch.join("pdns.conf"), settings)?;
    let mut said = String::new();
    let mut tool = |words: &[&str], shown: bool| -> Result<(), Failure> {
        let mut command = debian.command("usr/bin/pdnsutil");
        command.arg(format!("--config-dir={}", stage.scratch.display())).args(words);
        let out = stage.run(&mut command)?;
        if shown {
            said += &format!("> {}\n{out}", words.join(" "));
        }
        Ok(())
    };
    let zones = if stage.extent == Extent::Long { 40 } else { 3 };
    for zone in 0..zones {
        let zone = format!("z{zone}.example.org");
        tool(&["create-zone", &zone, "ns1.example.org"], true)?;
        for host in 0..5 {
            tool(&["add-record", &zone, &format!("h{host}"), "A", "3600", &format!("192.0.2.{host}")], true)?;
        }
        tool(&["add-record", &zone, "@", "MX", "10 mail.example.org"], true)?;
        tool(&["add-record", &zone, "größe", "TXT", "\"it's \\\"here\\\"\""], true)?;
        tool(&["set-meta", &zone, "ALLOW-AXFR-FROM", "127.0.0.1", "192.0.2.0/24"], true)?;
        tool(&["get-meta", &zone], true)?;
        // Keys are random.
        tool(&["secure-zone", &zone], false)?;
        tool(&["rectify-zone", &zone], true)?;
        tool(&["replace-rrset", &zone, "h1", "A", "60", "198.51.100.1", "198.51.100.2"], true)?;
        tool(&["delete-rrset", &zone, "h2", "A"], true)?;
        tool(&["increase-serial", &zone], false)?;
        tool(&["list-zone", &zone], true)?;
        tool(&["check-zone", &zone], true)?;
    }
    tool(&["import-tsig-key", "transfer", "hmac-sha256", "c2VjcmV0"], true)?;
    tool(&["activate-tsig-key", "z0.example.org", "transfer", "primary"], true)?;
    tool(&["list-tsig-keys"], true)?;
    tool(&["list-all-zones"], true)?;
    tool(&["disable-dnssec", "z1.example.org"], true)?;
    tool(&["delete-zone", "z1.example.org"], true)?;
    tool(&["check-all-zones"], true)?;
    let tables =
        ["domains", "records", "domainmetadata", "cryptokeys", "tsigkeys", "comments", "supermasters"];
    let counts: Vec<String> = tables.iter().map(|t| format!("select '{t}', count(*) from {t}")).collect();
    let rows = "select name, type, if(type = 'SOA', '', content), ttl, prio, disabled, ordername, auth from records order by 1, 2, 3";
    said += &stage.sql(&format!("use pdns; {}; {rows}", counts.join("; ")))?;
    Ok(said + &serve(stage, &debian)?)
}

/// The server answers from the tables: a name, one with two addresses, one that is gone, one of another type, a zone.
fn serve(stage: &Stage, debian: &Debian) -> Result<String, Failure> {
    let log_file = stage.scratch.join("pdns.log");
    let mut last = Failure(String::new());
    // Somebody else may take the port between our look and the server's bind.
    for _ in 0..5 {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let log = fs::File::create(&log_file)?;
        let mut command = debian.command("usr/sbin/pdns_server");
        command.arg(format!("--config-dir={}", stage.scratch.display())).arg(format!("--local-port={port}"));
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let mut server = command.spawn()?;
        let asked = ask_all(port, &mut server);
        let _ = server.kill();
        server.wait()?;
        let log = fs::read_to_string(&log_file).unwrap_or_default();
        match asked {
            Ok(said) => return Ok(said),
            Err(Failure(why)) => last = Failure(format!("on {}: pdns_server: {why}\n{log}", stage.host.name)),
        }
        if !log.contains("Address already in use") {
            break;
        }
    }
    Err(last)
}

fn ask_all(port: u16, server: &mut Child) -> Result<String, Failure> {
    let (a, soa, mx, txt) = (1, 6, 15, 16);
    let begun = Instant::now();
    // Refused at once while it starts.
    while ask(port, "h0.z0.example.org", a).is_err() {
        if begun.elapsed() > PATIENCE || server.try_wait()?.is_some() {
            return Err(Failure("no answer".to_owned()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut said = String::new();
    for (name, kind) in [
        ("h0.z0.example.org", a),
        ("h1.z0.example.org", a),
        ("h2.z0.example.org", a),
        ("h3.z2.example.org", mx),
        ("z0.example.org", mx),
        ("größe.z0.example.org", txt),
        ("z1.example.org", soa),
        ("elsewhere.org", a),
    ] {
        // Two addresses come in any order.
        let mut answer = ask(port, name, kind)?;
        if name.starts_with("h1.") {
            answer.sort_unstable();
        }
        said += &format!("{name}: {answer:02x?}\n");
    }
    Ok(said)
}

/// One question by UDP; the answer.
fn ask(port: u16, name: &str, kind: u8) -> Result<Vec<u8>, Failure> {
    let mut question = vec![0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        question.push(u8::try_from(label.len()).map_err(|_| Failure(format!("{label} is too long")))?);
        question.extend_from_slice(label.as_bytes());
    }
    question.extend_from_slice(&[0, 0, kind, 0, 1]);
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.set_read_timeout(Some(Duration::from_secs(1)))?;
    socket.connect(("127.0.0.1", port))?;
    socket.send(&question)?;
    let mut answer = vec![0; 4096];
    let length = socket.recv(&mut answer)?;
    answer.truncate(length);
    Ok(answer)
}
