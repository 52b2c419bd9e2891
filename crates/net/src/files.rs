//! How many files and sockets the process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit of open files to the most that the system allows this process, as servers do: shells begin with 1,024,
/// which is fewer than a server's connections may be. If that is less than `wanted`, it asks for those too, which root gets.
/// What the limit is now; `None`: there is none.
pub fn raise_file_limit(wanted: u64) -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    if limit.maximum.is_some_and(|most| most < wanted) {
        let more = Rlimit { current: Some(wanted), maximum: Some(wanted) };
        if setrlimit(Resource::Nofile, more).is_ok() {
            return Some(wanted);
        }
    }
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
        assert_eq!(raise_file_limit(0), most);
        assert_eq!(getrlimit(Resource::Nofile).current, most);
    }
}
