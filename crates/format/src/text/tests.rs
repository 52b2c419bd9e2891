use super::*;

fn shown(t: &TextType, stored: &[u8]) -> String {
    let mut out = String::new();
    t.write(stored, &mut out).unwrap();
    out
}

fn int(unsigned: bool) -> TextType {
    TextType::Int { unsigned, zerofill: None }
}

#[test]
fn integers() {
    assert_eq!(shown(&int(false), &[0x7F, 0xFF, 0xFF, 0xFF]), "-1");
    assert_eq!(shown(&int(false), &[0x80, 0, 0, 1]), "1");
    assert_eq!(shown(&int(false), &[0; 8]), "-9223372036854775808");
    assert_eq!(shown(&int(true), &[0xFF; 8]), "18446744073709551615");
    assert_eq!(shown(&int(false), &[0]), "-128");
    assert_eq!(shown(&TextType::Int { unsigned: true, zerofill: Some(5) }, &[7]), "00007");
    assert_eq!(shown(&TextType::Bit, &[0x0A, 0xBC]), "ABC");
}

#[test]
fn decimals() {
    let d = |precision, scale| TextType::Decimal { precision, scale, zerofill: None };
    assert_eq!(shown(&d(10, 2), &[0x7F, 0x43, 0x9E, 0xB1, 0xA4]), "-12345678.91");
    assert_eq!(shown(&d(10, 2), &[0x80, 0, 0, 0, 1]), "0.01");
    assert_eq!(shown(&d(5, 0), &[0x80, 0, 0]), "0");
    let fill = TextType::Decimal { precision: 5, scale: 2, zerofill: Some(6) };
    assert_eq!(shown(&fill, &[0x80, 1, 50]), "001.50");
    assert!(d(10, 2).write(&[0x80; 4], &mut String::new()).is_err());
    assert!(d(1, 2).write(&[0x80; 4], &mut String::new()).is_err());
}

#[test]
fn dates_and_times() {
    assert_eq!(shown(&TextType::Date, &[0x8F, 0xBE, 0x92]), "2015-04-18");
    assert_eq!(shown(&TextType::Date, &[0x80, 0, 0]), "0000-00-00");
    assert_eq!(shown(&TextType::Year, &[0xFF]), "2155");
    assert_eq!(shown(&TextType::DateTime(0), &[0x99, 0x95, 0xE4, 0xC8, 0xB8]), "2015-04-18 12:34:56");
    assert_eq!(
        shown(&TextType::DateTime(6), &[0x99, 0x95, 0xE4, 0xC8, 0xB8, 0x01, 0xE2, 0x40]),
        "2015-04-18 12:34:56.123456"
    );
    assert_eq!(shown(&TextType::Time(0), &[0x81, 0x7E, 0xFA]), "23:59:58");
    assert_eq!(shown(&TextType::Time(3), &[0x7F, 0x37, 0x47, 0xE1, 0x2E]), "-12:34:56.789");
    assert_eq!(shown(&TextType::Time(6), &[0xB4, 0x6E, 0xFA, 0x0F, 0x42, 0x3F]), "838:59:58.999999");
    assert_eq!(shown(&TextType::Time(3), &[0x7F, 0xFF, 0xFF, 0xFF, 0xF6]), "-00:00:00.001");
    assert_eq!(shown(&TextType::Timestamp(0), &[0x55, 0x32, 0x4F, 0x70]), "2015-04-18 12:34:56");
    assert_eq!(shown(&TextType::Timestamp(1), &[0, 0, 0, 0, 0]), "0000-00-00 00:00:00.0");
    assert_eq!(shown(&TextType::Timestamp(0), &[0x7F, 0xFF, 0xFF, 0xFF]), "2038-01-19 03:14:07");
    assert_eq!(shown(&TextType::Timestamp(0), &[0x4B, 0x8B, 0x00, 0x00]), "2010-02-28 23:45:04");
    let mut old = [0; 8];
    vaquita_base::codec::put_uint(&mut old, 0, 3, 0x80_0000 - 123_456);
    assert_eq!(shown(&TextType::OldTime, &old[..3]), "-12:34:56");
    vaquita_base::codec::put_u64(&mut old, 0, (1 << 63) + 20_100_228_234_552);
    assert_eq!(shown(&TextType::OldDateTime, &old), "2010-02-28 23:45:52");
}

