//! How many files and sockets the process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit of open files to the most that the system allows this process, as servers do: shells begin with 1,024,
/// which is fewer than a server's connections may be. What the limit is now; `None`: there is none.
pub fn raise_file_limit() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_raised_as_far_as_it_goes() {
        let most = getrlimit(Resource::Nofile).maximum;
        let half = most.map(|n| n / 2);
        setrlimit(Resource::Nofile, Rlimit { current: half, maximum: most }).unwrap();
        assert_eq!(raise_file_limit(), most);
        assert_eq!(getrlimit(Resource::Nofile).current, most);
    }
}
