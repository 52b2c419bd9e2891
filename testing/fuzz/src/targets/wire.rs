//! What a client sends: packets, the compressed layer, logins, commands, parameters.

use vaquita_server::packet::compress::{Inflater, deflate};
use vaquita_server::packet::lenenc::Reader;
use vaquita_server::packet::{Input, Output};
use vaquita_server::protocol::login::{Login, Response};
use vaquita_server::protocol::{Capabilities, Command, params};

const MAX: usize = 1 << 20;

/// A stream of packets in pieces; what comes out, packed again, is what went in.
pub(super) fn packets(data: &[u8]) {
    let Some((&piece, stream)) = data.split_first() else { return };
    let mut input = Input::default();
    let mut again = Output::default();
    'stream: for part in stream.chunks(usize::from(piece).max(1)) {
        input.push(part);
        loop {
            // Any sequence number may begin an exchange here.
            let waiting = again.buf.len();
            input.expect_seq(stream.get(waiting + 3).copied().unwrap_or(0));
            match input.next(MAX) {
                Ok(Some(packet)) => {
                    again.seq = packet.seq;
                    again.packet(input.payload(&packet));
                }
                Ok(None) => break,
                Err(_) => break 'stream,
            }
        }
    }
    assert!(stream.starts_with(&again.buf), "packets come out as they went in");
}

pub(super) fn packet_seeds() -> Vec<Vec<u8>> {
    let mut out = Output::default();
    out.buf.push(7);
    out.packet(b"\x03SELECT 1");
    out.packet(b"");
    out.packet(&[9; 700]);
    vec![out.buf]
}

/// A compressed stream; and the bytes themselves, compressed and inflated.
pub(super) fn compressed(data: &[u8]) {
    let mut input = Input::default();
    for part in data.chunks(97) {
        if Inflater::default().feed(part, &mut input, &mut 0, MAX).is_err() {
            break;
        }
    }
    let (mut packed, mut input, mut inflater) = (Vec::new(), Input::default(), Inflater::default());
    deflate(data, &mut 0, &mut packed);
    let fed = inflater.feed(&packed, &mut input, &mut 0, MAX);
    assert!(data.len() > MAX || (fed.is_ok() && input.take_raw() == data), "what is deflated inflates");
}

pub(super) fn compressed_seeds() -> Vec<Vec<u8>> {
    let mut packed = Vec::new();
    deflate(&b"SELECT ".repeat(40), &mut 0, &mut packed);
    deflate(b"short", &mut 1, &mut packed);
    vec![packed]
}

/// The answer to a greeting, a change of user, numbers and strings.
pub(super) fn logins(data: &[u8]) {
    if let Ok(Response::Login(login)) = Response::parse(data) {
        assert!(login.user.len() + login.proof.len() + login.database.len() <= data.len());
    }
    let _ = Login::parse_change_user(data, Capabilities::ALWAYS);
    let _ = Login::parse_change_user(data, Capabilities(0));
    let mut r = Reader::new(data);
    while r.string().is_ok() && !r.is_empty() {}
}

pub(super) fn login_seeds() -> Vec<Vec<u8>> {
    let mut login = vec![0x8d, 0xa6, 0xbf, 0x00, 0, 0, 0, 1, 0x2d];
    login.extend_from_slice(&[0; 23]);
    login.extend_from_slice(
        b"root\0\0test\0mysql_native_password\0\x1f\x03_os\x05Linux\x0c_client_name\x07libmari",
    );
    let change = b"joe\0\x14aaaaaaaaaaaaaaaaaaaadb\0\x21\0mysql_native_password\0\x03\x01a\0".to_vec();
    vec![login, change]
}

/// A command; an execution's parameters, bound now, used again, and with pieces.
pub(super) fn commands(data: &[u8]) {
    let _ = Command::parse(data);
    let Some((&count, bytes)) = data.split_first() else { return };
    let mut types = Vec::new();
    let none = |_: usize| None;
    if let Ok(values) = params::parse(bytes, count.into(), &mut types, none) {
        assert_eq!(values.len(), usize::from(count));
    }
    let _ = params::parse(bytes, count.into(), &mut types, none);
    let _ = params::parse(bytes, count.into(), &mut types, |i| (i % 2 == 0).then_some(&data[..1]));
}

pub(super) fn command_seeds() -> Vec<Vec<u8>> {
    let all_types = b"\x06\x02\x01\x01\0\x03\0\x08\x80\x0c\0\x0b\0\xfd\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\
                      \x0b\xea\x07\x0b\x15\x01\x02\x03\x04\0\0\0\x08\x01\x01\0\0\0\x02\x03\x04\x02ab";
    let decimal = b"\x01\0\x01\xf6\0\x05-1.50";
    vec![all_types.to_vec(), decimal.to_vec(), b"\x17\x01\0\0\0\x01\x01\0\0\0\0\x01".to_vec()]
}