#[test]
fn doubles_as_a_real_server_printed_them() {
    let mut n = 0;
    for line in include_str!("doubles.tsv").lines() {
        let (bits, text) = line.split_once('\t').unwrap();
        let mut out = String::new();
        double(f64::from_bits(u64::from_str_radix(bits, 16).unwrap()), &mut out);
        assert_eq!(out, text);
        n += 1;
    }
    assert!(n > 200);
    let fixed = TextType::Real { decimals: Some(3), zerofill: None };
    assert_eq!(shown(&fixed, &[0, 0, 0xC0, 0x3F]), "1.500");
    let free = TextType::Real { decimals: None, zerofill: None };
    assert_eq!(shown(&free, &[0, 0, 0, 0, 0, 0, 2, 0xC0]), "-2.25");
}

#[test]
fn labels() {
    let labels: Vec<String> = ["a", "b", "c"].map(String::from).to_vec();
    assert_eq!(shown(&TextType::Enum(labels.clone()), &[2]), "b");
    assert_eq!(shown(&TextType::Enum(labels.clone()), &[0, 0]), "");
    assert!(TextType::Enum(labels.clone()).write(&[4], &mut String::new()).is_err());
    assert_eq!(shown(&TextType::Set(labels.clone()), &[5]), "a,c");
    assert!(TextType::Set(labels).write(&[8], &mut String::new()).is_err());
}

#[test]
fn text_and_escapes() {
    let t = |padded| TextType::Text { charset: Charset::LATIN1, padded };
    assert_eq!(shown(&t(true), b"a\xE9  "), "aé");
    assert_eq!(shown(&t(false), b"a  "), "a  ");
    let koi8r = TextType::Text { charset: Charset::of_collation(7).unwrap(), padded: false };
    assert_eq!(shown(&koi8r, b"\xC1"), "\u{430}");
    let big5 = TextType::Text { charset: Charset::of_collation(1).unwrap(), padded: false };
    assert_eq!(shown(&big5, b"\xA4\x40"), "一");
    assert!(!big5.is_hex() && !koi8r.is_hex() && !t(true).is_hex());
    let mut out = String::new();
    escape_batch("a\tb\nc\\d\0", &mut out);
    assert_eq!(out, "a\\tb\\nc\\\\d\\0");
    out.clear();
    quote_sql("it's\n", &mut out);
    assert_eq!(out, "'it''s\\n'");
}

/// Any bytes give a text or an error.
#[test]
fn no_bytes_panic() {
    let labels = vec![String::from("x"); 64];
    let types = [
        int(false),
        int(true),
        TextType::Real { decimals: Some(30), zerofill: Some(300) },
        TextType::Decimal { precision: 65, scale: 30, zerofill: None },
        TextType::Bit,
        TextType::Year,
        TextType::Date,
        TextType::Time(6),
        TextType::DateTime(6),
        TextType::Timestamp(6),
        TextType::OldTime,
        TextType::OldDateTime,
        TextType::Enum(labels.clone()),
        TextType::Set(labels),
        TextType::Bytes,
    ];
    let mut rng = vaquita_base::Rng::new(9);
    for t in &types {
        for len in (0..40).chain([30; 200]) {
            let mut v = vec![0; len];
            rng.fill(&mut v);
            let _ = t.write(&v, &mut String::new());
        }
    }
}

#[test]
fn a_set_with_more_labels_than_bits_shows_those_it_can_have() {
    let labels: Vec<String> = (0..70).map(|n| format!("m{n}")).collect();
    let mut out = String::new();
    TextType::Set(labels).write(&[0x80, 0, 0, 0, 0, 0, 0, 1], &mut out).unwrap();
    assert_eq!(out, "m0,m63");
}

#[test]
fn of_two_equally_near_texts_the_even_one_is_shown() {
    // 667.3333129882812|5 and 129.1428527832031|25 exactly; the texts are is what MySQL 5.6 prints.
    for (v, text) in [(667.3333_f32, "667.3333129882812"), (-129.14285_f32, "-129.14285278320312")] {
        let v = f64::from(v);
        let mut out = String::new();
        super::double(v, &mut out);
        assert_eq!(out, text);
        assert_eq!(out.parse(), Ok(v));
    }
}
