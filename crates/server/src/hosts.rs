//! Hosts whose connections break off during login again and again are shut out (`max_connect_errors`).

use parking_lot::Mutex;
use std::collections::HashMap;
use std::net::IpAddr;

/// Most hosts remembered; the oldest knowledge is thrown away together.
const HOSTS_MAX: usize = 4096;

/// Failed logins in a row, by host.
#[derive(Debug, Default)]
pub struct Hosts {
    errors: Mutex<HashMap<IpAddr, u64>>,
}

impl Hosts {
    /// Whether a host is shut out. Loopback never is.
    pub fn is_blocked(&self, host: IpAddr, max_errors: u64) -> bool {
        !host.is_loopback() && self.errors.lock().get(&host).is_some_and(|&errors| errors >= max_errors)
    }

    /// A connection broke off before its login was complete. A wrong password is no such error.
    pub fn failed(&self, host: IpAddr) {
        let mut errors = self.errors.lock();
        if errors.len() >= HOSTS_MAX && !errors.contains_key(&host) {
            errors.clear();
        }
        *errors.entry(host).or_default() += 1;
    }

    /// Somebody from there is logged in.
    pub fn succeeded(&self, host: IpAddr) {
        self.errors.lock().remove(&host);
    }

    /// FLUSH HOSTS.
    pub fn clear(&self) {
        self.errors.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_shut_out_after_errors_in_a_row() {
        let hosts = Hosts::default();
        let host = IpAddr::from([10, 0, 0, 1]);
        hosts.failed(host);
        hosts.failed(host);
        assert!(!hosts.is_blocked(host, 3));
        hosts.succeeded(host);
        (0..3).for_each(|_| hosts.failed(host));
        assert!(hosts.is_blocked(host, 3));
        assert!(!hosts.is_blocked(IpAddr::from([10, 0, 0, 2]), 3));
        hosts.clear();
        assert!(!hosts.is_blocked(host, 3));
        let loopback = IpAddr::from([127, 0, 0, 1]);
        (0..3).for_each(|_| hosts.failed(loopback));
        assert!(!hosts.is_blocked(loopback, 3));
    }
}
