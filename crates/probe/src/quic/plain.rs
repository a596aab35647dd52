//! A QUIC handshake without cryptography, for simulated hosts: messages as long as those of TLS 1.3 with a
//! raw public key, packets with a tag as long as an AEAD's, and no secret anywhere. All random values follow
//! from a seed. Never use it over a network.

use std::any::Any;
use std::sync::Arc;

use quinn_proto::crypto::{
    AeadKey, ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey,
    KeyPair, Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{
    ConnectError, ConnectionId, ConnectionIdGenerator, EndpointConfig, Side, TransportError,
    TransportErrorCode,
};

use super::{ClientKeys, ServerKeys};

/// Bytes of the messages, as OpenSSL and rustls send them: the client's first; the server's first, and its
/// others with an Ed25519 key and signature; the client's last.
const CLIENT_HELLO: usize = 280;
const SERVER_HELLO: usize = 90;
const SERVER_REST: usize = 300;
const FINISHED: usize = 36;
/// The tag of an AEAD (RFC 9001, section 5.3), and the sample of header protection (section 5.4.2).
const TAG: usize = 16;
/// Bytes of a connection ID.
const ID: usize = 8;

/// All random values of a simulated end follow from `seed`.
fn endpoint(seed: u64) -> EndpointConfig {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let mut config = EndpointConfig::new(Arc::new(Plain));
    config.rng_seed(Some(bytes)).cid_generator(move || Box::new(Counted(seed)));
    config
}

/// A simulated client whose random bits follow from `seed`.
#[must_use]
pub fn client(seed: u64) -> ClientKeys {
    let mut client = quinn_proto::ClientConfig::new(Arc::new(Plain));
    client.initial_dst_cid_provider(Arc::new(|| ConnectionId::new(&[0x5c; ID])));
    ClientKeys { own: endpoint(seed), client }
}

/// A simulated server whose random bits follow from `seed`.
#[must_use]
pub fn server(seed: u64) -> ServerKeys {
    let server = quinn_proto::ServerConfig::new(Arc::new(Plain), Arc::new(Plain));
    ServerKeys { own: endpoint(seed), server }
}

/// Consecutive connection IDs.
struct Counted(u64);

impl ConnectionIdGenerator for Counted {
    fn generate_cid(&mut self) -> ConnectionId {
        self.0 = self.0.wrapping_add(1);
        ConnectionId::new(&self.0.to_le_bytes())
    }

    fn cid_len(&self) -> usize {
        ID
    }

    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}

/// Every key, and the configuration of both sides.
struct Plain;

fn pair<T>(of: fn() -> T) -> KeyPair<T> {
    KeyPair { local: of(), remote: of() }
}

fn keys() -> Keys {
    Keys { header: pair(|| Box::new(Plain)), packet: pair(|| Box::new(Plain)) }
}

impl HeaderKey for Plain {
    fn decrypt(&self, _: usize, _: &mut [u8]) {}
    fn encrypt(&self, _: usize, _: &mut [u8]) {}
    fn sample_size(&self) -> usize {
        TAG
    }
}

impl PacketKey for Plain {
    fn encrypt(&self, _: u64, buf: &mut [u8], _: usize) {
        let tag = buf.len().saturating_sub(TAG);
        buf[tag..].fill(0);
    }

    fn decrypt(&self, _: u64, _: &[u8], payload: &mut bytes::BytesMut) -> Result<(), CryptoError> {
        let len = payload.len().checked_sub(TAG).ok_or(CryptoError)?;
        payload.truncate(len);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl HmacKey for Plain {
    /// Not zeros: a packet that ends with the signature of its connection ID is a stateless reset (RFC 9000,
    /// section 10.3), and tags are zeros.
    fn sign(&self, data: &[u8], signature: &mut [u8]) {
        let bytes = data.iter().cycle().take(signature.len());
        signature.iter_mut().zip(bytes).for_each(|(out, byte)| *out = byte | 1);
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, _: &[u8], _: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }
}

impl HandshakeTokenKey for Plain {
    fn aead_from_hkdf(&self, _: &[u8]) -> Box<dyn AeadKey> {
        Box::new(Plain)
    }
}

impl AeadKey for Plain {
    fn seal(&self, _: &mut Vec<u8>, _: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }

    fn open<'a>(&self, data: &'a mut [u8], _: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        Ok(data)
    }
}

impl ClientConfig for Plain {
    fn start_session(
        self: Arc<Self>,
        _: u32,
        _: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Box::new(Handshake::new(Side::Client, params)))
    }
}

impl ServerConfig for Plain {
    fn initial_keys(&self, _: u32, _: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _: u32, _: &ConnectionId, _: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(self: Arc<Self>, _: u32, params: &TransportParameters) -> Box<dyn Session> {
        Box::new(Handshake::new(Side::Server, params))
    }
}

/// The next step at one end: a message to write, or a message of this many bytes to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// A message of this many bytes, with our parameters if it carries them, and whether keys follow.
    Write {
        len: usize,
        has_params: bool,
        then_keys: bool,
    },
    Read {
        len: usize,
        has_params: bool,
    },
}

/// The messages as the client sees them; the server reads what the client writes, and vice versa. Keys come
/// with the previous message: the handshake keys with the server's first, the data keys with the last of each
/// side.
const CLIENT: [Step; 5] = [
    Step::Write { len: CLIENT_HELLO, has_params: true, then_keys: false },
    Step::Read { len: SERVER_HELLO, has_params: false },
    Step::Write { len: 0, has_params: false, then_keys: true },
    Step::Read { len: SERVER_REST, has_params: true },
    Step::Write { len: FINISHED, has_params: false, then_keys: true },
];
const SERVER: [Step; 4] = [
    Step::Read { len: CLIENT_HELLO, has_params: true },
    Step::Write { len: SERVER_HELLO, has_params: false, then_keys: true },
    Step::Write { len: SERVER_REST, has_params: true, then_keys: true },
    Step::Read { len: FINISHED, has_params: false },
];

struct Handshake {
    side: Side,
    ours: Vec<u8>,
    theirs: Option<TransportParameters>,
    /// The part of the current message that has been read.
    read: Vec<u8>,
    step: usize,
}

impl Handshake {
    fn new(side: Side, params: &TransportParameters) -> Handshake {
        let mut ours = Vec::new();
        params.write(&mut ours);
        Handshake { side, ours, theirs: None, read: Vec::new(), step: 0 }
    }

    fn step(&self) -> Option<Step> {
        let steps: &[Step] = if self.side.is_client() { &CLIENT } else { &SERVER };
        steps.get(self.step).copied()
    }
}

impl Session for Handshake {
    fn initial_keys(&self, _: &ConnectionId, _: Side) -> Keys {
        keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.theirs.map(|_| Box::new(()) as Box<dyn Any>)
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        self.step().is_some()
    }

    fn read_handshake(&mut self, mut buf: &[u8]) -> Result<bool, TransportError> {
        let mut is_told = false;
        while let Some(Step::Read { len, has_params }) = self.step() {
            let more = buf.len().min(len - self.read.len());
            self.read.extend_from_slice(&buf[..more]);
            buf = &buf[more..];
            if self.read.len() < len {
                break;
            }
            let message = std::mem::take(&mut self.read);
            if has_params {
                // The length of the parameters, the parameters, and zeros.
                let end = 2 + usize::from(u16::from_le_bytes([message[0], message[1]]));
                let mut params = message.get(2..end).ok_or(TransportErrorCode::PROTOCOL_VIOLATION)?;
                let read = TransportParameters::read(self.side, &mut params);
                self.theirs = Some(read.map_err(|_| TransportErrorCode::TRANSPORT_PARAMETER_ERROR)?);
                is_told = true;
            }
            self.step += 1;
        }
        Ok(is_told)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.theirs)
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        while let Some(Step::Write { len, has_params, then_keys }) = self.step() {
            let at = buf.len();
            if has_params {
                buf.extend_from_slice(&u16::try_from(self.ours.len()).unwrap_or(u16::MAX).to_le_bytes());
                buf.extend_from_slice(&self.ours);
            }
            buf.resize(at + len, 0);
            self.step += 1;
            if then_keys {
                return Some(keys());
            }
        }
        None
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(pair(|| Box::new(Plain)))
    }

    fn is_valid_retry(&self, _: &ConnectionId, _: &[u8], _: &[u8]) -> bool {
        true
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        _: &[u8],
        _: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        output.fill(0);
        Ok(())
    }
}
