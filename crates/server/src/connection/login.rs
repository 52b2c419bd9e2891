//! Who is it? From the greeting to the first OK, and the same again for a change of user.

use super::active::Active;
use super::{Connection, Scratch};
use crate::backend::Happening;
use crate::error_log::Gravity;
use crate::errors;
use crate::packet::{Output, Packet};
use crate::protocol::Capabilities;
use crate::protocol::login::{Greeting, Login, Response, push_more, push_switch};
use crate::protocol::reply::{push_plain_ok, status};
use vaquita_net::{hand_over_if_busy, tls};
use vaquita_sql::accounts::{Account, TlsClient};
use vaquita_sql::password::{
    CACHING_SHA2, CHALLENGE_LEN, NATIVE, native_check, sha2_check_password, sha2_check_proof, sha2_digest,
};
use vaquita_sql::{ConnectInfo, SqlError};

/// Data of `caching_sha2_password`: the proof was right.
const SHA2_FAST_DONE: u8 = 3;

/// Data of `caching_sha2_password`: send the password itself.
const SHA2_SEND_PASSWORD: u8 = 4;

/// A login in progress.
#[derive(Debug)]
pub(super) struct LoginState {
    challenge: [u8; CHALLENGE_LEN],
    step: Step,
    /// A logged-in session becomes another user's.
    change: bool,
}

#[derive(Debug)]
enum Step {
    /// The answer to the greeting.
    Response,
    /// A proof, after a switch of method.
    Proof(Box<Login>, Account),
    /// The password itself.
    Password(Box<Login>, Account),
}

impl LoginState {
    pub(super) fn new(challenge: [u8; CHALLENGE_LEN]) -> LoginState {
        LoginState { challenge, step: Step::Response, change: false }
    }
}

/// What a proof proves.
enum Verdict {
    Right,
    Wrong,
    /// The password itself is needed.
    AskPassword,
}

impl Connection {
    fn offered(&self) -> Capabilities {
        let mut offered = Capabilities::ALWAYS.with(Capabilities::COMPRESS);
        if self.shared.tls().is_some() {
            offered = offered.with(Capabilities::SSL);
        }
        offered
    }

    pub(super) fn push_greeting(&self, out: &mut Output) {
        let Some(login) = &self.login else { return };
        let greeting = Greeting {
            version: &self.shared.version,
            id: self.id,
            challenge: &login.challenge,
            capabilities: self.offered(),
            collation: self.shared.backend.collation(),
            status: status::AUTOCOMMIT,
            plugin: NATIVE,
        };
        greeting.push(out);
    }

    /// The next packet of a login. `false`: the connection ends.
    pub(super) fn login_step(&mut self, packet: &Packet, scratch: &mut Scratch) -> bool {
        let Some(mut state) = self.login.take() else { return false };
        let payload = self.input.payload(packet).to_vec();
        match std::mem::replace(&mut state.step, Step::Response) {
            Step::Response => match Response::parse(&payload) {
                Ok(Response::Tls(_)) => self.start_tls(state, scratch),
                Ok(Response::Login(login)) => self.logs_in(state, login, scratch),
                Ok(Response::Old) => self.refuse(scratch, &errors::old_client()),
                Err(_) => {
                    self.broke_off("Bad handshake");
                    self.fail(scratch, &errors::bad_handshake())
                }
            },
            Step::Proof(mut login, account) => {
                login.proof = payload;
                self.check(state, login, account, scratch)
            }
            Step::Password(login, account) => self.check_password(&state, login, &account, &payload, scratch),
        }
    }

    fn start_tls(&mut self, state: Box<LoginState>, scratch: &mut Scratch) -> bool {
        let (Some(config), None) = (self.shared.tls(), self.channel.tls()) else {
            self.broke_off("Bad handshake");
            return self.fail(scratch, &errors::bad_handshake());
        };
        self.login = Some(state);
        let begun = self.input.take_raw();
        self.channel.start_tls(config, &begun, &mut self.input).is_ok()
    }

