//! The table: medians of several runs, their spread, and ratios to the first engine.

use std::fmt::Write as _;

/// Rates of one workload, engine by engine.
#[derive(Debug)]
pub struct Row {
    /// The workload's name.
    pub workload: &'static str,
    /// For each engine its name and the operations per second of each run.
    pub rates: Vec<(&'static str, Vec<f64>)>,
}

/// Median and half the distance between the extremes, as a share of the median.
fn median_and_spread(rates: &[f64]) -> (f64, f64) {
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some((first, last)) = sorted.first().zip(sorted.last()) else { return (0.0, 0.0) };
    let middle = sorted.len() / 2;
    let median =
        if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 };
    (median, (last - first) / 2.0 / median)
}

/// Wide enough for every workload, so that tables printed one by one line up.
const NAME_WIDTH: usize = 30;

/// The rows as text. Ratios above 1 mean faster than the first engine.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::new();
    let width = rows.iter().map(|row| row.workload.len()).max().unwrap_or(0).max(NAME_WIDTH);
    for row in rows {
        let base = row.rates.first().map_or(0.0, |(_, rates)| median_and_spread(rates).0);
        for (number, (engine, rates)) in row.rates.iter().enumerate() {
            let (median, spread) = median_and_spread(rates);
            let name = if number == 0 { row.workload } else { "" };
            let ratio = median / base;
            writeln!(
                text,
                "{name:width$}  {engine:<8} {median:>12.0}/s ±{:>3.0} %  x{ratio:.2}",
                spread * 100.0
            )
            .expect("writing to a string");
        }
    }
    text
}

/// What the numbers were measured on: cores, kernel, and the file system of the scratch folder.
pub fn machine(scratch: &std::path::Path) -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    let scratch = scratch.canonicalize().unwrap_or_default();
    let file_system = mounts
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ').skip(1);
            Some((words.next()?, words.next()?))
        })
        .filter(|(mount, _)| scratch.starts_with(mount))
        .max_by_key(|(mount, _)| mount.len())
        .map_or("unknown", |(_, kind)| kind);
    format!("{cores} cores, Linux {}, {file_system}", kernel.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_spreads_and_ratios() {
        assert_eq!(median_and_spread(&[30.0, 10.0, 20.0]), (20.0, 0.5));
        assert_eq!(median_and_spread(&[10.0, 30.0]), (20.0, 0.5));
        let row = Row { workload: "get", rates: vec![("a", vec![100.0]), ("b", vec![50.0])] };
        let text = table(&[row]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("get ") && lines[0].ends_with("x1.00"), "{text}");
        assert!(lines[1].trim_start().starts_with("b ") && lines[1].ends_with("x0.50"), "{text}");
    }
}
