//! Names in a client's certificate, as accounts demand them.
//!
//! The certificate was verified when the handshake ended. What is read here is where it keeps its names: of X.509's DER
//! no more than the way to them.

/// Whose a certificate is, and who says so: names in OpenSSL's one-line form, `/C=SE/O=Company/CN=client`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CertificateNames {
    /// Whose it is.
    pub subject: Vec<u8>,
    /// Who signed it.
    pub issuer: Vec<u8>,
}

const INTEGER: u8 = 0x02;
const OBJECT: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
/// `[0]`, constructed: the version.
const VERSION: u8 = 0xA0;

/// Names of attributes, by their object identifiers without tag and length; OpenSSL's short names.
const ATTRIBUTES: &[(&[u8], &str)] = &[
    (&[0x55, 4, 3], "CN"),
    (&[0x55, 4, 4], "SN"),
    (&[0x55, 4, 5], "serialNumber"),
    (&[0x55, 4, 6], "C"),
    (&[0x55, 4, 7], "L"),
    (&[0x55, 4, 8], "ST"),
    (&[0x55, 4, 9], "street"),
    (&[0x55, 4, 10], "O"),
    (&[0x55, 4, 11], "OU"),
    (&[0x55, 4, 12], "title"),
    (&[0x55, 4, 13], "description"),
    (&[0x55, 4, 15], "businessCategory"),
    (&[0x55, 4, 17], "postalCode"),
    (&[0x55, 4, 20], "telephoneNumber"),
    (&[0x55, 4, 41], "name"),
    (&[0x55, 4, 42], "GN"),
    (&[0x55, 4, 43], "initials"),
    (&[0x55, 4, 44], "generationQualifier"),
    (&[0x55, 4, 45], "x500UniqueIdentifier"),
    (&[0x55, 4, 46], "dnQualifier"),
    (&[0x55, 4, 65], "pseudonym"),
    (&[0x55, 4, 72], "role"),
    (&[0x55, 4, 97], "organizationIdentifier"),
    (&[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 9, 1], "emailAddress"),
    (&[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 9, 2], "unstructuredName"),
    (&[0x09, 0x92, 0x26, 0x89, 0x93, 0xF2, 0x2C, 0x64, 1, 1], "UID"),
    (&[0x09, 0x92, 0x26, 0x89, 0x93, 0xF2, 0x2C, 0x64, 1, 25], "DC"),
    (&[0x2B, 6, 1, 4, 1, 0x82, 0x37, 60, 2, 1, 3], "jurisdictionC"),
];

/// A place in DER.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// The next value: tag and content.
    fn value(&mut self) -> Option<(u8, &'a [u8])> {
        let (&[tag, first], mut rest) = self.0.split_first_chunk()?;
        let mut len = usize::from(first);
        if first >= 0x80 {
            let (bytes, after) = rest.split_at_checked(usize::from(first & 0x7F))?;
            if bytes.is_empty() || bytes.len() > 4 {
                return None;
            }
            len = bytes.iter().fold(0, |len, b| len << 8 | usize::from(*b));
            rest = after;
        }
        let (content, after) = rest.split_at_checked(len)?;
        self.0 = after;
        Some((tag, content))
    }

    /// The content of the next value, which has this tag.
    fn content(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.value().filter(|(found, _)| *found == tag).map(|(_, content)| content)
    }
}

/// The names in a certificate; `None`: it is not one.
pub fn names_in(certificate: &[u8]) -> Option<CertificateNames> {
    let mut signed = Der(Der(certificate).content(SEQUENCE)?);
    let mut fields = Der(signed.content(SEQUENCE)?);
    if fields.0.first() == Some(&VERSION) {
        fields.value()?;
    }
    fields.content(INTEGER)?; // serial number
    fields.content(SEQUENCE)?; // algorithm of the signature
    let issuer = one_line(fields.content(SEQUENCE)?)?;
    fields.content(SEQUENCE)?; // validity
    let subject = one_line(fields.content(SEQUENCE)?)?;
    Some(CertificateNames { subject, issuer })
}

