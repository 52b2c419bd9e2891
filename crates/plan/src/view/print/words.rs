//! What operators, units and functions are called.

use vaquita_parser::ast;

pub(super) fn unit_name(unit: ast::IntervalUnit) -> &'static str {
    use ast::IntervalUnit as U;
    match unit {
        U::Microsecond => "microsecond",
        U::Second => "second",
        U::Minute => "minute",
        U::Hour => "hour",
        U::Day => "day",
        U::Week => "week",
        U::Month => "month",
        U::Quarter => "quarter",
        U::Year => "year",
        U::SecondMicrosecond => "second_microsecond",
        U::MinuteMicrosecond => "minute_microsecond",
        U::MinuteSecond => "minute_second",
        U::HourMicrosecond => "hour_microsecond",
        U::HourSecond => "hour_second",
        U::HourMinute => "hour_minute",
        U::DayMicrosecond => "day_microsecond",
        U::DaySecond => "day_second",
        U::DayMinute => "day_minute",
        U::DayHour => "day_hour",
        U::YearMonth => "year_month",
    }
}

pub(super) fn op_text(op: ast::BinaryOp) -> &'static str {
    use ast::BinaryOp as Op;
    match op {
        Op::Or => "or",
        Op::Xor => "xor",
        Op::And => "and",
        Op::Eq => "=",
        Op::NullSafeEq => "<=>",
        Op::Ne => "<>",
        Op::Lt => "<",
        Op::Le => "<=",
        Op::Gt => ">",
        Op::Ge => ">=",
        Op::SoundsLike => "sounds like",
        Op::BitOr => "|",
        Op::BitAnd => "&",
        Op::ShiftLeft => "<<",
        Op::ShiftRight => ">>",
        Op::Add => "+",
        Op::Sub => "-",
        Op::Mul => "*",
        Op::Div => "/",
        Op::IntDiv => "DIV",
        Op::Mod => "%",
        Op::BitXor => "^",
        Op::Concat => "||",
        Op::JsonExtract => "->",
        Op::JsonUnquoteExtract => "->>",
        Op::MemberOf => "member of",
    }
}

/// A function's name as MySQL writes it, of a name in small letters.
pub(super) fn function_name(name: &str) -> &str {
    match name {
        "substring" | "mid" => "substr",
        "lower" => "lcase",
        "upper" => "ucase",
        "power" => "pow",
        "character_length" => "char_length",
        "octet_length" => "length",
        "day" => "dayofmonth",
        "ceil" => "ceiling",
        "session_user" | "system_user" => "user",
        other => other,
    }
}
