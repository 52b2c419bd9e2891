//! How much memory all sessions may take if nobody says so: what the machine has for this process, less what the engine takes
//! for itself, and a part of the rest for everything else.

use vaquita_session::vars::{Globals, VarValue, id};
use vaquita_types::memory::account::is_counted;

/// The least that sessions get, in bytes.
const LEAST: u64 = 64 << 20;

/// Gives `global_connection_memory_limit` a default that follows from the machine, and that value if none is given.
pub(super) fn limit_by_machine(globals: &mut Globals, given: &[(String, String)]) {
    // What is not counted cannot be limited.
    let Some(machine) = of_process().filter(|_| is_counted()) else { return };
    let engine = globals.uint("innodb_buffer_pool_size") + globals.uint("innodb_log_buffer_size");
    let limit = VarValue::UInt((machine.saturating_sub(engine) / 4 * 3).max(LEAST));
    let var = id::GLOBAL_CONNECTION_MEMORY_LIMIT;
    let is_given = given.iter().any(|(name, _)| name.replace('-', "_").eq_ignore_ascii_case(var.def().name));
    let asked = is_given.then(|| globals.get(var));
    globals.put_default(var, limit);
    if let Some(asked) = asked {
        globals.put(var, asked);
    }
}

/// Bytes that this process can have: the smallest of the machine's memory, the limit of its control group, the limit of its
/// address space.
fn of_process() -> Option<u64> {
    let number = |path: &str| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kb| kb << 10)
    });
    let address_space = std::fs::read_to_string("/proc/self/limits").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("Max address space"))?;
        line.split_whitespace().next()?.parse().ok()
    });
    // Of the second and the first generation of control groups, as a container sees its own.
    let group = number("/sys/fs/cgroup/memory.max");
    let old_group = number("/sys/fs/cgroup/memory/memory.limit_in_bytes");
    [machine, address_space, group, old_group].into_iter().flatten().min()
}
