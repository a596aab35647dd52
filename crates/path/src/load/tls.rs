//! TLS 1.3 with raw public keys (RFC 7250). The server's Ed25519 key is derived from the secret, so a client
//! that has the secret knows the key in advance. There are no certificates and no authorities.

use std::sync::Arc;
use std::time::Duration;

use goodqueue_probe::quic::{ClientKeys, ServerKeys};
use quinn_proto::EndpointConfig;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::sign::CertifiedKey;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, ServerConfig, SignatureScheme, version,
};

use super::word::Secret;

/// The name of the protocol inside (ALPN), which identifies a server of another version.
const ALPN: &[u8] = b"goodqueue/1";
/// The same for flows over QUIC.
const QUIC_ALPN: &[u8] = b"goodqueue-flow/1";
/// How long the token of a Retry is valid.
const RETRY: Duration = Duration::from_secs(15);
/// The label of the exported bits over which the client's proof is computed (RFC 5705).
const LABEL: &[u8] = b"EXPORTER-goodqueue-client";
/// An Ed25519 private key in PKCS #8 is its seed after these octets (RFC 8410, section 7).
const PKCS8: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// The server's key, private and public.
fn key(secret: &Secret) -> Result<CertifiedKey, Error> {
    let der = [&PKCS8[..], &secret.server_seed()].concat();
    let key = ring::sign::any_eddsa_type(&PrivatePkcs8KeyDer::from(der))?;
    let public = key.public_key().ok_or(Error::General("an Ed25519 key has a public one".into()))?;
    let public = CertificateDer::from(public.to_vec());
    Ok(CertifiedKey::new(vec![public], key))
}

/// The server's end of a control connection.
///
/// # Errors
/// None: every secret makes keys.
pub fn server(secret: &Secret) -> Result<Arc<ServerConfig>, Error> {
    let builder = ServerConfig::builder_with_provider(provider());
    let builder = builder.with_protocol_versions(&[&version::TLS13])?.with_no_client_auth();
    let keys = AlwaysResolvesServerRawPublicKeys::new(Arc::new(key(secret)?));
    let mut config = builder.with_cert_resolver(Arc::new(keys));
    config.alpn_protocols = vec![ALPN.to_vec()];
    // A connection is used once: no tickets.
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

/// The client's end of a control connection, which accepts the one server that has the secret.
///
/// # Errors
/// None: every secret makes keys.
pub fn client(secret: &Secret) -> Result<Arc<ClientConfig>, Error> {
    let public = key(secret)?.cert.first().map(|public| public.to_vec()).unwrap_or_default();
    let builder = ClientConfig::builder_with_provider(provider());
    let builder = builder.with_protocol_versions(&[&version::TLS13])?;
    let verifier = Arc::new(OneKey { public, provider: provider() });
    let mut config = builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.resumption = rustls::client::Resumption::disabled();
    Ok(Arc::new(config))
}

/// The keys of both ends for flows over QUIC. A client accepts the one server that has the secret.
///
/// # Errors
/// None: every secret makes keys.
pub fn quic_keys(secret: &Secret) -> Result<(ServerKeys, ClientKeys), Error> {
    Ok((quic_server(secret)?, quic_client(secret)?))
}

/// The server's keys for QUIC flows. Its key in the handshake is that of the control connection.
fn quic_server(secret: &Secret) -> Result<ServerKeys, Error> {
    let mut tls = ServerConfig::clone(&*server(secret)?);
    tls.alpn_protocols = vec![QUIC_ALPN.to_vec()];
    let tls = QuicServerConfig::try_from(tls).map_err(|_| Error::General("no cipher for Initials".into()))?;
    // The keys of resets and tokens are random, and new in each process.
    let mut server = quinn_proto::ServerConfig::with_crypto(Arc::new(tls));
    server.retry_token_lifetime(RETRY);
    Ok(ServerKeys { own: EndpointConfig::default(), server })
}

/// The client's keys for QUIC flows: it accepts the one server that has the secret.
fn quic_client(secret: &Secret) -> Result<ClientKeys, Error> {
    let mut tls = ClientConfig::clone(&*client(secret)?);
    tls.alpn_protocols = vec![QUIC_ALPN.to_vec()];
    let tls = QuicClientConfig::try_from(tls).map_err(|_| Error::General("no cipher for Initials".into()))?;
    let client = quinn_proto::ClientConfig::new(Arc::new(tls));
    Ok(ClientKeys { own: EndpointConfig::default(), client })
}

/// The exported bits of a connection over which the client's proof is computed.
pub(super) fn exported<D>(connection: &rustls::ConnectionCommon<D>) -> Result<[u8; 32], Error> {
    connection.export_keying_material([0; 32], LABEL, None)
}

/// The name in the handshake; it is not used.
#[must_use]
pub fn name() -> ServerName<'static> {
    ServerName::IpAddress(std::net::Ipv4Addr::UNSPECIFIED.into())
}

/// Accepts only the key that is derived from the secret.
#[derive(Debug)]
struct OneKey {
    public: Vec<u8>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for OneKey {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if end_entity.as_ref() == self.public {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
        }
    }

    /// TLS 1.2 is never spoken.
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::PeerIncompatible(rustls::PeerIncompatible::Tls12NotOfferedOrEnabled))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let public = SubjectPublicKeyInfoDer::from(cert.as_ref());
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature_with_raw_key(message, &public, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
