//! Stretches of keys: `rget` and `mr`.

use crate::support;

use support::{Local, now, shown};

fn local() -> Local {
    let local = Local::new(now());
    for (key, flags, value) in [("a", 1, "va"), ("b", 0, "vb"), ("c", 0, ""), ("d", 4, "vd"), (">x", 0, "vx")]
    {
        local.talk(format!("set {key} {flags} 0 {}\r\n{value}\r\n", value.len()).as_bytes());
    }
    local
}

fn check(command: &str, answer: &str) {
    let (answers, closed) = local().talk(format!("{command}\r\n").as_bytes());
    let answers = shown(&answers).replace("\\r\\n", "|");
    assert_eq!((answers.as_str(), closed), (answer, false), "{command}");
}

#[test]
fn ends_are_in_out_or_open() {
    check("rget b c", "VALUE b 0 2|vb|VALUE c 0 0||END|");
    check("rget >=b <=c keys", "KEY b|KEY c|END|");
    check("rget >b <d keys", "KEY c|END|");
    check("rget - a keys", "KEY >x|KEY a|END|");
    check("rget c - keys", "KEY c|KEY d|END|");
    check("rget - - keys", "KEY >x|KEY a|KEY b|KEY c|KEY d|END|");
    check("rget >=>x >x keys", "KEY >x|END|");
    check("rget bb bz", "END|");
    check("rget d a", "END|");
}

#[test]
fn order_and_limit() {
    check("rget - - keys desc", "KEY d|KEY c|KEY b|KEY a|KEY >x|END|");
    check("rget a - keys limit=2", "KEY a|KEY b|MORE|");
    check("rget a - keys limit=4", "KEY a|KEY b|KEY c|KEY d|END|");
    check("rget - d keys limit=2 desc", "KEY d|KEY c|MORE|");
    check("rget a a cas", "VALUE a 1 2 1|va|END|");
    check("rget a b keys cas", "KEY a 1|KEY b 2|END|");
}

/// To go on, the last key takes the place of the end: every key comes once.
#[test]
fn pages() {
    for descending in [false, true] {
        let local = local();
        let (mut end, mut seen) = ("-".to_owned(), Vec::new());
        loop {
            let command = match descending {
                false => format!("rget {end} - limit=2 keys\r\n"),
                true => format!("rget - {end} limit=2 keys desc\r\n"),
            };
            let answer = String::from_utf8(local.talk(command.as_bytes()).0).expect("text");
            seen.extend(answer.lines().filter_map(|line| line.strip_prefix("KEY ")).map(str::to_owned));
            if answer.ends_with("END\r\n") {
                break;
            }
            assert!(answer.ends_with("MORE\r\n"), "{answer}");
            let last = seen.last().expect("more than nothing");
            end = format!("{}{last}", if descending { '<' } else { '>' });
        }
        let mut wanted = vec![">x", "a", "b", "c", "d"];
        if descending {
            wanted.reverse();
        }
        assert_eq!(seen, wanted);
    }
}

/// Large answers are cut where there is enough of them.
#[test]
fn answers_are_bounded() {
    let mut service = support::service(now());
    service.limits.output_max = 1000;
    let local = Local::with(service, now());
    for number in 0..9 {
        local.talk(format!("set k{number} 0 0 400\r\n{}\r\n", "v".repeat(400)).as_bytes());
    }
    let (answers, _) = local.talk(b"rget - -\r\n");
    assert!(answers.len() < 1500 && answers.ends_with(b"MORE\r\n"), "{}", shown(&answers));
}

#[test]
fn wrong_commands() {
    check("rget", "ERROR|");
    check("rget a", "ERROR|");
    check("rget > -", "CLIENT_ERROR bad command line format|");
    check("rget a b limit=0", "CLIENT_ERROR usage: rget FROM TO [limit=N] [desc] [keys] [cas]|");
    check("rget a b limit=10001", "CLIENT_ERROR usage: rget FROM TO [limit=N] [desc] [keys] [cas]|");
    check("rget a b what", "CLIENT_ERROR usage: rget FROM TO [limit=N] [desc] [keys] [cas]|");
    check("mr a", "ERROR|");
    check("mr a b z", "CLIENT_ERROR invalid flag|");
    check("mr a b Mx", "CLIENT_ERROR invalid mode for mr M token|");
    check("mr a b N0", "CLIENT_ERROR bad token in command line format|");
    check("mr a b b", "CLIENT_ERROR error decoding key|");
}

#[test]
fn meta() {
    check("mr a c", "HD ka|HD kb|HD kc|EN|");
    check("mr a b v f s t", "VA 2 ka f1 s2 t-1|va|VA 2 kb f0 s2 t-1|vb|EN|");
    check("mr >a - N2 O7", "HD kb O7|HD kc O7|MO O7|");
    check("mr - <d N1 MD v", "VA 0 kc||MO|");
    check("mr YQ== YQ== b v", "VA 2 kYQ== b|va|EN|");
    check("mr >YQ== Yg== b", "HD kYg== b|EN|");
}
