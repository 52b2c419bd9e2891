//! Fuzzing with libFuzzer on the stable compiler.
//!
//! One instrumented binary holds all targets (`testing/fuzz`). The compiler's own coverage pass stands in for
//! cargo-fuzz; the flags below are what it would pass. Corpora grow in `target/fuzz/corpus`, from seeds that the
//! plain binary cuts out of the fixtures; finds are kept in `target/fuzz/finds`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::process::{Failure, cargo, cargo_once, output_of, step, target_folder};

/// Coverage of edges with counters, and traces of comparisons so that magic numbers are found.
const RUSTFLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing";
pub(crate) const TRIPLE: &str = "x86_64-unknown-linux-gnu";
/// An input that takes longer is a find: no decoder may loop.
const INPUT_SECONDS_MAX: u32 = 10;
const MEMORY_MIB_MAX: u32 = 2048;
/// Found within a tenth of a second when all is well.
const CANARY_SECONDS: u32 = 60;

/// How long each target runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runs {
    Seconds,
    Long,
}

/// The two builds of the fuzzing binary.
pub(crate) struct Fuzzer {
    instrumented: PathBuf,
    plain: PathBuf,
    folder: PathBuf,
}

impl Fuzzer {
    /// Builds both. For runs of seconds the optimizer does little: it would take longer than all of them.
    pub(crate) fn build(runs: Runs) -> Result<Fuzzer, Failure> {
        let target = target_folder();
        // The binary of its test, which is there where all tests were run.
        let of_tests = ["test", "--workspace", "--no-run", "--test", "mutated_seeds", "--quiet", "--locked"];
        step("build the fuzz targets", cargo_once().args(of_tests))?;
        let mut instrumented = cargo();
        instrumented
            .env("RUSTFLAGS", RUSTFLAGS)
            .args(["build", "--quiet", "--locked", "-p", "vaquita-fuzz"])
            .args(["--profile", "fuzz", "--target", TRIPLE]);
        if runs == Runs::Seconds {
            instrumented.env("CARGO_PROFILE_FUZZ_OPT_LEVEL", "1");
            // Each crate waits for the one below it: two threads make its code, not one.
            instrumented.env("CARGO_PROFILE_FUZZ_CODEGEN_UNITS", "16");
            // Nor are those parts of a crate optimized together.
            instrumented.env("CARGO_PROFILE_FUZZ_LTO", "off");
        }
        step("build the fuzz targets with coverage", &mut instrumented)?;
        Ok(Fuzzer {
            instrumented: target.join(TRIPLE).join("fuzz/vaquita-fuzz"),
            plain: target.join("debug/vaquita-fuzz"),
            folder: target.join("fuzz"),
        })
    }

    /// The names of all targets, without the canary.
    pub(crate) fn targets(&self) -> Result<Vec<String>, Failure> {
        let list = output_of(Command::new(&self.plain).arg("list"))?;
        Ok(list.lines().map(str::to_owned).collect())
    }

    /// Runs one target for a time.
    pub(crate) fn run(&self, target: &str, seconds: u32) -> Result<(), Failure> {
        let corpus = self.seeded_corpus(target)?;
        let started = Instant::now();
        let (ended_well, log) = self.libfuzzer(target, seconds, &corpus)?;
        if !ended_well {
            let tail: Vec<&str> = log.lines().rev().take(60).collect();
            let tail: Vec<&str> = tail.into_iter().rev().collect();
            return Err(Failure(format!("fuzz target {target} has a find:\n{}", tail.join("\n"))));
        }
        let runs =
            log.lines().rev().find_map(|line| line.strip_prefix("Done ")).unwrap_or("no count of runs");
        println!("fuzz {target}: no find, {runs} ({:.0} s)", started.elapsed().as_secs_f64());
        Ok(())
    }

    /// Every target for a time each; all run, the failure names those with finds.
    pub(crate) fn run_all(&self, seconds: u32) -> Result<(), Failure> {
        let mut finds = Vec::new();
        for target in self.targets()? {
            if let Err(Failure(text)) = self.run(&target, seconds) {
                eprintln!("{text}");
                finds.push(target);
            }
        }
        if finds.is_empty() {
            Ok(())
        } else {
            Err(Failure(format!("fuzzing found faults in: {}", finds.join(", "))))
        }
    }

    /// The planted bug must be found, by the bytes that trigger it.
    pub(crate) fn canary(&self) -> Result<(), Failure> {
        let corpus = self.folder.join("corpus/canary");
        // From nothing each time: a corpus that holds the bug proves nothing.
        let _ = fs::remove_dir_all(&corpus);
        make_folder(&corpus)?;
        let started = Instant::now();
        let (ended_well, log) = self.libfuzzer("canary", CANARY_SECONDS, &corpus)?;
        if ended_well || !log.contains("the canary was found") {
            return Err(Failure(format!("the fuzzer did not find the planted bug:\n{log}")));
        }
        println!("fuzz canary: the planted bug was found in {:.1} s", started.elapsed().as_secs_f64());
        Ok(())
    }

    fn seeded_corpus(&self, target: &str) -> Result<PathBuf, Failure> {
        let corpus = self.folder.join("corpus").join(target);
        make_folder(&corpus)?;
        output_of(Command::new(&self.plain).args(["seeds", target]).arg(&corpus))?;
        Ok(corpus)
    }

    /// Whether it ended without a find, and what it printed.
    fn libfuzzer(&self, target: &str, seconds: u32, corpus: &Path) -> Result<(bool, String), Failure> {
        let finds = self.folder.join("finds");
        make_folder(&finds)?;
        let mut command = Command::new(&self.instrumented);
        command.env("VAQUITA_FUZZ_TARGET", target).env("RUST_BACKTRACE", "1");
        command.arg(format!("-max_total_time={seconds}")).arg(format!("-timeout={INPUT_SECONDS_MAX}"));
        command.arg(format!("-rss_limit_mb={MEMORY_MIB_MAX}"));
        command.arg(format!("-artifact_prefix={}/{target}-", finds.display())).arg(corpus);
        let output = command.output().map_err(|e| Failure(format!("cannot run {command:?}: {e}")))?;
        Ok((output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned()))
    }
}

fn make_folder(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|e| Failure(format!("cannot make {}: {e}", folder.display())))
}

/// `cargo xtask fuzz TARGET SECONDS`.
pub(crate) fn one(target: &str, seconds: &str) -> Result<(), Failure> {
    let seconds = seconds.parse().map_err(|_| Failure(format!("{seconds} is no number of seconds")))?;
    let fuzzer = Fuzzer::build(Runs::Long)?;
    match target {
        "canary" => fuzzer.canary(),
        "all" => fuzzer.run_all(seconds),
        _ if fuzzer.targets()?.iter().any(|known| known == target) => fuzzer.run(target, seconds),
        _ => Err(Failure(format!("no fuzz target {target}; there are: {}", fuzzer.targets()?.join(", ")))),
    }
}

/// The short run of the test command: the canary, then three seconds for each target.
pub(crate) fn smoke() -> Result<(), Failure> {
    let fuzzer = Fuzzer::build(Runs::Seconds)?;
    fuzzer.canary()?;
    fuzzer.run_all(3)
}
