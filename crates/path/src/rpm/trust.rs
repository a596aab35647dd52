//! Which certificates are accepted, and our own certificate.

use std::sync::Arc;

use goodqueue_probe::rpm::Tls;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, ServerConfig,
    SignatureScheme, version,
};
use sha2::{Digest, Sha256};

/// The protocol inside TLS (RFC 9113, section 3.2).
const ALPN: &[u8] = b"h2";

/// The SHA-256 of a certificate, as `openssl x509 -fingerprint -sha256` prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    fn of(certificate: &CertificateDer<'_>) -> Fingerprint {
        Fingerprint(Sha256::digest(certificate.as_ref()).into())
    }

    /// Reads 64 hexadecimal digits; colons between them are ignored.
    #[must_use]
    pub fn parse(text: &str) -> Option<Fingerprint> {
        let digits: Vec<u8> = text.bytes().filter(|&byte| byte != b':').collect();
        if digits.len() != 64 {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            let digit =
                |at: usize| char::from(pair[at]).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
            *byte = digit(0)? * 16 + digit(1)?;
        }
        Some(Fingerprint(bytes))
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Whose certificate a client accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// One that a web certificate authority vouches for, by name.
    Web,
    /// Only this one.
    Pinned(Fingerprint),
    /// Anyone's.
    Anybody,
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

impl Trust {
    /// The client's side of TLS. Sessions are not resumed: a foreign probe is a visit to a new server.
    ///
    /// # Errors
    /// Those of the library, if it lacks something that every build of it has.
    pub fn client(self) -> Result<Arc<ClientConfig>, Error> {
        let builder = ClientConfig::builder_with_provider(provider());
        let builder = builder.with_protocol_versions(&[&version::TLS13, &version::TLS12])?;
        let mut config = match self {
            Trust::Web => {
                let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
                builder.with_root_certificates(roots).with_no_client_auth()
            }
            Trust::Pinned(_) | Trust::Anybody => {
                let verifier = Arc::new(ByFingerprint { trust: self, provider: provider() });
                builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
            }
        };
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.resumption = rustls::client::Resumption::disabled();
        Ok(Arc::new(config))
    }
}

/// Accepts one certificate, or any. In both cases the server proves that the key is its own.
#[derive(Debug)]
struct ByFingerprint {
    trust: Trust,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for ByFingerprint {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.trust {
            Trust::Pinned(pinned) if pinned != Fingerprint::of(end_entity) => {
                Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
            }
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// A server's certificate and key.
#[derive(Clone, Debug)]
pub struct Identity {
    config: Arc<ServerConfig>,
    fingerprint: Fingerprint,
}

impl Identity {
    /// A new self-signed identity, for connections with this version of TLS.
    ///
    /// # Errors
    /// Why none could be made, as text.
    pub fn ephemeral(tls: Tls) -> Result<Identity, String> {
        let made = rcgen::generate_simple_self_signed(vec!["goodqueue".to_owned()]);
        let made = made.map_err(|error| error.to_string())?;
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        Identity::of(vec![made.cert.der().clone()], key.into(), tls)
    }

    /// An identity from the contents of two PEM files: the chain, with the server's own certificate first,
    /// and its key.
    ///
    /// # Errors
    /// What is wrong with them, as text.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Identity, String> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain).collect();
        let chain = chain.map_err(|error| format!("the certificate: {error}"))?;
        if chain.is_empty() {
            return Err("the certificate: there is none in the file".into());
        }
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| format!("the key: {error}"))?;
        Identity::of(chain, key, Tls::V1_3)
    }

    fn of(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
        tls: Tls,
    ) -> Result<Identity, String> {
        let fingerprint = Fingerprint::of(&chain[0]);
        let text = |error: Error| error.to_string();
        let builder = ServerConfig::builder_with_provider(provider());
        let version = match tls {
            Tls::V1_2 => &version::TLS12,
            Tls::V1_3 => &version::TLS13,
        };
        let builder = builder.with_protocol_versions(&[version]).map_err(text)?.with_no_client_auth();
        let mut config = builder.with_single_cert(chain, key).map_err(text)?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        // Every connection does a full handshake: no tickets, and nothing to remember.
        config.send_tls13_tickets = 0;
        Ok(Identity { config: Arc::new(config), fingerprint })
    }

    /// The fingerprint that a client may pin.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    pub(super) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    #[test]
    fn a_fingerprint_is_read_as_it_is_written() {
        let fingerprint = Identity::ephemeral(Tls::V1_3).expect("a certificate").fingerprint();
        let text = fingerprint.to_string();
        assert_eq!(Fingerprint::parse(&text), Some(fingerprint));
        let mut colons = String::new();
        for pair in text.as_bytes().chunks(2) {
            let _ = write!(colons, "{}{}:", char::from(pair[0]), char::from(pair[1]));
        }
        assert_eq!(Fingerprint::parse(&colons.to_uppercase()), Some(fingerprint));
        assert!(
            ["", "12", &text[1..], &text.replace(|c: char| c.is_ascii_digit(), "g")]
                .iter()
                .all(|text| Fingerprint::parse(text).is_none())
        );
    }

    #[test]
    fn files_that_hold_no_certificate_are_named() {
        assert!(Identity::from_pem(b"", b"").expect_err("empty").contains("certificate"));
        assert!(
            Identity::from_pem(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", b"")
                .is_err()
        );
    }
}