/// A name on one line: `/` before every part, `+` between attributes of the same part.
fn one_line(name: &[u8]) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let mut parts = Der(name);
    while !parts.0.is_empty() {
        let mut attributes = Der(parts.content(SET)?);
        let mut before = b'/';
        while !attributes.0.is_empty() {
            let mut attribute = Der(attributes.content(SEQUENCE)?);
            let object = attribute.content(OBJECT)?;
            let (_, value) = attribute.value()?;
            line.push(before);
            before = b'+';
            match ATTRIBUTES.iter().find(|(known, _)| *known == object) {
                Some((_, short)) => line.extend_from_slice(short.as_bytes()),
                None => line.extend_from_slice(dotted(object)?.as_bytes()),
            }
            line.push(b'=');
            push_value(&mut line, value);
        }
    }
    Some(line)
}

/// An object identifier in numbers.
fn dotted(object: &[u8]) -> Option<String> {
    let (mut text, mut number, mut begun) = (String::new(), 0_u64, false);
    for &byte in object {
        number = number.checked_mul(128)? | u64::from(byte & 0x7F);
        begun = byte & 0x80 != 0;
        if begun {
            continue;
        }
        text += &match text.is_empty() {
            // The first two are one.
            true => format!("{}.{}", (number / 40).min(2), number - 40 * (number / 40).min(2)),
            false => format!(".{number}"),
        };
        number = 0;
    }
    (!begun && !text.is_empty()).then_some(text)
}

/// What separates parts gets a backslash: nobody gets another one's name by a part that looks like several.
fn push_value(line: &mut Vec<u8>, value: &[u8]) {
    for &byte in value {
        match byte {
            b'/' | b'+' => line.extend_from_slice(&[b'\\', byte]),
            b' '..=b'~' => line.push(byte),
            _ => line.extend_from_slice(format!("\\x{byte:02X}").as_bytes()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DnType, Issuer, KeyPair};

    /// As `openssl x509 -subject -issuer -nameopt compat` shows the same names.
    #[test]
    fn names_are_as_openssl_shows_them() {
        let named = |parts: &[(DnType, &str)]| {
            let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
            params.distinguished_name = rcgen::DistinguishedName::new();
            parts.iter().for_each(|(kind, value)| params.distinguished_name.push(kind.clone(), *value));
            params
        };
        let email = DnType::CustomDnType(vec![1, 2, 840, 113_549, 1, 9, 1]);
        let odd = DnType::CustomDnType(vec![2, 3, 4, 99_999]);
        let subject = named(&[
            (DnType::CountryName, "SE"),
            (DnType::StateOrProvinceName, "Upp land"),
            (DnType::LocalityName, "Uppsala"),
            (DnType::OrganizationName, "Ex, Inc/CN=root"),
            (DnType::OrganizationalUnitName, "a+b\\c\"d,e=f;g~h"),
            (DnType::CommonName, "ä"),
            (email, "a@b.c"),
            (odd, "zz"),
        ]);
        let issuer = named(&[(DnType::OrganizationName, "Test CA"), (DnType::CommonName, "ca")]);
        let issuer = Issuer::new(issuer, KeyPair::generate().unwrap());
        let certificate = subject.signed_by(&KeyPair::generate().unwrap(), &issuer).unwrap();
        let names = names_in(certificate.der()).unwrap();
        assert_eq!(
            String::from_utf8(names.subject).unwrap(),
            "/C=SE/ST=Upp land/L=Uppsala/O=Ex, Inc\\/CN=root/OU=a\\+b\\c\"d,e=f;g~h/CN=\\xC3\\xA4\
             /emailAddress=a@b.c/2.3.4.99999=zz"
        );
        assert_eq!(names.issuer, b"/O=Test CA/CN=ca");
        // Whatever is broken is no certificate, and no panic.
        let der = certificate.der();
        for len in 0..der.len() {
            assert_eq!(names_in(&der[..len]), None, "{len} bytes");
        }
        for at in 0..der.len() {
            let mut broken = der.to_vec();
            broken[at] ^= 0xFF;
            let _ = names_in(&broken);
        }
    }

    #[test]
    fn attributes_of_one_part_stand_together() {
        let part = b"\x31\x1c\x30\x08\x06\x03\x55\x04\x2a\x0c\x01G\x30\x10\x06\x0a\x09\x92\x26\x89\x93\xf2\x2c\x64\x01\x01\x0c\x02u1";
        let long = [&part[..], b"\x31\x0d\x30\x0b\x06\x03\x55\x04\x03\x0c\x04\xc3\xa4/b"].concat();
        assert_eq!(one_line(&long).unwrap(), b"/GN=G+UID=u1/CN=\\xC3\\xA4\\/b");
    }
}
