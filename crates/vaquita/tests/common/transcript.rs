//! Transcripts of the shell.

/// Statements of a transcript, each with its answer.
pub(crate) fn steps(transcript: &str) -> Vec<String> {
    let mut steps: Vec<String> = Vec::new();
    for line in transcript.lines() {
        match steps.last_mut() {
            Some(step) if !line.starts_with("> ") => {
                step.push('\n');
                step.push_str(line);
            }
            _ => steps.push(line.to_owned()),
        }
    }
    steps
}
