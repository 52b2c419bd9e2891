//! Logins: SASL with the mechanism PLAIN (RFC 4616): identity, user and password with a NUL between them.

use super::frame::{Answer, Header, Status, op, push};
use crate::protocol::Context;
use crate::protocol::state::State;

/// The longest name of a mechanism.
pub(super) const MECHANISM_MAX: usize = 32;

/// Does a SASL frame.
pub(super) fn step<S>(
    state: &mut State,
    header: &Header,
    mechanism: &[u8],
    message: &[u8],
    cx: &mut Context<'_, S>,
) {
    if header.opcode == op::SASL_LIST {
        return push(cx.out, Answer::to(header), &[], &[], b"PLAIN");
    }
    if header.opcode == op::SASL_AUTH {
        // Who begins again is nobody until it ends well.
        state.authenticated = false;
        if mechanism == b"PLAIN" && message.is_empty() {
            let answer = Answer { status: Status::AuthContinue, ..Answer::to(header) };
            return push(cx.out, answer, &[], &[], &[]);
        }
    }
    let known = mechanism == b"PLAIN"
        && credentials(message).is_some_and(|(user, password)| {
            cx.service.users.as_ref().is_some_and(|users| users.check(user, password, &state.peer))
        });
    if !known {
        return refuse(state, header, cx);
    }
    cx.service.stats.auth_cmds.add(1);
    state.authenticated = true;
    push(cx.out, Answer::to(header), &[], &[], b"Authenticated");
}

/// Answers that the login failed.
pub(super) fn refuse<S>(state: &mut State, header: &Header, cx: &mut Context<'_, S>) {
    state.authenticated = false;
    cx.service.stats.auth_cmds.add(1);
    cx.service.stats.auth_errors.add(1);
    super::error(header, Status::AuthFailure, cx);
}

/// User and password. Acting for somebody else is not possible.
fn credentials(message: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut parts = message.splitn(3, |&byte| byte == 0);
    let (identity, user, password) = (parts.next()?, parts.next()?, parts.next()?);
    let for_itself = identity.is_empty() || identity == user;
    (for_itself && !user.is_empty() && !password.contains(&0)).then_some((user, password))
}

#[cfg(test)]
mod tests {
    use super::credentials;

    #[test]
    fn a_login_is_three_parts() {
        assert_eq!(credentials(b"\0u\0p"), Some((&b"u"[..], &b"p"[..])));
        assert_eq!(credentials(b"u\0u\0p"), Some((&b"u"[..], &b"p"[..])));
        assert_eq!(credentials(b"\0u\0"), Some((&b"u"[..], &b""[..])));
        for bad in [&b""[..], b"u", b"u\0p", b"\0\0p", b"root\0u\0p", b"\0u\0p\0x"] {
            assert_eq!(credentials(bad), None, "{bad:?}");
        }
    }
}
