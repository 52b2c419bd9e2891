//! The fuzzing binary. Instrumented, it is libFuzzer on the target named by `VAQUITA_FUZZ_TARGET`; plain, it lists
//! targets, writes seeds and replays finds.
#![cfg_attr(fuzzing, no_main)]
#![cfg_attr(not(fuzzing), forbid(unsafe_code))]

#[cfg(fuzzing)]
mod instrumented {
    //! One binary for all targets: one link instead of a dozen.

    use std::sync::LazyLock;

    static TARGET: LazyLock<&vaquita_fuzz::Target> = LazyLock::new(|| {
        let name = std::env::var("VAQUITA_FUZZ_TARGET").expect("VAQUITA_FUZZ_TARGET names the target");
        vaquita_fuzz::find(&name).unwrap_or_else(|| panic!("there is no fuzz target {name}"))
    });

    libfuzzer_sys::fuzz_target!(|data: &[u8]| (TARGET.run)(data));
}

#[cfg(not(fuzzing))]
fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["list"] => {
            vaquita_fuzz::TARGETS.iter().for_each(|target| println!("{}", target.name));
            std::process::ExitCode::SUCCESS
        }
        ["seeds", target, folder] => plain::write_seeds(plain::named(target), folder.as_ref()),
        ["replay", target, files @ ..] => plain::replay(plain::named(target), files),
        _ => {
            eprintln!("usage: vaquita-fuzz list | seeds TARGET FOLDER | replay TARGET FILE..");
            std::process::ExitCode::from(2)
        }
    }
}

#[cfg(not(fuzzing))]
mod plain {
    //! Commands of the plain build.

    use std::path::Path;
    use std::process::ExitCode;

    use vaquita_fuzz::Target;

    pub(crate) fn named(name: &str) -> &'static Target {
        vaquita_fuzz::find(name).unwrap_or_else(|| {
            eprintln!("there is no fuzz target {name}");
            std::process::exit(2)
        })
    }

    pub(crate) fn write_seeds(target: &Target, folder: &Path) -> ExitCode {
        for (name, input) in target.inputs() {
            if let Err(e) = std::fs::write(folder.join(name), input) {
                eprintln!("{}: {e}", folder.display());
                return ExitCode::FAILURE;
            }
        }
        ExitCode::SUCCESS
    }

    pub(crate) fn replay(target: &Target, files: &[&str]) -> ExitCode {
        for file in files {
            match std::fs::read(file) {
                Ok(bytes) => (target.run)(&bytes),
                Err(e) => {
                    eprintln!("{file}: {e}");
                    return ExitCode::FAILURE;
                }
            }
            println!("{file}: ok");
        }
        ExitCode::SUCCESS
    }
}