    fn logs_in(&mut self, state: Box<LoginState>, mut login: Box<Login>, scratch: &mut Scratch) -> bool {
        login.capabilities = login.capabilities.and(self.offered());
        if self.shared.backend.limits().require_secure_transport && !self.is_secure() {
            return self.refuse(scratch, &errors::insecure_transport());
        }
        self.identify(state, login, scratch)
    }

    /// COM_CHANGE_USER: a login within a session.
    pub(super) fn begin_change_user(&mut self, packet: &Packet, scratch: &mut Scratch) -> bool {
        let Some(active) = &self.active else { return false };
        let arguments = self.input.payload(packet).get(1..).unwrap_or_default();
        let Ok(mut login) = Login::parse_change_user(arguments, active.capabilities) else {
            return self.fail(scratch, &errors::malformed_packet());
        };
        if login.collation == 0 {
            login.collation = self.shared.backend.collation();
        }
        let mut state = LoginState::new(active.challenge);
        state.change = true;
        let going_on = self.identify(Box::new(state), Box::new(login), scratch);
        self.input.expect_seq(scratch.out.seq);
        going_on
    }

    /// Finds the account; checks the proof, or asks for one that fits the account's method. Somebody who has no account is
    /// asked like anybody else.
    fn identify(&mut self, mut state: Box<LoginState>, login: Box<Login>, scratch: &mut Scratch) -> bool {
        let user = String::from_utf8_lossy(&login.user);
        let account = self.shared.backend.account(&user, &self.peer.host, &self.transport());
        let account = account.unwrap_or_else(|| self.shared.decoys.account(&user, &*self.shared.backend));
        let method = account.plugin.as_str();
        let knows_methods = login.capabilities.has(Capabilities::PLUGIN_AUTH);
        let offered = if knows_methods { login.plugin.as_slice() } else { NATIVE.as_bytes() };
        // An empty method is that of the greeting.
        let fits = offered == method.as_bytes() || (offered.is_empty() && method == NATIVE);
        if fits {
            return self.check(state, login, account, scratch);
        }
        if !knows_methods {
            return self.refuse(scratch, &errors::old_client());
        }
        let Ok(challenge) = crate::challenge::challenge() else { return false };
        push_switch(&mut scratch.out, method, &challenge);
        state.challenge = challenge;
        state.step = Step::Proof(login, account);
        self.login = Some(state);
        true
    }

    fn check(
        &mut self,
        mut state: Box<LoginState>,
        login: Box<Login>,
        account: Account,
        scratch: &mut Scratch,
    ) -> bool {
        match self.judge(&state.challenge, &login, &account) {
            Verdict::Right => {
                if account.plugin == CACHING_SHA2 && !account.authentication.is_empty() {
                    push_more(&mut scratch.out, &[SHA2_FAST_DONE]);
                }
                self.admit(&state, &login, &account, scratch)
            }
            Verdict::Wrong => self.deny(&login, scratch),
            Verdict::AskPassword => {
                push_more(&mut scratch.out, &[SHA2_SEND_PASSWORD]);
                state.step = Step::Password(login, account);
                self.login = Some(state);
                true
            }
        }
    }

    fn judge(&self, challenge: &[u8; CHALLENGE_LEN], login: &Login, account: &Account) -> Verdict {
        if account.unchecked {
            return Verdict::Right;
        }
        let stored = &account.authentication;
        let right = |right: bool| if right { Verdict::Right } else { Verdict::Wrong };
        if account.plugin == NATIVE {
            return right(native_check(stored, challenge, &login.proof));
        }
        if account.plugin != CACHING_SHA2 {
            return Verdict::Wrong;
        }
        // No password is sent as nothing or as the zero byte that would end it.
        let without = matches!(login.proof.as_slice(), [] | [0]);
        if stored.is_empty() || without {
            return right(stored.is_empty() && without);
        }
        match self.shared.sha2_cache.get(account) {
            Some(digest) if sha2_check_proof(&digest, challenge, &login.proof) => Verdict::Right,
            _ => Verdict::AskPassword,
        }
    }

    fn check_password(
        &mut self,
        state: &LoginState,
        login: Box<Login>,
        account: &Account,
        payload: &[u8],
        scratch: &mut Scratch,
    ) -> bool {
        if !self.is_secure() {
            // What has been sent is a request for a key to encrypt the password with: there is none.
            self.count_refusal();
            let user = String::from_utf8_lossy(&login.user);
            return self.fail(scratch, &errors::needs_secure_channel(&user, &self.peer.host));
        }
        let password = payload.strip_suffix(&[0]).unwrap_or(payload);
        // Thousands of rounds of hashing.
        hand_over_if_busy();
        if !sha2_check_password(&account.authentication, password) {
            return self.deny(&login, scratch);
        }
        self.shared.sha2_cache.put(account, sha2_digest(password));
        self.admit(state, &login, account, scratch)
    }

    /// Right: what is left that may forbid it?
    fn admit(&mut self, state: &LoginState, login: &Login, account: &Account, scratch: &mut Scratch) -> bool {
        let user = String::from_utf8_lossy(&login.user).into_owned();
        if account.locked {
            return self.refuse(scratch, &errors::account_locked(&user, &self.peer.host));
        }
        if let Some(why) = account.demand.unmet_by(self.tls_client().as_ref()) {
            // The client is not told what would do.
            let text = format!("Access denied for user '{user}'@'{}': {why}", self.peer.host);
            self.shared.log.write(Gravity::Note, self.id, &text);
            return self.deny(login, scratch);
        }
        let caps = login.capabilities;
        let speaks_of_it = caps.has(Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS);
        if account.password_expired
            && !speaks_of_it
            && self.shared.backend.limits().disconnect_on_expired_password
        {
            return self.refuse(scratch, &errors::password_expired());
        }
        let database = String::from_utf8_lossy(&login.database).into_owned();
        let info = ConnectInfo {
            id: Some(self.id),
            user: user.clone(),
            account_host: account.host.clone(),
            host: self.peer.host.clone(),
            transport: self.transport(),
            database: (!database.is_empty()).then(|| database.clone()),
            collation: login.collation,
            found_rows: caps.has(Capabilities::FOUND_ROWS),
            multi_statements: caps.has(Capabilities::MULTI_STATEMENTS),
            interactive: caps.has(Capabilities::INTERACTIVE),
            attributes: login.attributes.clone(),
        };
        let entered = match &mut self.active {
            Some(active) => active.client.change_user(info).map(|()| active.forget()),
            None => self.shared.backend.connect(info, self.hooks(caps)).map(|client| {
                self.active = Some(Box::new(Active::new(client, caps, state.challenge)));
            }),
        };
        if let Err(error) = entered {
            return self.refuse(scratch, &error);
        }
        if let Some(ip) = self.ip() {
            self.shared.hosts.succeeded(ip);
        }
        let Some(active) = &mut self.active else { return false };
        (active.user, active.database, active.challenge) = (user, database, state.challenge);
        push_plain_ok(&mut scratch.out, active.client.status_flags());
        if caps.has(Capabilities::COMPRESS) && !state.change {
            // The OK itself still goes plain.
            if self.channel.send(&mut scratch.out.buf).is_err() {
                return false;
            }
            self.channel.start_compression();
        }
        true
    }

    /// What an account may demand of the client's TLS, if it speaks any.
    fn tls_client(&self) -> Option<TlsClient> {
        let tls = self.channel.tls()?;
        let cipher = tls::names(tls).map_or_else(String::new, |(cipher, _)| cipher);
        let certificate = tls::certificate_of(tls).map(|names| (names.subject, names.issuer));
        Some(TlsClient { cipher, certificate })
    }

    fn deny(&mut self, login: &Login, scratch: &mut Scratch) -> bool {
        let with_password = !matches!(login.proof.as_slice(), [] | [0]);
        let user = String::from_utf8_lossy(&login.user);
        let error = match self.shared.backend.closed() {
            Some(reason) => errors::closed(&user, &self.peer.host, &reason),
            None => errors::access_denied(&user, &self.peer.host, with_password),
        };
        self.refuse(scratch, &error)
    }

    /// Ends a login that was in order but not allowed.
    fn refuse(&mut self, scratch: &mut Scratch, error: &SqlError) -> bool {
        self.count_refusal();
        self.fail(scratch, error)
    }

    fn count_refusal(&self) {
        self.shared.backend.count(Happening::AbortedConnect);
    }
}
